"""Any names as tokens of subjects and keys: any text, spelled with the letters that both allow. Knows the spelling."""

import re

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def as_token(text: str) -> str:
    """Return a text with each byte that a token cannot have as =XX: `shop/etl` is `shop=2Fetl`."""
    return _UNFIT.sub(lambda found: "".join(f"={byte:02X}" for byte in found[0].encode()), text)

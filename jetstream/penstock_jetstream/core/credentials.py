"""What is in a credentials file: a JWT, and the seed of the key pair that goes with it.

Pure: text in. Knows the file's marks, and by its checksum whether a seed is whole. Says what is wrong, never with a
word of what is secret. Does not sign anything.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field

from penstock_jetstream.errors import AuthenticationError

_SECTION = re.compile(r"-{3,}BEGIN ([A-Z ]+?)-{3,}\s*(\S+)\s*-{3,}END \1-{3,}")
_SEED_BYTES = 2 + 32 + 2
_CHECKSUM_BYTES = 2
_JWT_PARTS = 3
_ADVICE = "Make a new one where users are made, as with nsc generate creds."


@dataclass(frozen=True, slots=True)
class CredentialsText:
    """What a credentials file says."""

    jwt: str = field(repr=False)
    seed: str = field(repr=False)


def parse_credentials(text: str, source: str) -> CredentialsText:
    """Take a credentials file apart; `source` is what errors call it."""
    sections = dict(_SECTION.findall(text))
    jwt = next((content for title, content in sections.items() if title.endswith("JWT")), None)
    seed = next((content for title, content in sections.items() if title.endswith("SEED")), None)
    if jwt is None or seed is None:
        missing = "user JWT" if jwt is None else "seed"
        raise AuthenticationError(f"{source} has no {missing} between BEGIN and END marks.", advice=_ADVICE)
    return CredentialsText(check_jwt(jwt, source), check_seed(seed, source))


def parse_seed(text: str, source: str) -> str:
    """Find the seed in a file that has nothing else, or marks around it."""
    sections = dict(_SECTION.findall(text))
    marked = next((content for title, content in sections.items() if title.endswith("SEED")), None)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if marked is None and len(lines) != 1:
        raise AuthenticationError(f"{source} should have one line, the seed; it has {len(lines)}.", advice=_ADVICE)
    return check_seed(marked or lines[0], source)


def check_jwt(jwt: str, source: str) -> str:
    if len(jwt.split(".")) != _JWT_PARTS or not jwt.isascii():
        raise AuthenticationError(f"{source} has a user JWT that is none.", advice=_ADVICE)
    return jwt


def check_seed(seed: str, source: str) -> str:
    """Return the seed of a user if it is whole; the server would only say that it does not know us."""
    if not _is_user_seed(seed):
        raise AuthenticationError(
            f"{source} has a seed that is damaged, or not a user's (those begin with SU).", advice=_ADVICE
        )
    return seed


def _is_user_seed(seed: str) -> bool:
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except (ValueError, binascii.Error):
        return False
    if base64.b32encode(raw).decode().rstrip("=") != seed:
        return False  # its last letter has bits that belong to no byte, and are to be zero
    checksum = binascii.crc_hqx(raw[:-_CHECKSUM_BYTES], 0).to_bytes(_CHECKSUM_BYTES, "little")
    return seed.startswith("SU") and len(raw) == _SEED_BYTES and raw[-_CHECKSUM_BYTES:] == checksum

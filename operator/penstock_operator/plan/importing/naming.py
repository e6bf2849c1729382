"""Names of Kubernetes objects from names on a server, which may hold capitals and what not.

The rule: small letters and digits stay or become small, all else becomes a hyphen. Where two names would become one,
both get a digest of the server's name at their end; so no two are alike, and none depends on the order of the others.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

LONGEST = 253
SHORTEST_DIGEST, LONGEST_DIGEST = 6, 64
NAMELESS = "unnamed"


def object_names(server_names: Iterable[str]) -> dict[str, str]:
    """Return the object's name for each of these, which are distinct."""
    plain = {name: _plain(name) for name in server_names}
    shared = Counter(plain.values())
    names = {name: slug for name, slug in plain.items() if shared[slug] == 1 and len(slug) <= LONGEST}
    taken = set(names.values())
    for name in sorted(plain.keys() - names.keys()):
        names[name] = _free(name, plain[name], taken)
        taken.add(names[name])
    return {name: names[name] for name in plain}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or NAMELESS


def _free(name: str, slug: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()
    candidates = (
        f"{slug[: LONGEST - length - 1].rstrip('-')}-{digest[:length]}"
        for length in range(SHORTEST_DIGEST, LONGEST_DIGEST + 1)
    )
    return next(candidate for candidate in candidates if candidate not in taken)

"""Identities of NATS's operator mode: key pairs (nkeys), and the JWTs in which one key pair vouches for another.

Pure, but for the making of keys. authentication.py builds the chain of operator, account and user from it.
"""

import base64
import hashlib
import json
import os
import time
from dataclasses import dataclass
from typing import Any

import nkeys

UNLIMITED = -1
NO_JETSTREAM = 0
CLAIMS_VERSION = 2

_CREDENTIALS = """-----BEGIN NATS USER JWT-----
{token}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


@dataclass(frozen=True)
class OperatorClaims:
    name: str
    system_account: str

    def document(self) -> dict[str, Any]:
        return {"type": "operator", "system_account": self.system_account}


@dataclass(frozen=True)
class AccountClaims:
    name: str
    with_jetstream: bool

    def document(self) -> dict[str, Any]:
        everything = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
        jetstream = ("mem_storage", "disk_storage", "streams", "consumer")
        limits = dict.fromkeys(everything, UNLIMITED)
        limits |= dict.fromkeys(jetstream, UNLIMITED if self.with_jetstream else NO_JETSTREAM)
        return {"type": "account", "limits": {**limits, "wildcards": True}}


@dataclass(frozen=True)
class UserClaims:
    name: str
    expires_at: int | None = None
    """In seconds since 1970; None never expires."""

    def document(self) -> dict[str, Any]:
        return {"type": "user", "subs": UNLIMITED, "data": UNLIMITED, "payload": UNLIMITED}


Claims = OperatorClaims | AccountClaims | UserClaims


class Identity:
    """A key pair of an operator, an account or a user."""

    def __init__(self, prefix: int) -> None:
        seed: bytes = nkeys.encode_seed(os.urandom(32), prefix)
        self._pair = nkeys.from_seed(seed)
        self.seed = seed.decode()
        self.public_key: str = self._pair.public_key.decode()

    @classmethod
    def new_operator(cls) -> "Identity":
        return cls(nkeys.PREFIX_BYTE_OPERATOR)

    @classmethod
    def new_account(cls) -> "Identity":
        return cls(nkeys.PREFIX_BYTE_ACCOUNT)

    @classmethod
    def new_user(cls) -> "Identity":
        return cls(nkeys.PREFIX_BYTE_USER)

    def sign(self, subject: "Identity", claims: Claims) -> str:
        """Vouch for another identity, or for this one itself, in a JWT."""
        body = {
            "iat": int(time.time()),  # calm: JWTs have the wall clock's time
            "iss": self.public_key,
            "name": claims.name,
            "sub": subject.public_key,
            "nats": {**claims.document(), "version": CLAIMS_VERSION},
        }
        if isinstance(claims, UserClaims) and claims.expires_at is not None:
            body["exp"] = claims.expires_at
        body["jti"] = base64.b32encode(hashlib.sha256(_json(body)).digest()).rstrip(b"=").decode()
        signed = f"{_encoded(_json({'typ': 'JWT', 'alg': 'ed25519-nkey'}))}.{_encoded(_json(body))}"
        return f"{signed}.{_encoded(self._pair.sign(signed.encode()))}"


def credentials_file(token: str, user: Identity) -> str:
    """Return the text of a .creds file, which holds a user's JWT and the key that goes with it."""
    return _CREDENTIALS.format(token=token, seed=user.seed)


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()

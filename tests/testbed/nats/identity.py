"""Identities of NATS's operator mode: key pairs (nkeys), and the JWTs in which one key pair vouches for another.

Pure, but for the making of keys. authentication.py builds the chain of operator, account and user from it.
"""

import base64
import hashlib
import json
import os
import time
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

    def sign_operator(self, system_account: "Identity") -> str:
        """Vouch for this operator itself, in a JWT that names its system account."""
        return self._sign(self, "operator", {"type": "operator", "system_account": system_account.public_key})

    def sign_account(self, account: "Identity", name: str, *, with_jetstream: bool) -> str:
        """Vouch for an account without limits, but that it may have no JetStream."""
        everything = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
        jetstream = ("mem_storage", "disk_storage", "streams", "consumer")
        limits = dict.fromkeys(everything, UNLIMITED)
        limits |= dict.fromkeys(jetstream, UNLIMITED if with_jetstream else NO_JETSTREAM)
        return self._sign(account, name, {"type": "account", "limits": {**limits, "wildcards": True}})

    def sign_user(self, user: "Identity", expires_at: int | None = None) -> str:
        """Vouch for a user, until a time in seconds since 1970 or for ever."""
        expiry = {} if expires_at is None else {"exp": expires_at}
        claims = {"type": "user", "subs": UNLIMITED, "data": UNLIMITED, "payload": UNLIMITED}
        return self._sign(user, "user", claims, **expiry)

    def _sign(self, subject: "Identity", name: str, claims: dict[str, Any], **expiry: int) -> str:
        body = {
            "iat": int(time.time()),  # calm: JWTs have the wall clock's time
            "iss": self.public_key,
            "name": name,
            "sub": subject.public_key,
            "nats": {**claims, "version": CLAIMS_VERSION},
            **expiry,
        }
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

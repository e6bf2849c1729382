"""Who we are: what a server wants to know before it lets us in.

Each kind is a frozen value that says where its secrets are: as text, in a file (a Path), or given by a function. Files
are read, and functions called, at every connect, so that secrets can be rotated. No secret is ever part of a repr or an
error. Does not know CONNECT beyond the fields that identify.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

import nkeys

from penstock_jetstream.core.credentials import check_jwt, parse_credentials, parse_seed
from penstock_jetstream.core.servers import Address
from penstock_jetstream.errors import AuthenticationError

Secret = str | Path | Callable[[], str]
"""The text itself, the file that has it, or a function that returns it."""


class Auth(Protocol):
    """A way to identify ourselves."""

    def prove(self, nonce: str) -> Mapping[str, str]:
        """Return the fields of CONNECT that say who we are; the nonce is the server's challenge."""
        ...


@dataclass(frozen=True, slots=True)
class Nobody:
    """No identity: the server lets everyone in, or knows us by our TLS certificate."""

    def prove(self, nonce: str) -> Mapping[str, str]:  # noqa: ARG002
        return {}


@dataclass(frozen=True, slots=True)
class Token:
    """A secret that all clients share."""

    token: Secret = field(repr=False)

    def prove(self, nonce: str) -> Mapping[str, str]:  # noqa: ARG002
        return {"auth_token": read(self.token, "the token").strip()}


@dataclass(frozen=True, slots=True)
class UserPassword:
    """A user with a password."""

    user: Secret
    password: Secret = field(repr=False)

    def prove(self, nonce: str) -> Mapping[str, str]:  # noqa: ARG002
        return {"user": read(self.user, "the user").strip(), "pass": read(self.password, "the password").rstrip("\r\n")}


@dataclass(frozen=True, slots=True)
class Nkey:
    """A key pair whose public key the server knows: we sign its challenge. The seed is all that there is to it."""

    seed: Secret = field(repr=False)

    def prove(self, nonce: str) -> Mapping[str, str]:
        pair = _key_pair(parse_seed(read(self.seed, "the nkey seed"), _source(self.seed, "The nkey seed")))
        return {"nkey": pair.public_key.decode(), "sig": _signature(pair, nonce)}


@dataclass(frozen=True, slots=True)
class Credentials:
    """A credentials file, which has a user's JWT and the seed that goes with it; or its text."""

    credentials: Secret = field(repr=False)

    def prove(self, nonce: str) -> Mapping[str, str]:
        source = _source(self.credentials, "The credentials text")
        found = parse_credentials(read(self.credentials, "the credentials"), source)
        return {"jwt": found.jwt, "sig": _signature(_key_pair(found.seed), nonce)}


@dataclass(frozen=True, slots=True)
class Jwt:
    """A user's JWT and the seed that goes with it, apart. Without a seed the server has to trust the bearer."""

    jwt: Secret = field(repr=False)
    seed: Secret | None = field(default=None, repr=False)

    def prove(self, nonce: str) -> Mapping[str, str]:
        jwt = check_jwt(read(self.jwt, "the JWT").strip(), _source(self.jwt, "The JWT"))
        if self.seed is None:
            return {"jwt": jwt}
        pair = _key_pair(parse_seed(read(self.seed, "the nkey seed"), _source(self.seed, "The nkey seed")))
        return {"jwt": jwt, "sig": _signature(pair, nonce)}


def of_url(address: Address) -> Auth:
    """Return the identity that stands in a server's URL."""
    if not address.user:
        return Nobody()
    return Token(address.user) if address.password is None else UserPassword(address.user, address.password)


def read(secret: Secret, what: str) -> str:
    """Return the text of a secret, read or asked for now."""
    if isinstance(secret, str):
        return secret
    try:
        return secret.read_text() if isinstance(secret, Path) else secret()
    except UnicodeDecodeError:
        raise AuthenticationError(f"{_source(secret, what)} is not text.") from None  # the cause would quote its bytes
    except OSError as problem:
        if callable(secret):
            raise _failed_function(what, problem) from problem
        raise AuthenticationError(
            f"{what.capitalize()} cannot be read from {secret}: {problem.strerror}.",
            advice="Check the path, and that this process may read it.",
        ) from problem

    except Exception as problem:
        raise _failed_function(what, problem) from problem


def _failed_function(what: str, problem: Exception) -> AuthenticationError:
    return AuthenticationError(f"The function that returns {what} failed with {type(problem).__name__}.")


def _source(secret: Secret, what: str) -> str:
    """Return what errors call the place of a secret."""
    return f"The file {secret}" if isinstance(secret, Path) else what


class _KeyPair(Protocol):
    public_key: bytes

    def sign(self, challenge: bytes) -> bytes: ...


def _key_pair(seed: str) -> _KeyPair:
    return cast("_KeyPair", nkeys.from_seed(seed.encode()))


def _signature(pair: _KeyPair, nonce: str) -> str:
    if not nonce:
        raise AuthenticationError(
            "The server sent no challenge to sign.", advice="It knows no nkeys or JWTs: identify yourself otherwise."
        )
    return base64.urlsafe_b64encode(pair.sign(nonce.encode())).rstrip(b"=").decode()

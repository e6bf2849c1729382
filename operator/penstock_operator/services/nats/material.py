"""What a link is made from: servers, and who we are to them, put together from a Connection and its Secrets.

Knows which key of which Secret is what, and checks what can be checked before a server is asked. Nothing secret is ever
written to a disk, shown in a representation, or quoted in a sentence. Does not connect (session.py).
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock_jetstream import Connection, Credentials, Nkey, Tls, Token, UserPassword
from penstock_jetstream.errors import JetStreamError
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.connection import Auth, ConnectionSpec
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats.encryption import CannotUseCertificateError, show, trusting

Identification = Credentials | Nkey | Token | UserPassword
_CHALLENGE = "is what we have of any use?"


class MaterialError(Exception):
    """No link can be made from this. The text is a sentence."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that a link is made from."""

    servers: Sequence[str]
    domain: str = ""
    api_prefix: str = ""
    auth: Identification | None = field(default=None, repr=False)
    tls: Tls | None = field(default=None, repr=False)
    user: str = ""
    """Who we are, where nobody tells us more: nothing secret."""
    account: str = ""
    """The account that our credentials name."""
    digest: str = ""
    """Equal exactly if all is equal, secrets included."""
    destination: str = ""
    """Equal exactly if the same JetStream is meant, whoever we are."""

    @property
    def is_own_account(self) -> bool:
        """Whether the streams are in the account that we connect to, and not in one that lets us use its API."""
        return not self.api_prefix

    @property
    def is_own_jetstream(self) -> bool:
        """Whether the servers that we connect to are those that hold the streams."""
        return not (self.domain or self.api_prefix)


def material(namespace: str, spec: ConnectionSpec, secrets: Secrets) -> Material:
    """Put it together, or raise what is missing or wrong."""
    picked = _Picked(namespace, secrets)
    auth, user, account = _identification(spec.auth, picked)
    tls = _encryption(spec, picked)
    domain, prefix = _way(spec)
    _check(spec)
    return Material(
        servers=tuple(spec.servers),
        domain=domain,
        api_prefix=prefix,
        auth=auth,
        tls=tls,
        user=user,
        account=account,
        digest=_digest(spec.model_dump_json(exclude={"allowed_namespaces"}), *picked.values),
        destination=destination(spec),
    )


def destination(spec: ConnectionSpec) -> str:
    """Return what is equal exactly if the same JetStream is meant, whoever we are."""
    return _digest(*spec.servers, *_way(spec))


def _way(spec: ConnectionSpec) -> tuple[str, str]:
    """Return the domain and the prefix by which JetStream is asked."""
    jetstream = spec.jet_stream
    return (jetstream.domain or "", jetstream.api_prefix or "") if jetstream else ("", "")


def secret_names(spec: ConnectionSpec) -> frozenset[str]:
    """Return the Secrets that a Connection is made from."""
    auth, tls = spec.auth, spec.tls
    references = [
        *((value for _, value in auth) if auth else ()),
        *((tls.ca_secret_ref, tls.client_certificate_secret_ref) if tls else ()),
    ]
    return frozenset(reference.name for reference in references if reference)


class _Picked:
    """What was taken out of Secrets."""

    def __init__(self, namespace: str, secrets: Secrets) -> None:
        self._namespace = namespace
        self._secrets = secrets
        self.values: list[bytes] = []

    def name(self, secret: str, *keys: str) -> str:
        return f"{' and '.join(keys)} of Secret {self._namespace}/{secret}"

    def value(self, secret: str, key: str) -> bytes:
        data = self._secrets.get(secret)
        if data is None:
            raise MaterialError(
                Reason.SECRET_NOT_FOUND, f"Secret {self._namespace}/{secret} does not exist. Create it, with key {key}."
            )
        if key not in data:
            has = ", ".join(sorted(data)) or "nothing"
            raise MaterialError(
                Reason.SECRET_INVALID, f"Secret {self._namespace}/{secret} has no key {key}. It has: {has}."
            )
        self.values.append(data[key])
        return data[key]

    def text(self, secret: str, key: str) -> str:
        try:
            return self.value(secret, key).decode()
        except UnicodeDecodeError:
            raise self.unusable("is not text.", secret, key) from None  # the cause would quote its bytes

    def unusable(self, what: str, secret: str, *keys: str) -> MaterialError:
        return MaterialError(Reason.SECRET_INVALID, f"{self.name(secret, *keys)} {what}")


def _identification(auth: Auth | None, picked: _Picked) -> tuple[Identification | None, str, str]:
    """Return what identifies us, who that is as far as it may be shown, and the account if it names one."""
    if auth is None:
        return None, "nobody", ""
    if creds := auth.credentials_secret_ref:
        text = picked.text(creds.name, creds.key)
        credentials = Credentials(text)
        shown = _proof(credentials, picked, creds.name, creds.key)
        user, account = _of_jwt(shown["jwt"])
        return credentials, user, account
    if nkey := auth.nkey_secret_ref:
        key = Nkey(picked.text(nkey.name, nkey.key))
        return key, _proof(key, picked, nkey.name, nkey.key)["nkey"], ""
    if token := auth.token_secret_ref:
        return Token(picked.text(token.name, token.key)), "token", ""
    if pair := auth.user_password_secret_ref:
        user = picked.text(pair.name, pair.username_key).strip()
        return UserPassword(user, picked.text(pair.name, pair.password_key)), user, ""
    return None, "nobody", ""


def _proof(auth: Credentials | Nkey, picked: _Picked, secret: str, key: str) -> dict[str, str]:
    """Sign something, to see that it can be done; the server would only say that it does not know us."""
    try:
        return dict(auth.prove(_CHALLENGE))
    except JetStreamError as problem:
        what = problem.sentence.removeprefix("The credentials text ").removeprefix("The nkey seed ")
        raise picked.unusable(f"{what} {problem.advice}".rstrip(), secret, key) from problem


def _of_jwt(jwt: str) -> tuple[str, str]:
    """Return user and account as their JWT names them, which nobody has verified; empty what it does not say."""
    try:
        body = jwt.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        nats = claims["nats"]
        return str(claims["sub"]), str(nats.get("issuer_account") or claims["iss"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, binascii.Error):
        return "", ""


def _encryption(spec: ConnectionSpec, picked: _Picked) -> Tls | None:
    tls = spec.tls
    if tls is None:
        return None
    ca, pair = tls.ca_secret_ref, tls.client_certificate_secret_ref
    if ca is None and pair is None:
        return Tls(handshake_first=tls.handshake_first)
    try:
        context = trusting(picked.text(ca.name, ca.key) if ca else None)
    except CannotUseCertificateError as problem:
        raise picked.unusable(f"{problem}.", ca.name if ca else "", ca.key if ca else "") from problem
    if pair:
        keys = (pair.certificate_key, pair.private_key_key)
        try:
            show(context, *(picked.value(pair.name, key) for key in keys))
        except CannotUseCertificateError as problem:
            raise picked.unusable(f"{problem}.", pair.name, *keys) from problem
    return Tls(handshake_first=tls.handshake_first, context=context)


def _check(spec: ConnectionSpec) -> None:
    """Find what the client library cannot do, before it is asked to."""
    try:
        Connection(spec.servers)
    except JetStreamError as problem:
        raise MaterialError(Reason.INVALID, str(problem)) from problem


def _digest(*parts: str | bytes) -> str:
    """Return what tells whether parts have changed, and nothing of what is in them."""
    digest = hashlib.sha256()
    for part in parts:
        whole = part.encode() if isinstance(part, str) else part
        digest.update(len(whole).to_bytes(8, "big") + whole)
    return digest.hexdigest()

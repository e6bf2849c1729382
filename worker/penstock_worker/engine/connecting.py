"""The engine's connection to NATS, made of what it is told. Knows which words mean which identity. Opens nothing."""

from pathlib import Path

from penstock_jetstream import (
    Connection,
    Credentials,
    JetStream,
    Nkey,
    Tls,
    Token,
    UserPassword,
)
from penstock_worker.policy.settings import ConnectionSettings

Identity = Credentials | Nkey | Token | UserPassword


def connection(settings: ConnectionSettings, name: str) -> Connection:
    """Return a connection that is not open yet; the name is what the server's operators see."""
    return Connection(
        settings.servers,
        auth=_identity(settings),
        tls=_encryption(settings),
        name=name,
        inbox_prefix=settings.inbox_prefix,
    )


def jetstream(settings: ConnectionSettings, open_connection: Connection) -> JetStream:
    """Return the JetStream that the settings name."""
    return JetStream(open_connection, domain=settings.domain, api_prefix=settings.api_prefix)


def _identity(settings: ConnectionSettings) -> Identity | None:
    if settings.credentials_file is not None:
        return Credentials(Path(settings.credentials_file))
    if settings.nkey_file is not None:
        return Nkey(Path(settings.nkey_file))
    if settings.token_file is not None:
        return Token(Path(settings.token_file))
    if settings.user_file is not None and settings.password_file is not None:
        return UserPassword(Path(settings.user_file), Path(settings.password_file))
    return None


def _encryption(settings: ConnectionSettings) -> Tls | None:
    if not (settings.ca_file or settings.certificate_file or settings.handshake_first):
        return None
    return Tls(
        ca=_path(settings.ca_file),
        certificate=_path(settings.certificate_file),
        key=_path(settings.key_file),
        handshake_first=settings.handshake_first,
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)

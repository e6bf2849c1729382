"""TLS: whom we trust, and the certificate that we show.

Files are read at every connect, so that they can be rotated. Does not know when to encrypt (dialing.py).
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from penstock_jetstream.errors import AuthenticationError, LinkError, UsageError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Insist on encryption. Without a `ca`, those authorities are trusted that the system trusts."""

    ca: str | Path | None = None
    """File with the certificates of authorities, as PEM."""
    certificate: str | Path | None = None
    """File with the certificate that we show, as PEM."""
    key: str | Path | None = None
    """File with its private key; without one, that is in the certificate's file."""
    handshake_first: bool = False
    """Encrypt before the server says anything; the server must be configured so too."""
    server_name: str | None = None
    """The name in the server's certificate, where that is not the host of its address."""
    context: ssl.SSLContext | None = field(default=None, repr=False)
    """All of the above made by yourself, but for handshake_first and server_name."""

    def __post_init__(self) -> None:
        if self.context is not None and (self.ca or self.certificate or self.key):
            raise UsageError("Tls was given a context and files.", advice="Load the files into the context.")
        if self.key and not self.certificate:
            raise UsageError("Tls was given a key without a certificate.", advice="Give both.")

    @property
    def shows_certificate(self) -> bool:
        return self.certificate is not None or self.context is not None

    def new_context(self) -> ssl.SSLContext:
        """Read the files."""
        if self.context is not None:
            return self.context
        context = _read(lambda: ssl.create_default_context(cafile=self.ca and str(self.ca)), LinkError, str(self.ca))
        if self.certificate is not None:
            certificate, key = str(self.certificate), self.key and str(self.key)
            source = f"{certificate} and {key}" if key else certificate
            _read(lambda: context.load_cert_chain(certificate, key), AuthenticationError, source)
        return context


def _read(load: Callable[[], T], error: type[LinkError], source: str) -> T:
    try:
        return load()
    except ssl.SSLError as problem:
        reason = problem.reason or "not what is expected there, as PEM"
        raise error(
            f"{source} cannot be used for TLS: {reason}.", advice="Check that the files are whole."
        ) from problem
    except OSError as problem:
        raise error(
            f"{source} cannot be read for TLS: {problem.strerror}.",
            advice="Check the path, and that this process may read it.",
        ) from problem

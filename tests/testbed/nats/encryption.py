"""TLS between a client and a nats-server: both ends of it."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testbed.certificates import Authority, CertificateFiles
from tests.testbed.nats.authentication import Login
from tests.testbed.nats.config import Fragment
from tests.testbed.ports import LOOPBACK


@dataclass(frozen=True)
class Encryption:
    """Both ends of one way to encrypt."""

    server: Fragment
    client: Login
    handshake_first: bool
    authority: Path
    client_certificate: CertificateFiles | None


def tls(folder: Path, *, verify_clients: bool = False, handshake_first: bool = False) -> Encryption:
    """Encrypt with certificates of a new authority, written into a folder.

    With verify_clients the server wants a certificate of that authority from its clients too. With handshake_first
    the handshake comes before the server's INFO line, so that nothing at all is sent in the clear.
    """
    authority = Authority.new("NATS test authority")
    authority_file = authority.certificate.write(folder, "authority").certificate
    server = authority.server(LOOPBACK, "localhost").write(folder, "server")
    client = authority.client("client").write(folder, "client") if verify_clients else None
    fragment = {
        "cert_file": str(server.certificate),
        "key_file": str(server.key),
        "ca_file": str(authority_file),
        "verify": verify_clients,
        "handshake_first": handshake_first,
    }
    login = _login(authority_file, client, handshake_first=handshake_first)
    return Encryption({"tls": fragment}, login, handshake_first, authority_file, client)


WAYS: Mapping[str, Callable[[Path], Encryption | None]] = {
    "plain": lambda _: None,
    "tls": tls,
    "tls-first": lambda folder: tls(folder, handshake_first=True),
    "tls-both": lambda folder: tls(folder, verify_clients=True),
    "tls-both-first": lambda folder: tls(folder, verify_clients=True, handshake_first=True),
}
"""Every way to encrypt, and not to; each may put files into the folder."""


def _login(authority: Path, certificate: CertificateFiles | None, *, handshake_first: bool) -> Login:
    context = ssl.create_default_context(cafile=str(authority))
    arguments: dict[str, Any] = {"tls": context}
    options = ["--tlsca", str(authority)]
    if certificate is not None:
        context.load_cert_chain(certificate.certificate, certificate.key)
        options += ["--tlscert", str(certificate.certificate), "--tlskey", str(certificate.key)]
    if handshake_first:
        arguments["tls_handshake_first"] = True
        options.append("--tlsfirst")
    return Login(arguments, tuple(options))

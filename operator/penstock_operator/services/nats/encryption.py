"""TLS from what is in Secrets: whom we trust, and the certificate that we show.

Python's ssl takes a private key from a file only. So it is put into one that has no name and never reaches a disk,
where the system has such; elsewhere into one that only this user can read, for as long as it takes to read it.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


class CannotUseCertificateError(Exception):
    """It is not what it should be. The text says what is wrong with it, without its name."""


def trusting(authorities: str | None) -> ssl.SSLContext:
    """Trust the authorities in this PEM; without any, those that the system trusts."""
    if authorities is not None and not authorities.strip():
        raise CannotUseCertificateError("is empty")  # ssl would take that for none
    try:
        return ssl.create_default_context(cadata=authorities)
    except (ssl.SSLError, ValueError) as problem:
        raise CannotUseCertificateError("is not a list of certificates in PEM") from problem


def show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Have it show the certificate to servers that ask for one."""
    try:
        with _unnamed_file(certificate.rstrip() + b"\n" + key) as path:
            context.load_cert_chain(path, password=_no_password)
    except ssl.SSLError as problem:
        reason = (problem.reason or "").replace("_", " ").lower() or "not what is expected there, as PEM"
        raise CannotUseCertificateError(f"are no certificate with its private key: {reason}") from problem


def _no_password() -> str:
    """Answer for OpenSSL, which would ask at the terminal."""
    raise CannotUseCertificateError("have a private key that needs a password, which nobody can give here")


@contextmanager
def _unnamed_file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("penstock-certificate")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as file:  # readable by this user only
        file.write(content)
        file.flush()
        yield file.name

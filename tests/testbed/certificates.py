"""Certificates for servers and clients that live for one test run: an authority, and what it issues.

Keys are P-256: making one takes a millisecond.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=30)
CLOCK_SKEW = timedelta(minutes=5)  # a container's clock may be behind the one that issued


@dataclass(frozen=True)
class Certificate:
    """A certificate with its private key, both as PEM."""

    pem: bytes
    key_pem: bytes

    def write(self, folder: Path, name: str) -> "CertificateFiles":
        """Write NAME.crt and NAME.key into a folder."""
        files = CertificateFiles(folder / f"{name}.crt", folder / f"{name}.key")
        files.certificate.write_bytes(self.pem)
        files.key.touch(mode=0o600)
        files.key.write_bytes(self.key_pem)
        return files


@dataclass(frozen=True)
class CertificateFiles:
    certificate: Path
    key: Path

    def read(self) -> Certificate:
        return Certificate(self.certificate.read_bytes(), self.key.read_bytes())


class Authority:
    """A certificate authority of its own; trust `certificate.pem` and nothing that another authority issued passes."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self._certificate = x509.load_pem_x509_certificate(certificate.pem)
        key = serialization.load_pem_private_key(certificate.key_pem, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._key = key

    @classmethod
    def new(cls, name: str) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        certificate = (
            _builder(subject, subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(for_authority=True), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(Certificate(_pem(certificate), _key_pem(key)))

    def server(self, *names: str, common_name: str = "", organizations: Sequence[str] = ()) -> Certificate:
        """Issue for a server that is reached by these host names and addresses; it may be a client of others too."""
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issue(_name(common_name or names[0], organizations), purposes, names)

    def client(self, common_name: str, organizations: Sequence[str] = ()) -> Certificate:
        """Issue for a client: its name (CN), and the groups that it belongs to (O)."""
        return self._issue(_name(common_name, organizations), [ExtendedKeyUsageOID.CLIENT_AUTH])

    def _issue(
        self, subject: x509.Name, purposes: Sequence[x509.ObjectIdentifier], names: Sequence[str] = ()
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(for_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names:
            alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        return Certificate(_pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key))


def signing_key() -> bytes:
    """Make a key pair without a certificate, as PEM of the private key."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, for_authority: bool) -> x509.KeyUsage:
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    denied = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=for_authority, crl_sign=for_authority, **denied)


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Not PKCS#8: an API server does not find a P-256 key for service accounts in it.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())

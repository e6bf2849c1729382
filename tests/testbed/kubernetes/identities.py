"""Who is who in a cluster of ours: its certificate authority, and the key that signs service account tokens.

All of it is in one folder, so that any process that is given the folder can make further identities.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.testbed.certificates import Authority, Certificate, CertificateFiles, signing_key

ADMINISTRATORS = "system:masters"  # the API server lets this group do everything, whatever RBAC says


class Identities:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = CertificateFiles(folder / "ca.crt", folder / "ca.key")
        self.service_account_key = folder / "service-accounts.key"

    @classmethod
    def new(cls, folder: Path) -> "Identities":
        folder.mkdir()
        identities = cls(folder)
        Authority.new("penstock-testbed").certificate.write(folder, "ca")
        identities.service_account_key.touch(mode=0o600)
        identities.service_account_key.write_bytes(signing_key())
        return identities

    @property
    def authority_pem(self) -> bytes:
        return self.authority.certificate.read_bytes()

    def server(
        self, name: str, hosts: Sequence[str], *, user: str = "", groups: Sequence[str] = ()
    ) -> CertificateFiles:
        """Issue a server's certificate; where that server is a client of others, it is the user given."""
        issued = self._issuer().server(*hosts, common_name=user or name, organizations=groups)
        return issued.write(self.folder, name)

    def user(self, name: str, groups: Sequence[str] = ()) -> Certificate:
        return self._issuer().client(name, groups)

    def administrator(self) -> Certificate:
        return self.user("testbed-administrator", [ADMINISTRATORS])

    def _issuer(self) -> Authority:
        return Authority(self.authority.read())

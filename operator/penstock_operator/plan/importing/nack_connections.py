"""Connections from what NACK was told of servers and of who it is there: by Accounts, or in each object itself.

Knows NACK's options and what they are in a Connection. NACK reads credentials from files in its pod, or from Secrets;
we read them from Secrets alone, so a remark says what is to be put there. What NACK was told on its command line cannot
be seen in manifests; a remark says so, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from penstock_operator.plan.importing.imported import Imported, imported
from penstock_operator.resources import CONNECTION

PLACEHOLDER = "nats://nats:4222"
CA_KEY, CERTIFICATE_KEY, PRIVATE_KEY = "ca.crt", "tls.crt", "tls.key"

Json = Mapping[str, Any]


@dataclass
class Connections:
    """The Connections that the objects of one import need; each is made once."""

    accounts: Mapping[tuple[str, str], tuple[Json, tuple[str, ...]]]
    """NACK's Accounts by namespace and name: their specs, and remarks on them."""
    default_name: str
    default_servers: tuple[str, ...]
    """What NACK was told on its command line, if somebody knows."""
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _made: dict[tuple[str, str], Imported] = field(default_factory=dict)

    @property
    def made(self) -> tuple[Imported, ...]:
        return tuple(self._made.values())

    def of_account(self, namespace: str, name: str) -> str:
        return self.named(namespace, {"account": name})

    def named(self, namespace: str, options: Json) -> str:
        """Return the name of the Connection for these options, making it at first use."""
        given = {name: value for name, value in options.items() if value}
        key = (namespace, repr(sorted(given.items())))
        if key not in self._names:
            name = self._free(namespace, str(given.get("account", self.default_name)))
            self._names[key] = name
            self._made[namespace, name] = self._make(namespace, name, given)
        return self._names[key]

    def _free(self, namespace: str, wanted: str) -> str:
        name, number = wanted, 1
        while (namespace, name) in self._made:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _make(self, namespace: str, name: str, given: Json) -> Imported:
        remarks: list[str] = []
        account = self._account(namespace, given, remarks)
        spec = {
            "servers": self._servers(given, account, remarks),
            "auth": _auth_by_files(name, given, remarks) or _auth_by_secrets(name, account, remarks),
            "tls": _tls_by_files(name, given, remarks) or _tls_by_secret(account, remarks),
            "jetStream": {"domain": given["jsDomain"]} if "jsDomain" in given else None,
        }
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        stated = {part: value for part, value in spec.items() if value}
        return imported(CONNECTION, metadata, stated, tuple(remarks))

    def _account(self, namespace: str, given: Json, remarks: list[str]) -> Json:
        if "account" not in given:
            return {}
        found = self.accounts.get((namespace, given["account"]))
        if found is None:
            remarks.append(
                f"The Account {given['account']} is not among the manifests: say here what stands in it, its servers"
                " and credentials."
            )
            return {}
        account, remarked = found
        remarks.extend(remarked)
        return account

    def _servers(self, given: Json, account: Json, remarks: list[str]) -> list[str]:
        servers = given.get("servers") or account.get("servers") or self.default_servers
        if not servers:
            remarks.append("NACK was told its servers on its command line (-s): put them here, in place of this guess.")
            return [PLACEHOLDER]
        remarks.extend(_told_of_short_names(servers))
        return list(servers)


def _told_of_short_names(servers: Iterable[str]) -> Iterator[str]:
    for host in dict.fromkeys(_host(server) for server in servers):
        if host.replace("-", "").isalnum() and host != "localhost":  # neither a full name nor an address
            yield (
                f"{host} is looked up in the namespace of whoever asks. If Penstock's operator runs in another than"
                f" NACK's controller, write {host}.NAMESPACE."
            )


def _host(server: str) -> str:
    return server.rpartition("/")[2].rpartition("@")[2].partition(":")[0]


def _auth_by_files(name: str, given: Json, remarks: list[str]) -> dict[str, Any] | None:
    ways = [
        (option, ours)
        for option, ours in (("creds", "credentialsSecretRef"), ("nkey", "nkeySecretRef"))
        if option in given
    ]
    if not ways:
        return None
    (option, ours), *others = ways
    if others:
        remarks.append("NACK prefers creds to nkey; nkey is left out.")
    secret = f"{name}-{option}"
    return {ours: {"name": secret, "key": _secret_of_file(secret, given[option], remarks)}}


def _secret_of_file(secret: str, path: str, remarks: list[str]) -> str:
    """Return the key that the file shall have in the Secret, and say how it gets there."""
    key = PurePosixPath(path).name
    remarks.append(_told_of_files(secret, {key: path}))
    return key


def _told_of_files(secret: str, paths: Mapping[str, str]) -> str:
    """Say how files get into a Secret, in one command: a second could not make it again."""
    are = "is a file" if len(paths) == 1 else "are files"
    keys = " ".join(f"--from-file={key}={path}" for key, path in paths.items())
    return (
        f"{', '.join(paths.values())} {are} in NACK's pod. Make a Secret of what is there:"
        f" kubectl create secret generic {secret} {keys}"
    )


def _auth_by_secrets(name: str, account: Json, remarks: list[str]) -> dict[str, Any] | None:
    ways = [way for way in ("creds", "nkey", "token", "user") if account.get(way)]
    if not ways:
        return None
    way, *others = ways
    if others:
        remarks.append(f"NACK prefers {way} to {' and '.join(others)}; only {way} is taken over.")
    given = account[way]
    secret = (given.get("secret") or {}).get("name", "")
    if way == "creds":
        if not secret:
            secret = f"{name}-creds"
            return {"credentialsSecretRef": {"name": secret, "key": _secret_of_file(secret, given["file"], remarks)}}
        return {"credentialsSecretRef": {"name": secret, "key": given.get("file", "")}}
    if way == "user":
        keys = {"usernameKey": given.get("user", ""), "passwordKey": given.get("password", "")}
        return {"userPasswordSecretRef": {"name": secret, **keys}}
    ours, key = {"nkey": ("nkeySecretRef", "seed"), "token": ("tokenSecretRef", "token")}[way]
    return {ours: {"name": secret, "key": given.get(key, "")}}


def _tls_by_files(name: str, given: Json, remarks: list[str]) -> dict[str, Any] | None:
    """Return how TLS is spoken where files in NACK's pod, or tlsFirst, say so."""
    files, tls, paths = given.get("tls") or {}, {}, {}
    secret = f"{name}-tls"
    authorities = files.get("rootCas") or []
    if authorities:
        tls["caSecretRef"] = {"name": secret, "key": CA_KEY}
        paths[CA_KEY] = authorities[0]
    if files.get("clientCert") and files.get("clientKey"):
        tls["clientCertificateSecretRef"] = {"name": secret}
        paths |= {CERTIFICATE_KEY: files["clientCert"], PRIVATE_KEY: files["clientKey"]}
    if paths:
        remarks.append(_told_of_files(secret, paths))
    if authorities[1:]:
        remarks.append(f"Put all authorities into {CA_KEY}, one after the other: {', '.join(authorities)}")
    return tls | ({"handshakeFirst": True} if given.get("tlsFirst") else {}) or None


def _tls_by_secret(account: Json, remarks: list[str]) -> dict[str, Any] | None:
    if account.get("tlsFirst"):
        remarks.append("NACK ignores an Account's tlsFirst, so it is left out; here it would be tls.handshakeFirst.")
    given = account.get("tls") or {}
    secret = (given.get("secret") or {}).get("name")
    if not secret:
        if given:
            remarks.append("The Account's tls names no Secret but files in NACK's pod; it is left out.")
        return None
    tls: dict[str, Any] = {}
    if given.get("ca"):
        tls["caSecretRef"] = {"name": secret, "key": given["ca"]}
    if given.get("cert") and given.get("key"):
        keys = {"certificateKey": given["cert"], "privateKeyKey": given["key"]}
        tls["clientCertificateSecretRef"] = {"name": secret, **keys}
    return tls or None

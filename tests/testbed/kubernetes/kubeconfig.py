"""The kubeconfig format: one cluster, one user, one context."""

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.testbed.certificates import Certificate


def write(path: Path, cluster: dict[str, Any], user: dict[str, str], namespace: str = "default") -> Path:
    """Write a kubeconfig that only its owner may read."""
    names = {"cluster": "testbed", "user": "testbed"}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "contexts": [{"name": "testbed", "context": names | {"namespace": namespace}}],
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": user}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(kubeconfig))
    return path


def write_in_namespace(path: Path, original: Path, *, namespace: str) -> Path:
    """Write a copy of a kubeconfig whose current context has another namespace."""
    kubeconfig = yaml.safe_load(original.read_text())
    _named(kubeconfig["contexts"], kubeconfig["current-context"])["context"]["namespace"] = namespace
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(kubeconfig))
    return path


def read_cluster(path: Path) -> dict[str, Any]:
    """Return the cluster of a kubeconfig's current context."""
    kubeconfig = yaml.safe_load(path.read_text())
    context = _named(kubeconfig["contexts"], kubeconfig["current-context"])["context"]
    found: dict[str, Any] = _named(kubeconfig["clusters"], context["cluster"])["cluster"]
    return found


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def cluster(url: str, authority: bytes) -> dict[str, str]:
    """Return a kubeconfig's part that says where the API server is, and whose certificates to trust."""
    return {"server": url, "certificate-authority-data": _encoded(authority)}


def certificate_user(certificate: Certificate) -> dict[str, str]:
    """Return a kubeconfig's part that says who we are: the one with this certificate."""
    return {"client-certificate-data": _encoded(certificate.pem), "client-key-data": _encoded(certificate.key_pem)}


def _encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()

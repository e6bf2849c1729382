"""Runs commands: over manifests that a test writes, and against a cluster."""

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from click.testing import CliRunner, Result

from penstock_jetstream import Connection, JetStream
from penstock_operator.cli import main
from tests.operator.running import PENSTOCK
from tests.operator.scene import manifest
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object

T = TypeVar("T")
Outcome = subprocess.CompletedProcess[str]


def penstock(*arguments: str | Path, stdin: str = "", kubeconfig: Path | None = None) -> Result:
    """Run a command in this process, perhaps against a cluster, and raise what it doesn't handle itself."""
    environment = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin, env=environment)
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome


def penstock_as(kubeconfig: Path, *arguments: str | Path) -> Outcome:
    """Run a command against a cluster in its own process, with the rights of a kubeconfig."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False, env=environment)


def data(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(penstock(*arguments, "-o", "json").stdout)


class Declared:
    """A folder of manifests, with a Connection to a server."""

    def __init__(self, folder: Path, url: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.url = url
        self.write("Connection", "nats", servers=[url])

    def write(self, kind: str, its_name: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        """Declare an object, replacing what was declared by its name."""
        (self.folder / f"{kind}-{its_name}.yaml").write_text(yaml.safe_dump(manifest(kind, its_name, spec)))

    def stream(self, its_name: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        self.write("Stream", its_name, connectionRef={"name": "nats"}, **spec)

    def consumer(self, its_name: str, stream: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        self.write("Consumer", its_name, streamRef={"name": stream}, **spec)

    def secret(self, name: str, values: Mapping[str, str]) -> None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": dict(values)}
        (self.folder / f"Secret-{name}.yaml").write_text(yaml.safe_dump(secret))

    def run(self, command: str, *arguments: str | Path) -> Result:
        return penstock(command, "-f", self.folder, *arguments)

    def data(self, command: str, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
        return data(command, "-f", self.folder, *arguments)

    def changes(self, command: str) -> dict[str, str]:
        """Run plan or apply, and return the change of each object."""
        return {each["name"]: each["change"] for each in self.data(command)["objects"]}

    def ask(self, question: Callable[[JetStream], Awaitable[T]]) -> T:
        """Read or change something on the server of the Connection without the command."""
        return ask(self.url, question)

    def objects(self) -> Sequence[Object]:
        """Return all that is declared."""
        return [yaml.safe_load(path.read_text()) for path in sorted(self.folder.iterdir())]


class ClusterScene:
    """Manifests, and a namespace of a cluster without an operator, where they may be applied."""

    def __init__(self, namespace: Namespace, declared: Declared) -> None:
        self.namespace = namespace
        self.declared = declared
        self.client = namespace.client

    def apply(self) -> None:
        """Apply all manifests without the command."""
        self.client.apply(*self.declared.objects())

    def run(self, *arguments: str | Path) -> Result:
        return penstock(*arguments, kubeconfig=self.namespace.kubeconfig)

    def run_with_files(self, command: str, *arguments: str | Path) -> Result:
        """Run a command over the manifests and the cluster."""
        return self.run(command, "-f", self.declared.folder, "--home", "kubernetes", *arguments)

    def data(self, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.run(*arguments, "-o", "json").stdout)

    def set_status(self, what: str, status: Object, *, ready: bool = True) -> None:
        """Write the status that the operator would write for the object as it is declared now."""
        condition = {
            "type": "Ready",
            "status": str(ready),
            "reason": "InSync" if ready else "Suspended",
            "message": "Written by the test.",
            "lastTransitionTime": "2026-01-31T12:00:00Z",
            "observedGeneration": self.client.get(what)["metadata"]["generation"],
        }
        self.client.patch(what, {"status": {"conditions": [condition], **status}}, subresource="status")


def first_words(text: str) -> Sequence[str]:
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def ask(url: str, question: Callable[[JetStream], Awaitable[T]]) -> T:
    """Read or change something on a server without the command."""

    async def asking() -> T:
        async with Connection(url) as connection:
            return await question(JetStream(connection))

    return asyncio.run(asking())


def stream_names(url: str) -> set[str]:
    async def names(jetstream: JetStream) -> set[str]:
        return {name async for name in jetstream.streams.names()}

    return ask(url, names)

"""Commands, run in this process as people run them, over manifests that a test writes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from click.testing import CliRunner, Result

from penstock_jetstream import Connection, JetStream
from penstock_operator.cli import main

T = TypeVar("T")
PENSTOCK = Path(sys.executable).parent / "penstock"
Outcome = subprocess.CompletedProcess[str]
Run = Callable[..., Outcome]
API_VERSION = "penstock.dev/v1alpha1"


def penstock(*arguments: str | Path, stdin: str = "") -> Result:
    """Run a command; whatever it says, it is no traceback."""
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome


def penstock_as(kubeconfig: Path, *arguments: str | Path) -> Outcome:
    """Run a command against a cluster, as a process of its own, as whoever that kubeconfig is."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False, env=environment)


def data(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
    """Run a command for its data."""
    return json.loads(penstock(*arguments, "-o", "json").stdout)


class Declared:
    """A folder of manifests whose Connection leads to a server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.write("Connection", "nats", servers=[url])

    def write(self, kind: str, its_name: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        """Declare an object, in place of what it was."""
        manifest = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": its_name}, "spec": spec}
        (self.folder / f"{kind}-{its_name}.yaml").write_text(yaml.safe_dump(manifest))

    def stream(self, its_name: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        self.write("Stream", its_name, connectionRef={"name": "nats"}, **spec)

    def consumer(self, its_name: str, stream: str, /, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
        self.write("Consumer", its_name, streamRef={"name": stream}, **spec)

    def secret(self, name: str, values: Mapping[str, str]) -> None:
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": dict(values)}
        (self.folder / f"Secret-{name}.yaml").write_text(yaml.safe_dump(manifest))

    def run(self, command: str, *arguments: str | Path) -> Result:
        return penstock(command, "-f", self.folder, *arguments)

    def data(self, command: str, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
        return data(command, "-f", self.folder, *arguments)

    def changes(self, command: str) -> dict[str, str]:
        """Run plan or apply, and return what becomes of each object."""
        return {each["name"]: each["change"] for each in self.data(command)["objects"]}


def first_words(text: str) -> Sequence[str]:
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def ask(url: str, question: Callable[[JetStream], Awaitable[T]]) -> T:
    """Look at a server, or change something behind the command's back."""

    async def asking() -> T:
        async with Connection(url) as connection:
            return await question(JetStream(connection))

    return asyncio.run(asking())


def stream_names(url: str) -> set[str]:
    async def names(jetstream: JetStream) -> set[str]:
        return {name async for name in jetstream.streams.names()}

    return ask(url, names)

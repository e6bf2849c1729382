"""docs/jetstream.md is true: its examples run, in their order, and print what they say; every public name has one."""

import ast
import contextlib
import io
import re
import types
from collections.abc import Iterator

import pytest

import penstock_jetstream
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.direct import Direct
from penstock_jetstream.client.keyvalue import KeyValue
from penstock_jetstream.client.streams import Streams
from penstock_jetstream.client.watching import Watch
from tests.testbed.nats.server import NatsServer
from tools.environment import ROOT

PAGE = ROOT / "docs" / "jetstream.md"
PRINTED = "# → "


def examples() -> Iterator[tuple[int, str]]:
    text = PAGE.read_text()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, match[1]


async def run(source: str, line: int, names: dict[str, object]) -> str:
    """Run one example as the console of `python -m asyncio` would, and return what it printed."""
    tree = compile("\n" * line + source, PAGE.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = types.FunctionType(tree, names)()
        if result is not None:
            await result
    return printed.getvalue()


@pytest.mark.interpreter
async def test_every_example_of_the_page_runs_and_prints_what_it_says(nats_server: NatsServer) -> None:
    names: dict[str, object] = {"__name__": "page"}
    try:
        for line, source in examples():
            told = re.findall(rf"{PRINTED}(.*?)(?=  {PRINTED}|$)", source, re.MULTILINE)
            printed = await run(source.replace("nats://127.0.0.1:4222", nats_server.url), line, names)
            assert printed.splitlines() == told, f"{PAGE.name}, line {line}"
    finally:
        connection = names.get("connection")
        if isinstance(connection, penstock_jetstream.Connection):
            await connection.close()


def test_every_public_name_is_in_an_example() -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    nodes = [node for _, source in examples() for node in ast.walk(compile(source, PAGE.name, "exec", flags=flags))]
    shown = {node.id for node in nodes if isinstance(node, ast.Name)}
    shown |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    shown |= {node.name for node in nodes if isinstance(node, ast.alias)}
    assert not set(penstock_jetstream.__all__) - shown


def test_every_operation_is_on_the_page() -> None:
    top = (penstock_jetstream.JetStream, penstock_jetstream.Bucket, penstock_jetstream.Consumer)
    for kind in (*top, penstock_jetstream.Message, Streams, Consumers, Direct, KeyValue, Watch):
        operations = {name for name, member in vars(kind).items() if callable(member) and not name.startswith("_")}
        assert not operations - set(re.findall(r"\w+", PAGE.read_text())), kind

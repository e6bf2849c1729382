"""The commands about groups work with exactly the NATS permissions of docs/permissions.md."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operator.cli.commands import Declared
from tests.operator.cli.groups import RunningGroup, running_group
from tests.testbed.nats.fixtures import StartNats

DOCUMENT = Path(__file__).parents[3] / "docs" / "permissions.md"
ROW = re.compile(r"^\| (?P<commands>`(?:batches|dead)[^|]*)\| (?P<permissions>[^|]+)\|", re.MULTILINE)
VERB, SUBJECT = re.compile(r"(publish|subscribe) `([^`]+)`"), "the messages' own subjects"


def granted() -> dict[str, list[str]]:
    """Return the permissions of the document as a server's configuration has them."""
    found: dict[str, list[str]] = {"publish": [], "subscribe": []}
    rows = list(ROW.finditer(DOCUMENT.read_text()))
    assert len(rows) == 3
    for row in rows:
        for verb, subject in VERB.findall(row["permissions"]):
            found[verb].append(subject)
    assert SUBJECT in rows[-1]["permissions"]
    return found


@pytest.fixture
async def orders(start_nats: StartNats, tmp_path: Path, fresh_name: str) -> AsyncIterator[RunningGroup]:
    """A group whose worker may do everything, and whose person may do what the document says."""
    allowed = granted()
    allowed["publish"].append(f"{fresh_name}.>")
    person = {"user": "person", "password": "hush", "permissions": allowed}
    users = {"users": [{"user": "worker", "password": "hush"}, person]}
    server = start_nats(extra={"authorization": users, "no_auth_user": "worker"})
    declared = Declared(tmp_path / "manifests", server.url)
    declared.secret("login", {"username": "person", "password": "hush"})
    auth = {"userPasswordSecretRef": {"name": "login"}}
    declared.write("Connection", "nats", servers=[server.url], auth=auth)
    async with running_group(declared, server.url, fresh_name) as made:
        yield made


async def test_a_user_with_these_permissions_may_use_all_commands_about_groups(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1", b"2", b"3")
    assert await orders.listed() == [3, 2, 1]
    assert (await orders.dead("show", "1")).exit_code == 0
    assert (await orders.dead("discard", "2", "--yes")).exit_code == 0
    async with orders.running_batches(3) as released:
        found = (await orders.data("batches"))["batches"]
        assert [(each["state"], "ageSeconds" in each) for each in found] == [("Running", True)] * 2
        assert (await orders.run("pause", orders.group)).exit_code == 0
        assert (await orders.run("resume", orders.group)).exit_code == 0
        released.set()
        assert (await orders.run("drain", orders.group)).exit_code == 0
    assert (await orders.dead("replay", "1")).stdout.startswith("1 replayed")

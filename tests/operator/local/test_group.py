"""A queue group of the local backend, looked at step by step; no process is started."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from penstock_operator.local import edits
from penstock_operator.local.children import Guard
from penstock_operator.local.code_places import CannotRunError, Code
from penstock_operator.local.contact import Contact
from penstock_operator.local.group import Group, Orders, Wanted
from penstock_operator.local.state import GroupFolder, GroupRecord
from penstock_operator.local.worker import Stage
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.services.nats.material import Material

CONNECTION = Identity("Connection", "default", "nats")
CONSUMER = Identity("Consumer", "default", "etl")
PLACE = GroupPlace(CONNECTION, CONSUMER, None, "ORDERS", "etl", "ORDERS-etl-dead", "dead.ORDERS.etl", None)
RECORD = GroupRecord(
    namespace="default",
    name="etl",
    connection="default/nats",
    stream="ORDERS",
    consumer="etl",
    dead_letter_stream="ORDERS-etl-dead",
    dead_letter_subject="dead.ORDERS.etl",
)


class Editor:
    """Declares a group, and edits the declaration at a moment of the test's choice."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.group = Group(
            identity=Identity("QueueGroup", "default", "etl"),
            folder=GroupFolder(folder),
            guard=Guard(lock=-1, hurry=Path()),
            spawn=lambda run: run.close(),
            tell=lambda _, sentence: self.said.append(sentence),
            quota=lambda: 2,
            link=lambda _: None,
        )
        self.group.ground.set()
        self._folder = folder

    def declare(self, entrypoint: str, *, asked: Callable[[], None] | None = None, made: Any = None) -> None:  # noqa: ANN401
        """Declare it. `asked` is called while the server is asked, `made` while orders are put together."""

        async def orders(name: str) -> Orders:
            if made is not None:
                made()
            settings = {"entrypoint": entrypoint, "name": name, "engine": {"grace_seconds": 0}, "socket": "s"}
            return Orders(settings, {})

        contact = _Interrupted(asked)
        spec = QueueGroupSpec.model_validate(
            {"consumerRef": {"name": "etl"}, "handler": {"entrypoint": entrypoint, "image": "etl"}}
        )
        self.group.declare(
            Wanted(
                spec=spec,
                consumer=ConsumerSpec.model_validate({"streamRef": {"name": "orders"}}),
                place=PLACE,
                code=Code(self._folder),
                contact=contact,
                make=orders,
                code_print=edits.code_print(self._folder),
                print=entrypoint,
                record=RECORD,
            )
        )

    def look(self) -> list[str]:
        """Look at the group once, and return the entrypoints of the workers that it has then."""
        asyncio.run(self.group.look(1.0))
        return [worker.settings["entrypoint"] for worker in self.group.workers]


class _Interrupted(Contact):
    """A connection that is not open, with something that happens while it is asked."""

    def __init__(self, asked: Callable[[], None] | None) -> None:
        opened = Contact.of(Material(servers=("nats://127.0.0.1:1",)), "test")
        super().__init__(opened.made_from, opened.connection)
        self.asked = asked

    @override
    async def dead_letters(self, place: GroupPlace) -> int | None:
        if self.asked is not None:
            self.asked()
        return await super().dead_letters(place)


def test_edit_while_a_group_is_looked_at_reaches_its_workers(tmp_path: Path) -> None:
    for moment in ("asked", "made"):
        editor = Editor(tmp_path / moment)
        edit = lambda: editor.declare("readings:process")  # noqa: E731, B023
        editor.declare("readings:proces", **{moment: edit})
        assert not editor.look(), moment
        assert editor.look() == ["readings:process"], moment
        assert editor.look() == ["readings:process"], moment


def test_obstacle_of_what_was_declared_before_an_edit_is_not_reported(tmp_path: Path) -> None:
    editor = Editor(tmp_path)

    def edit_and_fail() -> None:
        editor.declare("readings:process")
        raise CannotRunError("Secret default/old is not there.")

    editor.declare("readings:proces", made=edit_and_fail)
    assert not editor.look()
    assert editor.look() == ["readings:process"]
    assert not editor.said


def test_what_a_worker_had_done_when_it_ended_is_counted_once(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.declare("readings:process")
    editor.look()
    (worker,) = editor.group.workers
    editor.group.tally.hear(worker.name, {"verdicts": {"ok": 14}, "answered": {"acked": 140}})
    worker.account, worker.stage = {"verdicts": {"ok": 15, "code": 1}, "answered": {"acked": 150}}, Stage.ENDED
    for _ in range(2):
        editor.look()
        shown = editor.group.shown()
        assert (shown.verdicts, shown.settled) == ({"ok": 15, "code": 1}, 150)


def test_new_obstacle_takes_the_place_of_an_old_failure_and_a_mended_group_starts_again(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.declare("readings:process")
    editor.look()
    (worker,) = editor.group.workers
    worker.failure, worker.stage = "Spark has no setting spark.sql.shuffle.partition.", Stage.ENDED
    assert not editor.look()
    assert editor.group.shown().message == "Spark has no setting spark.sql.shuffle.partition."
    editor.group.declare(None, "Consumer default/etl is a push consumer.")
    assert not editor.look()
    assert editor.group.shown().message == "Consumer default/etl is a push consumer."
    editor.declare("readings:process")
    assert editor.look() == ["readings:process"]
    assert not editor.group.shown().message


def test_status_for_other_commands_says_what_the_screen_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    editor = Editor(tmp_path)
    group = editor.group

    def condition() -> tuple[str, str, str]:
        group.write_status()
        status = GroupFolder(tmp_path).status
        ready, *_ = status["conditions"]
        assert (status["replicas"], status["desiredReplicas"]) == (len(group.workers), group.desired)
        return ready["status"], ready["reason"], ready["message"]

    editor.declare("readings:process")
    editor.look()
    (worker,) = group.workers
    with subtests.test("starting"):
        assert condition() == ("False", "Starting", "Starting: 0 of 1 workers are ready.")
    with subtests.test("working"):
        worker.hear_status({"ready": True, "heldMessages": 5, "batches": [{}]})
        assert condition() == ("True", "Working", "Working: 1 of 1 workers are ready.")
        status = GroupFolder(tmp_path).status
        assert (status["busyReplicas"], status["held"], status["batches"]) == (1, 5, 1)
    with subtests.test("batches fail"):
        worker.hear_status({"ready": False, "holds": ["circuit"], "sentence": "Batches failed."})
        assert condition() == ("False", "CircuitOpen", "Batches failed.")
    with subtests.test("failed"):
        worker.failure, worker.stage = "readings.py has no 'proces'.", Stage.ENDED
        editor.look()
        assert condition() == ("False", "CodeFailed", "readings.py has no 'proces'.")
    with subtests.test("cannot be run as declared"):
        group.declare(None, "There is no Connection default/natz.")
        assert condition() == ("False", "Invalid", "There is no Connection default/natz.")
    with subtests.test("paused"):
        editor.declare("readings:process")
        group.folder.suspend()
        editor.look()
        assert condition()[:2] == ("False", "Suspended")

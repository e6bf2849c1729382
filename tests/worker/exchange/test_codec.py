"""What engine and driver write to each other comes back as it was, and neither minds what is new to it."""

import json

import pytest

from penstock_worker.exchange.codec import decode, encode
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.typed import MalformedError

HANDED = Handed(
    name=RunName("ORDERS.etl.1-9.0f", 3),
    stream="ORDERS",
    consumer="etl",
    ranges=((1, 7), (9, 9)),
    count=8,
    bytes=1480,
    attempt=2,
    redelivered=True,
    deadline_seconds=600,
)
OUTCOME = Outcome(
    Verdict.DATA,
    0.25,
    (Rejection(7, "no é"),),
    Fault("ArithmeticException", "÷ 0", "DIVIDE_BY_ZERO", "22012", "at …", "etl.py:7"),
    retry_after_seconds=1.5,
    outgoing=3,
)
DESCRIPTION = Description(incarnation="a", entrypoint="etl:process", spark="local[*]", ready=False, why_not="starting")


@pytest.mark.parametrize("record", [HANDED, OUTCOME, DESCRIPTION, RunName("b", 1)])
def test_a_record_comes_back_as_it_was(record: object) -> None:
    assert decode(type(record), encode(record)) == record


def test_what_a_newer_side_says_besides_is_left_alone() -> None:
    facts = json.loads(encode(HANDED)) | {"colour": "red"}
    facts["name"]["priority"] = 7
    assert decode(Handed, json.dumps(facts).encode()) == HANDED


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "It is not JSON"),
        (b"[]", "The document: an object should stand there, not []"),
        (b'{"batch_id":"b"}', "run: it is missing"),
        (b'{"batch_id":"b","run":"1"}', 'run: a whole number should stand there, not "1"'),
        (b'{"batch_id":"b","run":true}', "run: a whole number should stand there, not true"),
    ],
)
def test_what_is_no_record_is_said_to_be_none(data: bytes, said: str) -> None:
    with pytest.raises(MalformedError) as caught:
        decode(RunName, data)
    assert str(caught.value).startswith(said)


def test_a_verdict_that_nobody_knows_is_named() -> None:
    with pytest.raises(MalformedError, match='verdict: "sideways" is none of ok, data, code'):
        decode(Outcome, b'{"verdict":"sideways","seconds":1}')

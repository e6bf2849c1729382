"""Records of the exchange survive encoding, and unknown fields are ignored."""

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


MALFORMED = {
    b"": "It is not JSON",
    b"[]": "The document: an object should stand there, not []",
    b'{"batch_id":"b"}': "run: it is missing",
    b'{"batch_id":"b","run":"1"}': 'run: a whole number should stand there, not "1"',
    b'{"batch_id":"b","run":true}': "run: a whole number should stand there, not true",
}


def test_a_record_survives_encoding_and_unknown_fields_are_ignored() -> None:
    for record in (HANDED, OUTCOME, DESCRIPTION, RunName("b", 1)):
        assert decode(type(record), encode(record)) == record
    facts = json.loads(encode(HANDED)) | {"colour": "red"}
    facts["name"]["priority"] = 7
    assert decode(Handed, json.dumps(facts).encode()) == HANDED


def test_malformed_records_are_refused_with_the_field(subtests: pytest.Subtests) -> None:
    for data, report in MALFORMED.items():
        with subtests.test(report), pytest.raises(MalformedError) as caught:
            decode(RunName, data)
        assert str(caught.value).startswith(report)
    with pytest.raises(MalformedError, match='verdict: "sideways" is none of ok, data, code'):
        decode(Outcome, b'{"verdict":"sideways","seconds":1}')

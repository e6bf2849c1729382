"""Records of the exchange: unknown fields are ignored, malformed ones refused. test_client.py sends whole records."""

import json

import pytest

from penstock_worker.exchange.codec import decode, encode
from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.typed import MalformedError
from tests.worker.driver.driving import handed

MALFORMED = {
    b"": "It is not JSON",
    b"[]": "The document: an object should stand there, not []",
    b'{"batch_id":"b"}': "run: it is missing",
    b'{"batch_id":"b","run":"1"}': 'run: a whole number should stand there, not "1"',
    b'{"batch_id":"b","run":true}': "run: a whole number should stand there, not true",
}


def test_unknown_fields_are_ignored() -> None:
    batch = handed("ORDERS")
    facts = json.loads(encode(batch)) | {"colour": "red"}
    facts["name"]["priority"] = 7
    assert decode(Handed, json.dumps(facts).encode()) == batch


def test_malformed_records_are_refused_with_the_field(subtests: pytest.Subtests) -> None:
    for data, report in MALFORMED.items():
        with subtests.test(report), pytest.raises(MalformedError) as caught:
            decode(RunName, data)
        assert str(caught.value).startswith(report)
    with pytest.raises(MalformedError, match='verdict: "sideways" is none of ok, data, code'):
        decode(Outcome, b'{"verdict":"sideways","seconds":1}')

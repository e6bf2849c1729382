"""Errors of the server: the type to catch, the sentence to read, and the advice."""

import re

import pytest

from penstock_jetstream import errors
from penstock_jetstream.errors import ApiError, ConsumeError, ErrorCode, JetStreamError, Kind, api_error
from penstock_jetstream.errors.advice import ADVICE
from penstock_jetstream.errors.kinds import CONFLICT, MISSING, RETRYABLE, kind_of

NAMED_IN_THE_REQUIREMENTS = {
    *(10005, 10008, 10012, 10025, 10049, 10052, 10055, 10056, 10058, 10065, 10069, 10074, 10084, 10086, 10088, 10089),
    *(10098, 10099, 10100, 10101, 10108, 10113, 10116, 10123, 10124, 10126, 10131, 10132, 10134, 10136, 10137, 10138),
    *(10148, 10149, 10157, 10159, 10160, 10162, 10165, 10166, 10178, 10185, 10196, 10197, 10204, 10226),
}


def answer(err_code: int, code: int = 400, description: str = "because") -> ApiError:
    error = {"code": code, "err_code": err_code, "description": description}
    return api_error(error, operation="updated", object="stream ORDERS")


def test_every_code_of_the_newest_server_is_known_and_those_that_the_requirements_name_have_advice() -> None:
    assert {*ErrorCode} == {*range(10002, 10229)}
    assert {*ADVICE} >= NAMED_IN_THE_REQUIREMENTS
    assert [code.name for code, advice in ADVICE.items() if not re.fullmatch(r"[A-Za-z_].*\.", advice)] == []
    exported = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert all(issubclass(each, JetStreamError) for each in exported)


def test_an_error_says_what_happened_why_and_what_to_do() -> None:
    error = answer(10052, 500, "stream configuration update can not change storage type")
    assert str(error) == (
        "Stream ORDERS could not be updated: “stream configuration update can not change storage type” "
        "(err_code 10052). Change the configuration as the reason says; repeating it does not help."
    )
    assert (error.object, error.operation) == ("stream ORDERS", "updated")
    assert (error.code, error.err_code) == (500, ErrorCode.STREAM_INVALID_CONFIG)


KINDS: dict[Kind, tuple[type[ApiError], tuple[int, ...]]] = {
    Kind.PERMANENT: (errors.PermanentError, (10052, 10012, 10069, 10074, 19999)),
    Kind.RETRYABLE: (errors.RetryableError, (10005, 10008, 10049)),
    Kind.MISSING: (errors.MissingError, (10059, 10014, 10149)),
    Kind.CONFLICT: (errors.ConflictError, (10071, 10148)),
}


def test_only_the_error_code_decides_the_kind_and_type_of_an_error(subtests: pytest.Subtests) -> None:
    for kind, (caught_as, err_codes) in KINDS.items():
        for err_code in err_codes:
            with subtests.test(err_code=err_code):
                for misleading in (400, 404, 500, 503):
                    error = answer(err_code, misleading)
                    assert (error.kind, type(error)) == (kind, caught_as)
    assert not RETRYABLE & MISSING | MISSING & CONFLICT | CONFLICT & RETRYABLE
    assert {kind_of(code) for code in ErrorCode} == {*Kind}


def test_a_malformed_error_is_still_an_error_and_a_very_long_one_is_cut(subtests: pytest.Subtests) -> None:
    cases: list[object] = [
        None,
        "broken",
        [],
        {},
        {"code": "400", "err_code": "10059"},
        {"err_code": None, "description": 7},
        {"err_code": True},
        {"err_code": 10**30, "description": {"not": "text"}},
    ]
    for malformed in cases:
        with subtests.test(str(malformed)):
            error = api_error(malformed, operation="created", object="consumer etl of stream ORDERS")
            assert str(error).startswith("Consumer etl of stream ORDERS could not be created")
            assert error.kind is Kind.PERMANENT
    long = answer(10025, description="x" * 1_000_000)
    assert len(str(long)) < 1_000
    assert len(long.description) == 1_000_000


def test_an_error_of_a_consumption_names_the_consumer_and_has_advice(subtests: pytest.Subtests) -> None:
    where = {"stream": "ORDERS", "consumer": "etl"}
    cases: list[ConsumeError] = [
        errors.ConsumerDeletedError(**where),
        errors.PushBasedError(**where),
        errors.BadRequestError("Bad Request - heartbeat value too large", **where),
        errors.RequestRefusedError("Exceeded MaxRequestBatch of 2", **where),
        errors.RequestLostError("Leadership Change", **where),
        errors.MessageTooLargeError(**where, max_bytes=250),
        errors.NoLeaderOrMissingError(**where),
        errors.RequiredLevelError(**where),
        errors.UnknownStatusError(499, "Teapot", **where),
        errors.HeartbeatMissedError(**where, silent_seconds=30.0),
    ]
    for error in cases:
        with subtests.test(type(error).__name__):
            assert (error.stream, error.consumer) == ("ORDERS", "etl")
            assert "consumer etl of stream ORDERS" in str(error).replace("Consumer", "consumer")
            assert error.advice

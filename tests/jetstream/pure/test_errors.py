"""What an error of the server becomes: a type to catch, a sentence to read, and something to do."""

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


def test_every_code_of_the_newest_server_is_known() -> None:
    assert {*ErrorCode} == {*range(10002, 10229)}


def test_an_error_says_what_where_why_and_what_to_do() -> None:
    error = answer(10052, 500, "stream configuration update can not change storage type")
    assert str(error) == (
        "Stream ORDERS could not be updated: “stream configuration update can not change storage type” "
        "(err_code 10052). Change the configuration as the reason says; repeating it does not help."
    )
    assert (error.object, error.operation) == ("stream ORDERS", "updated")
    assert (error.code, error.err_code) == (500, ErrorCode.STREAM_INVALID_CONFIG)


@pytest.mark.parametrize(
    ("err_code", "kind", "caught_as"),
    [
        (10052, Kind.PERMANENT, errors.PermanentError),
        (10012, Kind.PERMANENT, errors.PermanentError),
        (10069, Kind.PERMANENT, errors.PermanentError),
        (10074, Kind.PERMANENT, errors.PermanentError),
        (10005, Kind.RETRYABLE, errors.RetryableError),
        (10008, Kind.RETRYABLE, errors.RetryableError),
        (10049, Kind.RETRYABLE, errors.RetryableError),
        (10059, Kind.MISSING, errors.MissingError),
        (10014, Kind.MISSING, errors.MissingError),
        (10149, Kind.MISSING, errors.MissingError),
        (10071, Kind.CONFLICT, errors.ConflictError),
        (10148, Kind.CONFLICT, errors.ConflictError),
        (19999, Kind.PERMANENT, errors.PermanentError),
    ],
)
def test_only_the_error_code_decides_how_an_error_is_met(err_code: int, kind: Kind, caught_as: type[ApiError]) -> None:
    for misleading in (400, 404, 500, 503):
        error = answer(err_code, misleading)
        assert error.kind is kind
        assert type(error) is caught_as


def test_no_code_is_of_two_kinds() -> None:
    assert not RETRYABLE & MISSING
    assert not MISSING & CONFLICT
    assert not CONFLICT & RETRYABLE
    assert {kind_of(code) for code in ErrorCode} == {*Kind}


def test_every_code_that_the_requirements_name_comes_with_advice() -> None:
    assert {*ADVICE} >= NAMED_IN_THE_REQUIREMENTS


def test_advice_is_sentences() -> None:
    for code, advice in ADVICE.items():
        assert re.fullmatch(r"[A-Za-z_].*\.", advice), code.name


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        "broken",
        [],
        {},
        {"code": "400", "err_code": "10059"},
        {"err_code": None, "description": 7},
        {"err_code": True},
        {"err_code": 10**30, "description": {"not": "text"}},
    ],
)
def test_a_malformed_error_is_still_an_error(malformed: object) -> None:
    error = api_error(malformed, operation="created", object="consumer etl of stream ORDERS")
    assert str(error).startswith("Consumer etl of stream ORDERS could not be created")
    assert error.kind is Kind.PERMANENT


def test_a_description_without_end_is_cut() -> None:
    error = answer(10025, description="x" * 1_000_000)
    assert len(str(error)) < 1_000
    assert len(error.description) == 1_000_000


WHERE = {"stream": "ORDERS", "consumer": "etl"}


@pytest.mark.parametrize(
    "error",
    [
        errors.ConsumerDeletedError(**WHERE),
        errors.PushBasedError(**WHERE),
        errors.BadRequestError("Bad Request - heartbeat value too large", **WHERE),
        errors.RequestRefusedError("Exceeded MaxRequestBatch of 2", **WHERE),
        errors.RequestLostError("Leadership Change", **WHERE),
        errors.MessageTooLargeError(**WHERE, max_bytes=250),
        errors.NoLeaderOrMissingError(**WHERE),
        errors.RequiredLevelError(**WHERE),
        errors.UnknownStatusError(499, "Teapot", **WHERE),
        errors.HeartbeatMissedError(**WHERE, silent_seconds=30.0),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_troubles_a_consumption_names_the_consumer_and_what_to_do(error: ConsumeError) -> None:
    assert (error.stream, error.consumer) == ("ORDERS", "etl")
    assert "consumer etl of stream ORDERS" in str(error).replace("Consumer", "consumer")
    assert error.advice


def test_every_error_is_exported_and_belongs_to_the_family() -> None:
    classes = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert all(issubclass(each, JetStreamError) for each in classes)

"""Sessions of both kinds, for tests that must hold in both; Connect, a second JVM, is in the full tier."""

from collections.abc import Iterator

import pytest
from pyspark.sql.connect.session import SparkSession


@pytest.fixture
def connect_session(spark_connect: str) -> Iterator[SparkSession]:
    """A new session on the shared Connect server."""
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - slow to import

    session = SparkSession.builder.remote(spark_connect).create()
    yield session
    session.stop()


@pytest.fixture(params=["spark", pytest.param("connect_session", marks=pytest.mark.full)])
def session(request: pytest.FixtureRequest) -> SparkSession:
    """Each of the two kinds of session."""
    session: SparkSession = request.getfixturevalue(request.param)
    return session

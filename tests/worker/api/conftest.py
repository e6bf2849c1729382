"""Sessions of both kinds, for what must be the same in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.connect.session import SparkSession


@pytest.fixture
def connect_session(spark_connect: str) -> Iterator[SparkSession]:
    """A session of its own on the Connect server."""
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - slow to import

    session = SparkSession.builder.remote(spark_connect).create()
    yield session
    session.stop()

"""Rows of a DataFrame as messages to be published, each with an id that is the same whenever the batch runs again.

Knows what a frame must have to become messages, and how ids are made. Does not publish: the engine does, before it
settles the batch, and JetStream takes each id once.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock_worker.api.session import functions
from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.policy.subjects import reserved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame

BESIDES = ("subject", "headers", "stream", "seq", "timestamp", "delivered")
"""The batch's own columns: not part of a payload that is made of the row."""
DIGEST_LETTERS = 16


def outgoing(df: DataFrame, subject: str | Column, data: str | Column | None, headers: Column | None) -> list[Any]:
    """Read a frame's messages: one job. A subject is a text for all of them, or a column."""
    f = functions(df.sparkSession)
    payload = _payload(df, data, f)
    columns = [
        (f.lit(subject) if isinstance(subject, str) else subject).cast("string").alias("subject"),
        payload.cast("binary").alias("data"),
        (f.lit(None) if headers is None else headers).cast("map<string,array<string>>").alias("headers"),
        (f.col("seq") if "seq" in df.columns else f.lit(None)).cast("long").alias("seq"),
    ]
    rows: list[Any] = df.select(*columns).toArrow().to_pylist()
    for row in rows:
        _check(row)
    return rows


def _payload(df: DataFrame, data: str | Column | None, f: Any) -> Column:  # noqa: ANN401 - a module of pyspark
    if data is not None:
        return f.col(data) if isinstance(data, str) else data
    names = [f"`{name}`" for name in df.columns if name not in BESIDES]
    if not names:
        raise ValueError(
            "The DataFrame to send has no column besides the batch's own: add some, which become the JSON payload, or "
            "name the payload's column by data=."
        )
    payload: Column = f.to_json(f.struct(*names))
    return payload


def _check(row: dict[str, Any]) -> None:
    for column in ("subject", "data"):
        if row[column] is None:
            place = "" if row["seq"] is None else f" (message {row['seq']})"
            raise ValueError(f"A row to send has no {column}{place}: filter it, or give a column that is never null.")
    if not row["subject"] or any(letter in row["subject"] for letter in " \t\r\n*>"):
        raise ValueError(f"{row['subject']!r} is no subject to send to: it is empty, or has a space or a wildcard.")
    if fault := reserved(row["subject"]):
        raise ValueError(fault)


def with_ids(rows: Iterable[dict[str, Any]], consumer: str, batch_id: str, call: int) -> pa.Table:
    """Return the rows as OUTGOING.

    A row that is of one message is named by that message, so that its id outlives a batch that is put together anew.
    Any other is named by the batch and by what it says. `call` tells the calls of one run apart. Equal rows, and
    several of one message, are counted in the order of their content: Spark's order is not the same every time.
    """
    named = list(_named(rows, f"{consumer}:{call}", f"{batch_id}:{call}"))
    return pa.Table.from_pylist([{**row, "message_id": name} for row, name in named], schema=OUTGOING)


def _named(rows: Iterable[dict[str, Any]], of_message: str, of_batch: str) -> Iterator[tuple[dict[str, Any], str]]:
    seen: dict[str, int] = {}
    for content, row in sorted(((_digest(row), row) for row in rows), key=lambda pair: pair[0]):
        name = f"{of_batch}:{content}" if row["seq"] is None else f"{of_message}:{row['seq']}"
        count = seen[name] = seen.get(name, -1) + 1
        yield row, f"{name}:{count}" if count else name


def _digest(row: dict[str, Any]) -> str:
    said = repr((row["subject"], row["data"], sorted(row["headers"] or ()))).encode()
    return hashlib.sha256(said).hexdigest()[:DIGEST_LETTERS]

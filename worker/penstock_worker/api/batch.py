"""The batch that a user's function is given beside its DataFrame.

Knows the batch's facts, and gathers what the function decided about it. Each helper's work is in a module of its own.
Does not know who calls the function: the driver makes a Batch for every run, calls `process(df, batch)`, and then
either `finish()` or `abandon()`; so does `penstock_worker.testing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

import pyarrow as pa

from penstock_worker.api.exceptions import Retry
from penstock_worker.api.jdbc import How, JdbcTable
from penstock_worker.api.parsing import KEPT, Documents, Format, Parsed, Wanted, schema_of
from penstock_worker.api.rejections import Rejections, reasons_in
from penstock_worker.api.sending import outgoing, with_ids
from penstock_worker.api.session import is_frame
from penstock_worker.api.staging import StagedFiles
from penstock_worker.api.tokens import delta_options, iceberg_options, in_iceberg
from penstock_worker.exchange.columns import OUTGOING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock_worker.exchange.records import Handed
    from penstock_worker.policy.outcome import Rejection
    from penstock_worker.policy.ranges import Range


@dataclass(frozen=True, slots=True)
class Finished:
    """What a function that returned leaves to the driver."""

    rejections: tuple[Rejection, ...]
    outgoing: pa.Table
    """As exchange.columns.OUTGOING."""


class Batch:
    """Messages that are processed together: either all of them are done, or none, but for those that are rejected.

    It is no number, and has none that only rises: nothing of it may serve as Delta's txnVersion but `delta()`.
    """

    def __init__(self, handed: Handed, spark: SparkSession, deadline: datetime) -> None:
        self._handed = handed
        self._spark = spark
        self._deadline = deadline
        self._rejections = Rejections(handed.ranges)
        self._parsed: list[Parsed] = []
        self._files = StagedFiles(spark, (self.id, *self.ancestors))
        self._outgoing: list[pa.Table] = []
        self._written: set[tuple[str, str, str]] = set()
        """By `jdbc`: URL, table and name."""
        self._tables: list[JdbcTable] = []
        self._earlier: list[dict[int, str]] = []
        """What was rejected by attempts whose files the function asked for: it may do nothing more then."""

    @property
    def id(self) -> str:
        """STREAM.CONSUMER.FIRST-LAST.DIGEST: the same whenever these very messages of this consumer are tried again."""
        return self._handed.name.batch_id

    @property
    def ancestors(self) -> tuple[str, ...]:
        """Ids of batches that had all of these messages: they failed, or were lost, and this batch was cut from them.

        A sink that has one of them has these messages. It is empty for almost all batches.
        """
        return self._handed.ancestors

    @property
    def stream(self) -> str:
        return self._handed.stream

    @property
    def consumer(self) -> str:
        return self._handed.consumer

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The messages' sequences in the stream, as pairs of first and last."""
        return self._handed.ranges

    @property
    def first_seq(self) -> int:
        return self.ranges[0][0]

    @property
    def last_seq(self) -> int:
        return self.ranges[-1][1]

    @property
    def count(self) -> int:
        """How many messages."""
        return self._handed.count

    @property
    def bytes(self) -> int:
        """How large all their payloads are."""
        return self._handed.bytes

    @property
    def attempt(self) -> int:
        """1 the first time, and one more whenever these messages are tried again."""
        return self._handed.attempt

    @property
    def redelivered(self) -> bool:
        """Whether the server delivered some of them before: their effects may be there already."""
        return self._handed.redelivered

    @property
    def deadline(self) -> datetime:
        """When this run is cancelled if it is not over; with a time zone."""
        return self._deadline

    @property
    def spark(self) -> SparkSession:
        """The session that the DataFrame is of."""
        return self._spark

    def parse(
        self,
        df: DataFrame,
        schema: str | StructType,
        format: Format = "json",  # noqa: A002 - Spark's word for it
        *,
        keep: Sequence[str] = KEPT,
        into: str | None = None,
        documents: Documents = "one",
        options: Mapping[str, str] | None = None,
    ) -> DataFrame:
        """Return the messages whose payload fits the schema, as columns; the others are rejected, each with a reason.

        Never fails for a row. A field that is missing is null, and makes the message bad only if the schema says NOT
        NULL. The columns in `keep` stay beside the fields, so that each row can be traced and rejected; `into` puts
        the fields into one struct column instead. A payload has one document; with `documents="many"` it has one in
        each line (NDJSON), and as many rows: if one of them is bad, all of its message is rejected. `options` are
        Spark's for the format, such as timestampFormat.

        Bad rows are told while your own job reads the frame: that costs no job. Only if it did not read all of it (you
        filtered before parsing, or took a few rows), the rows are parsed once more after the function.
        """
        wanted = Wanted(
            schema=schema_of(schema, self._spark),
            format=format,
            documents=documents,
            keep=keep,
            into=into,
            options=options or {},
        )
        parsed = Parsed(df, wanted)
        self._parsed.append(parsed)
        return parsed.rows()

    @property
    def rejected(self) -> dict[int, str]:
        """The messages rejected so far, by sequence. Before your own job over parsed rows this costs a job."""
        self._settle_parsed()
        return self._rejections.reasons

    def reject(self, messages: DataFrame | Iterable[int], reason: str | Column) -> None:
        """Put these messages into the dead letters, with the reason, once the function has returned.

        Give sequences, or a frame with the column seq, which is read at once; then the reason may be one of its
        columns. They are not taken out of any frame of yours.
        """
        if is_frame(messages):
            self._rejections.add(reasons_in(messages, reason))
        elif isinstance(reason, str):
            self._rejections.add_all(cast("Iterable[int]", messages), reason)
        else:
            raise TypeError("A reason that is a column goes with a DataFrame: give a text for sequences.")

    def retry(self, after_seconds: float | None = None, reason: str = "asked for by the code") -> NoReturn:
        """End this run here, and have all of the batch tried again."""
        raise Retry(reason, after_seconds=after_seconds)

    def path(self, base: str) -> str:
        """Return a folder to write files to; they appear as BASE/batch=ID in one step once the function has returned.

        Each base has one folder, to be written once. If the place is taken, an earlier attempt at this batch has
        published: its files stay, and these are dropped. So write what depends on the batch alone.
        """
        return self._files.folder(base)

    def delta(self, name: str = "") -> dict[str, str]:
        """Return options by which an append to a Delta table is made once, however often the batch is run.

        For `df.write.format("delta").options(**batch.delta())`. Give names where a batch writes to one table twice.
        """
        return delta_options(self.id, name)

    def iceberg(self) -> dict[str, str]:
        """Return options by which an Iceberg snapshot says of which batch it is, for `already_done(iceberg=…)`."""
        return iceberg_options(self.id)

    def jdbc(
        self,
        df: DataFrame,
        url: str,
        table: str,
        *,
        name: str = "",
        properties: Mapping[str, str] | None = None,
        on_conflict: str | None = None,
    ) -> bool:
        """Append rows to a database's table, once however often the batch is run; False if they were there already.

        They are staged at once. When the function has returned, one transaction adds them, and a line in the table
        penstock_batches, which is made if it is not there: if an earlier attempt has done so meanwhile, its rows stay.
        Give names where a batch writes to one table several times: a second write of the same name is refused.
        `properties` are Spark's for JDBC: user, password, driver. `on_conflict`, where the database knows it, is what
        follows ON CONFLICT, such as "(stream, seq) DO NOTHING". The target must exist, and the driver's jar must be
        in spark.jars or spark.jars.packages. Not through Spark Connect.
        """
        target = (url, table, name)
        if target in self._written:
            known = f"by the name {name!r}" if name else "without a name"
            raise ValueError(
                f"The batch has written to {table} {known} already, and a second write would be taken for a repetition "
                'of that: give each its own, as in batch.jdbc(…, name="refunds"), or write all rows at once.'
            )
        self._written.add(target)
        rows = JdbcTable(df, url, table, How(properties or {}, on_conflict, name), (self.id, *self.ancestors))
        self._tables.append(rows)
        return rows.stage()

    def already_done(self, *, path: str | None = None, iceberg: str | None = None) -> bool:
        """Tell whether a sink has these messages from an earlier attempt: files under a base, or an Iceberg table.

        Of two attempts that overlap, both may be told no: for tables where that matters, MERGE on stream and seq. A
        folder has what the earlier attempt rejected, which is rejected again; of a table that is not known, so parse
        and reject before you ask for one.
        """
        if path is not None:
            earlier = self._files.published(path)
            if earlier is not None:
                self._earlier.append(earlier)
            return earlier is not None
        if iceberg is not None:
            return in_iceberg(self._spark, iceberg, (self.id, *self.ancestors))
        raise TypeError("Say which sink is asked: already_done(path=…) or already_done(iceberg=…).")

    def send(
        self,
        df: DataFrame,
        subject: str | Column,
        data: str | Column | None = None,
        *,
        headers: Column | None = None,
    ) -> int:
        """Have rows published as messages before the batch is settled, and return how many; the frame is read at once.

        The payload is the column `data` names, or else JSON of all columns but the batch's own. Each message has an
        id by which JetStream takes it once within the stream's duplicate window: of the row's seq where the frame has
        that column, else of the batch and the content.
        """
        rows = outgoing(df, subject, data, headers)
        self._outgoing.append(with_ids(rows, self._named_messages, self.id, len(self._outgoing)))
        return len(rows)

    @property
    def _named_messages(self) -> str:
        """Return what stands before a sequence in the ids of messages that are sent."""
        made = self._handed.incarnation
        return f"{self.stream}:{self.consumer}{made and f':{made}'}"

    def finish(self) -> Finished:
        """Make good what the function asked for, now that it has returned: for its caller."""
        self._settle_parsed()
        to_send = pa.concat_tables([OUTGOING.empty_table(), *self._outgoing])
        rejected = self._rejections.reasons
        earlier = [*self._earlier, *self._files.publish(rejected), *(table.publish(rejected) for table in self._tables)]
        self._drop()
        return Finished(self._rejections.known(earlier), to_send)

    def abandon(self) -> None:
        """Drop what was staged, now that the function has failed or was cancelled: for its caller."""
        self._drop()

    def _drop(self) -> None:
        self._files.drop()
        while self._tables:
            self._tables.pop().drop()

    def _settle_parsed(self) -> None:
        while self._parsed:
            self._rejections.add(self._parsed[-1].refused(self.count))
            self._parsed.pop()

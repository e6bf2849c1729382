"""What a user's code wants published, as publishers need it. Pure; knows the columns of OUTGOING."""

from collections.abc import Iterator

import pyarrow as pa

from penstock_worker.engine.publishing import CannotPublishError, Draft
from penstock_worker.policy.subjects import reserved


def drafts(table: pa.Table) -> Iterator[Draft]:
    """Go through the messages of a table."""
    for batch in table.to_batches():
        columns = (batch.column(name).to_pylist() for name in ("subject", "data", "headers", "message_id"))
        for subject, data, headers, message_id in zip(*columns, strict=True):
            if fault := reserved(subject):  # the driver has checked it, and runs the user's code
                raise CannotPublishError(fault)
            yield Draft(subject, data, dict(headers or ()), message_id)

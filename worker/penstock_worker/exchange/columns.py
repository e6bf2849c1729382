"""The columns of a batch on its way to the driver, which are those of the DataFrame that the user's function gets.

Knows names and types.
"""

import pyarrow as pa

COLUMNS = pa.schema(
    [
        pa.field("subject", pa.string(), nullable=False),
        pa.field("data", pa.binary(), nullable=False),
        pa.field("headers", pa.map_(pa.string(), pa.list_(pa.string()))),
        pa.field("stream", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("delivered", pa.int32(), nullable=False),
    ]
)
"""Spark has microseconds; the server's nanoseconds are cut. Headers are null where a message has none."""

OUTGOING = pa.schema(
    [
        pa.field("subject", pa.string(), nullable=False),
        pa.field("data", pa.binary(), nullable=False),
        pa.field("headers", pa.map_(pa.string(), pa.list_(pa.string()))),
        pa.field("message_id", pa.string(), nullable=False),
    ]
)
"""Messages that the code wants published. The id is the same whenever the batch is run again, so that the server takes
each once."""

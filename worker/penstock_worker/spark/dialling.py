"""Finding out at once that nobody listens where a server of Spark's is to be: Spark and gRPC would try for a minute.

Knows sockets. Does not know what the servers speak.
"""

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock_worker.spark.problems import CannotStartError

if TYPE_CHECKING:
    from penstock_worker.spark.master import Address

DIAL_SECONDS = 5.0


def dial(address: "Address", what: str) -> None:
    """Raise a CannotStartError if nobody listens. `what` is the server, in words."""
    try:
        socket.create_connection((address.host.strip("[]"), address.port), timeout=DIAL_SECONDS).close()
    except OSError as problem:
        sentence = f"No {what} is reached at {address.endpoint}: {problem.strerror or problem}."
        raise CannotStartError(sentence, is_permanent=False) from problem


def dial_any(addresses: Sequence["Address"], what: str) -> None:
    """Raise a CannotStartError if nobody listens at any of these."""
    problems = []
    for address in addresses:
        try:
            dial(address, what)
        except CannotStartError as problem:
            problems.append(str(problem))
        else:
            return
    raise CannotStartError(" ".join(problems), is_permanent=False)

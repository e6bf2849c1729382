"""The user's own modules, sent along with each function of theirs that Spark runs elsewhere.

Knows pyspark's pickling: a function of a module is sent by name only, and a cluster or Connect server cannot import
what is on our disk. Libraries are not sent: they have to be there.
"""

from collections.abc import Iterable
from types import ModuleType


def ship(modules: Iterable[ModuleType]) -> None:
    """Have functions of these modules sent whole."""
    from pyspark import cloudpickle  # noqa: PLC0415 - slow to import

    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]

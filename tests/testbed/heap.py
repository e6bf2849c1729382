"""Garbage collections that take no longer than in a process of the product's own."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_heap() -> Iterator[None]:
    """Keep what is there by now, as all that other tests left in this process, out of the collections of a block."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

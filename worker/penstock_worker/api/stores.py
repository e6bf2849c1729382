"""Where files can be published in one step: file systems that rename a folder, and refuse if its new name is taken.

Knows the machine's own files, and HDFS and its kin through the JVM. Does not know batches. An object store has no such
step: it copies object by object, so that readers see halves and two attempts mix; it is refused, with what to do.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from penstock_worker.api.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("penstock.worker")
RENAMING = ("hdfs",)
"""Schemes of file systems whose rename is one step in one place. In Azure and Google only some accounts can; behind
viewfs may be an object store, and so may be behind ofs."""

UNSYNCABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES})
"""What a volume answers that cannot sync folders, or holds files that executors wrote as another user."""


class PublishError(RuntimeError):
    """Files of a batch cannot be put in their place."""


class Store(Protocol):
    """What staging needs of a file system."""

    def exists(self, place: str) -> bool: ...

    def make(self, folder: str) -> None:
        """Make a folder, and those above it."""

    def move(self, folder: str, place: str) -> bool:
        """Rename a folder in one step; False if the new name is taken."""

    def remove(self, folder: str) -> None:
        """Remove a folder with all that is in it, if it is there."""

    def write(self, place: str, data: bytes) -> None:
        """Write a file, unless its folder is not there."""

    def read(self, place: str) -> bytes | None:
        """Return what is in a file, or None if it is not there."""


def address_of(base: str) -> str:
    """Return a folder with its scheme: a plain path is a file of this machine, whatever Spark's default is."""
    scheme = urlsplit(base).scheme
    plain = base if not scheme else _path(base) if scheme == "file" else None
    return base.rstrip("/") if plain is None else f"file://{Path(plain).absolute()}"


def store_of(base: str, spark: SparkSession) -> Store:
    """Return the file system of a folder that has its scheme, or say why nothing can be published there."""
    scheme = urlsplit(base).scheme
    if scheme == "file":
        return LocalFiles()
    if scheme not in RENAMING:
        raise ValueError(
            f"Files cannot be published under {base}: {scheme} has no rename that is one step and fails where the name "
            "is taken, so two attempts at a batch could mix. Write a Delta or Iceberg table there, with batch.delta() "
            "or batch.iceberg(); or write with mode('overwrite') to a folder named by batch.id, which may double or "
            "break its rows if attempts overlap."
        )
    if is_connect(spark):
        raise ValueError(
            f"Files cannot be published under {base} through Spark Connect: its client reaches no Hadoop file system. "
            "Write a Delta or Iceberg table, with batch.delta() or batch.iceberg(), or use a classic master."
        )
    return HadoopFiles(spark, base)


class LocalFiles:
    """Files of this machine, or of a volume that the driver and all executors see at the same path."""

    def exists(self, place: str) -> bool:
        return _path(place).exists()

    def make(self, folder: str) -> None:
        _path(folder).mkdir(parents=True, exist_ok=True)

    def move(self, folder: str, place: str) -> bool:
        """Have the files on the disk before they get their name: the acknowledgements follow at once."""
        try:
            for found, _, files in os.walk(_path(folder)):
                for name in files:
                    _sync(Path(found, name))
                _sync(Path(found))
            _path(folder).rename(_path(place))
            _sync(_path(place).parent)
        except OSError as problem:
            if problem.errno in (errno.ENOTEMPTY, errno.EEXIST) or self.exists(place):
                return False
            if problem.errno == errno.ENOENT:
                raise PublishError(
                    f"Nothing was written to {folder} that this process sees. Write to what batch.path() returned; if "
                    "Spark runs on other machines, its base must be on a volume that all of them see at the same path."
                ) from problem
            raise
        return True

    def remove(self, folder: str) -> None:
        try:
            shutil.rmtree(_path(folder))
        except FileNotFoundError:
            return
        except OSError as problem:  # an attempt that overlaps is still writing there: it removes its own
            log.warning("%s is left behind: %s", folder, problem)

    def write(self, place: str, data: bytes) -> None:
        with suppress(FileNotFoundError):
            _path(place).write_bytes(data)

    def read(self, place: str) -> bytes | None:
        try:
            return _path(place).read_bytes()
        except FileNotFoundError:
            return None


def _sync(path: Path) -> None:
    """Have what is in a file, or which names are in a folder, survive a power failure."""
    try:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as problem:
        if problem.errno not in UNSYNCABLE:
            raise


def _path(address: str) -> Path:
    """Return the path in a file: address, which Hadoop does not percent-decode."""
    return Path("/" + address.removeprefix("file:").lstrip("/"))


class HadoopFiles:
    """A file system that the JVM reaches."""

    def __init__(self, spark: SparkSession, base: str) -> None:
        session: Any = spark
        self._gateway = session.sparkContext._gateway  # noqa: SLF001 - pyspark shows its JVM nowhere else
        self._hadoop = self._gateway.jvm.org.apache.hadoop.fs
        conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - with the session's settings
        self._files = self._hadoop.FileContext.getFileContext(self._hadoop.Path(base).toUri(), conf)

    def exists(self, place: str) -> bool:
        return bool(self._files.util().exists(self._hadoop.Path(place)))

    def make(self, folder: str) -> None:
        create_parents = True
        permission = self._gateway.jvm.org.apache.hadoop.fs.permission.FsPermission.getDirDefault()
        self._files.mkdir(self._hadoop.Path(folder), permission, create_parents)

    def move(self, folder: str, place: str) -> bool:
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

        no_options = self._gateway.new_array(getattr(self._hadoop, "Options$Rename"), 0)
        try:
            self._files.rename(self._hadoop.Path(folder), self._hadoop.Path(place), no_options)
        except Py4JJavaError:
            if self.exists(place):
                return False
            if not self.exists(folder):
                raise PublishError(f"Nothing was written to {folder}: write to what batch.path() returned.") from None
            raise
        return True

    def remove(self, folder: str) -> None:
        recursive = True
        if self.exists(folder):
            self._files.delete(self._hadoop.Path(folder), recursive)

    def write(self, place: str, data: bytes) -> None:
        if not self.exists(place.rpartition("/")[0]):
            return
        flags = self._gateway.jvm.java.util.EnumSet.of(self._hadoop.CreateFlag.CREATE)
        options = self._gateway.new_array(getattr(self._hadoop, "Options$CreateOpts"), 0)
        stream = self._files.create(self._hadoop.Path(place), flags, options)
        stream.write(data)
        stream.close()

    def read(self, place: str) -> bytes | None:
        if not self.exists(place):
            return None
        stream = self._files.open(self._hadoop.Path(place))
        data = bytes(stream.readAllBytes())
        stream.close()
        return data

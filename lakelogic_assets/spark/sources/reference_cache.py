"""Reference data that several contracts of one run look things up in is read once.

Every contract runs in a session of its own, and what Spark keeps is kept for all sessions: a plan that equals a kept
one is answered from it. So the first contract that needs a link loads it, types and all, and keeps its rows in memory,
on disk where they do not fit. The others get a frame of the same plan in their own session.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from types import TracebackType

from py4j.protocol import Py4JNetworkError
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import column


@dataclass(frozen=True)
class Reference:
    """What is read and how, and which state of it: `identity` changes whenever the data does."""

    what: Hashable
    identity: str


@dataclass
class _Entry:
    identity: str
    frame: DataFrame | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class ReferenceCache:
    """The links of one run. Contracts that run side by side may share it; `close` gives all memory back."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._entries: dict[Hashable, _Entry] = {}
        self._outdated: list[DataFrame] = []
        self.loads = 0
        """How often something was really read."""

    def __enter__(self) -> ReferenceCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def frame(
        self, session: SparkSession, reference: Reference, load: Callable[[SparkSession], DataFrame]
    ) -> DataFrame:
        """The rows of a reference in a session; `load` reads them when nobody has before."""
        entry = self._entry(reference)
        with entry.lock:
            if entry.frame is None:
                # A session of its own, so that views which a query needs are in nobody's way.
                entry.frame = self._kept(load(self._spark.newSession()))
        return _in_session(entry.frame, session)

    def _entry(self, reference: Reference) -> _Entry:
        with self._lock:
            found = self._entries.get(reference.what)
            if found is not None and found.identity == reference.identity:
                return found
            if found is not None and found.frame is not None:
                # A contract that still reads the older state keeps a frame of it, and reads it anew if it must.
                self._outdated.append(found.frame)
            self._entries[reference.what] = made = _Entry(reference.identity)
            outdated, self._outdated = self._outdated, []
        for frame in outdated:
            frame.unpersist()
        return made

    def _kept(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        # All of it now: two contracts that begin at once would otherwise both read, and files may change in between.
        kept.count()
        with self._lock:
            self.loads += 1
        return kept

    def close(self) -> None:
        """Forget everything; a JVM that has died has forgotten it already."""
        with self._lock:
            frames = [entry.frame for entry in self._entries.values() if entry.frame is not None] + self._outdated
            self._entries, self._outdated = {}, []
        for frame in frames:
            with contextlib.suppress(Py4JNetworkError, OSError, EOFError):
                frame.unpersist()


class RunReferences:
    """The cache of the run that goes on now; a new run, or a new JVM, begins with nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run_id: str | None = None
        self._spark: SparkSession | None = None
        self._cache: ReferenceCache | None = None

    def of(self, run_id: str, spark: SparkSession) -> ReferenceCache | None:
        """None where sessions cannot read what another one keeps."""
        if not driver_of(spark).shares_plans:
            return None
        with self._lock:
            if self._cache is None or run_id != self._run_id or spark is not self._spark:
                self._forget()
                self._run_id, self._spark, self._cache = run_id, spark, ReferenceCache(spark)
            return self._cache

    def close(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        if self._cache is not None:
            self._cache.close()
        self._cache = None


def share_links(contracts: Iterable[Contract]) -> frozenset[tuple[str, ...]]:
    """The contracts with a link that is looked up more than once in a run; each contract counts as often as it runs."""
    ran = [*contracts]
    used = Counter(link.table_name or link.path for contract in ran for link in contract.links)
    return frozenset(c.key for c in ran if any(used[link.table_name or link.path] > 1 for link in c.links))


def _in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same plan in another session, under column ids of its own: two links to one table can then be joined."""
    adopted = driver_of(session).adopted(frame, session)
    return adopted.select(*[column(name).alias(name) for name in adopted.columns])

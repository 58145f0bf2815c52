"""A Delta write in two halves: the files first, the commit when it may be published.

Delta's own writer makes the files, with statistics, partitions and constraints as usual. What differs is that its
transaction stays open while the quarantine is written and the gates are judged. The calls are Delta's internals;
its version is pinned and a test holds on to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyarrow import parquet
from pyspark.sql import DataFrame

from lakelogic_assets.errors import RaceLostError, TableGoneError
from lakelogic_assets.spark import delta_log, locks
from lakelogic_assets.spark.driver.scala import each, mapping, none, sequence


@dataclass(frozen=True)
class HeldWrite:
    """Files that are written and not yet part of the table."""

    path: str
    _transaction: Any
    _commit_data: Any
    _jvm: Any
    _mode: Any
    _partition_by: tuple[str, ...]
    _replace_where: str | None
    _rows: DataFrame

    def files(self) -> list[str]:
        """The new files, as paths that Spark can read."""
        return [place_of(self.path, action) for action in self._added()]

    def rows(self) -> int:
        return rows_in(self.path, self._added())

    def read(self) -> DataFrame | None:
        """What the new files hold, column by column; None where there are none."""
        files, rows = self.files(), self._rows
        return rows.sparkSession.read.schema(rows.schema).parquet(*files) if files else None

    def replaces(self) -> bool:
        return any(True for _ in self._actions("RemoveFile"))

    def _added(self) -> Iterator[Any]:
        return self._actions("AddFile")

    def _actions(self, kind: str) -> Iterator[Any]:
        return (action for action in each(self._commit_data.actions()) if action.getClass().getSimpleName() == kind)

    def commit(self, user_metadata: str) -> int:
        """Make the files part of the table; the version that did so."""
        self._refuse_if_gone()
        jvm = self._jvm
        some, nothing = jvm.scala.Some, none(jvm)
        operation = getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$Write")(
            self._mode,
            some(sequence(jvm, self._partition_by)),
            some(self._replace_where) if self._replace_where else nothing,
            some(user_metadata),
            nothing,
            nothing,
            nothing,
            nothing,
            nothing,
        )
        committed = self._transaction.commitIfNeeded(
            self._commit_data.actions(), operation, self._commit_data.stringTags()
        )
        return int(committed.get())

    def _refuse_if_gone(self) -> None:
        """A commit into a folder that was removed meanwhile would be a log without a beginning."""
        files = [Path(file) for file in self.files() if "://" not in file]
        started_over = self._transaction.readVersion() >= 0 and not delta_log.is_table(self.path)
        if started_over or not all(file.exists() for file in files):
            raise TableGoneError(f"{self.path} was removed while it was written; run again to make it anew.")

    def discard(self) -> None:
        """Remove the files of a write that is not published; what stays behind on a crash is VACUUM's."""
        discard_files(self.path, self._added())


def place_of(path: str, action: Any) -> str:
    """Where the file of an action of the table at `path` lies."""
    name = unquote(action.path())
    return name if "://" in name or name.startswith("/") else f"{path}/{name}"


def rows_in(path: str, actions: Iterable[Any]) -> int:
    """How many rows files of a table hold by Delta's statistics, else by their own footers."""
    total = 0
    for action in actions:
        counted = json.loads(action.stats() or "{}").get("numRecords")
        total += parquet.read_metadata(place_of(path, action)).num_rows if counted is None else int(counted)
    return total


def discard_files(path: str, actions: Iterable[Any]) -> None:
    for action in actions:
        file = place_of(path, action)
        if "://" not in file:
            Path(file).unlink(missing_ok=True)
            Path(file).with_name(f".{Path(file).name}.crc").unlink(missing_ok=True)


def hold(
    frame: DataFrame,
    path: str,
    *,
    mode: str,
    options: Mapping[str, str],
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> HeldWrite:
    """Write the rows' files below `path` and keep the commit back. `mode` is Append or Overwrite."""
    session: Any = frame.sparkSession._jsparkSession
    jvm: Any = frame.sparkSession._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, path)
    transaction = log.startTransaction()
    if "txnAppId" in options:
        enter(transaction, path, options["txnAppId"], int(options["txnVersion"]))
    save_mode = getattr(jvm.org.apache.spark.sql.SaveMode, mode)
    writer = jvm.org.apache.spark.sql.delta.commands.WriteIntoDelta(
        log,
        save_mode,
        jvm.org.apache.spark.sql.delta.DeltaOptions(mapping(jvm, options), session.sessionState().conf()),
        sequence(jvm, partition_by),
        mapping(jvm, properties or {}),
        frame._jdf,
        none(jvm),
        none(jvm),
        False,
    )
    data = writer.writeAndReturnCommitData(
        transaction,
        session,
        getattr(writer, "writeAndReturnCommitData$default$3")(),
        getattr(writer, "writeAndReturnCommitData$default$4")(),
    )
    return HeldWrite(path, transaction, data, jvm, save_mode, tuple(partition_by), options.get("replaceWhere"), frame)


def enter(transaction: Any, path: str, app: str, generation: int) -> None:
    """Delta lets one of two transactions of a name commit, but only if both have asked for the name.

    It costs a look through the table's log, and where a lock keeps others away there is no second one.
    """
    if not locks.has_lock(path) and int(transaction.txnVersion(app)) >= generation:
        raise RaceLostError(f"Another run of the same window has committed to {path} meanwhile.")

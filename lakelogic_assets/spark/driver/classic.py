"""The driver is a JVM of this process, and py4j reaches what is inside of it.

These are internals of Spark and Delta: both versions are pinned, and tests hold on to each of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from delta.tables import DeltaTable
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import Column, DataFrame, Observation, SparkSession

from lakelogic_assets.spark.driver.scala import defaults
from lakelogic_assets.spark.driver.seam import Clauses, Held
from lakelogic_assets.spark.held_write import hold
from lakelogic_assets.spark.rewriting import rewritten
from lakelogic_assets.spark.sources.snapshot import FileStat

if TYPE_CHECKING:
    from lakelogic_assets.spark.materialization.transaction import Txn

PATIENCE: Final = 30_000
"""Milliseconds in which Spark's own messages about a finished job have certainly arrived."""
_INTERRUPTS: Final = "spark.job.interruptOnCancel"


class ClassicDriver:
    shares_plans = True
    has_catalog = True

    def is_alive(self, spark: SparkSession) -> bool:
        try:
            return not spark.sparkContext._jsc.sc().isStopped()
        except (AttributeError, OSError, Py4JError):
            # A stopped context has no `_jsc`; a dead JVM refuses the connection.
            return False

    def process(self, spark: SparkSession) -> int | None:
        jvm: Any = spark._jvm
        return int(jvm.java.lang.ProcessHandle.current().pid()) if jvm is not None else None

    def new_session(self, spark: SparkSession) -> SparkSession:
        return spark.newSession()

    def released(self, session: SparkSession) -> AbstractContextManager[None]:  # noqa: ARG002 - the JVM's own collector
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def tagged(self, spark: SparkSession, tag: str) -> Iterator[None]:
        # Tags of the context: a session's own are known to the thread that gave them and to no other session, and
        # a MERGE runs in a session of its own.
        context = spark.sparkContext
        before: Any = context.getLocalProperty(_INTERRUPTS)
        context.addJobTag(tag)
        # Tasks that wait, such as for Python, would else keep their cores.
        context.setInterruptOnCancel(True)
        try:
            yield
        finally:
            context.removeJobTag(tag)
            context.setLocalProperty(_INTERRUPTS, before)

    def cancel(self, spark: SparkSession, tag: str) -> None:
        spark.sparkContext.cancelJobsWithTag(tag)

    def adopted(self, frame: DataFrame, session: SparkSession) -> DataFrame:
        jvm: Any = session._jvm
        plan = frame._jdf.logicalPlan()
        return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)

    def schema_json(self, frame: DataFrame) -> str:
        return str(frame._jdf.schema().json())

    def guarded(self, spark: SparkSession, tested: Column) -> Column:
        """Catalyst has this as an internal expression only."""
        jvm: Any = spark._jvm
        utils = getattr(getattr(jvm.org.apache.spark.sql.classic, "ExpressionUtils$"), "MODULE$")
        wrapped = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(utils.expression(tested._jc))
        return Column(utils.column(wrapped))

    def was_taken(self, spark: SparkSession, observation: Observation) -> bool:
        future: Any = observation._jo.future()  # type: ignore[union-attr]
        if not future.isCompleted():
            # The job is over, but what Spark tells about it comes by a queue.
            queue: Any = spark.sparkContext._jsc.sc().listenerBus()
            with contextlib.suppress(Py4JJavaError):
                queue.waitUntilEmpty(PATIENCE)
        return bool(future.isCompleted())

    def evaluated(self, frame: DataFrame) -> DataFrame:
        return frame.localCheckpoint(eager=True)

    def storable(self, frame: DataFrame) -> DataFrame:
        return frame

    def hold(
        self,
        frame: DataFrame,
        path: str,
        *,
        mode: str,
        options: Mapping[str, str],
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> Held:
        return hold(frame, path, mode=mode, options=options, partition_by=partition_by, properties=properties)

    def merge(self, spark: SparkSession, changes: DataFrame, path: str, txn: Txn, clauses: Clauses) -> None:
        if rewritten(spark, changes, path, txn, clauses, self.was_taken):
            return
        # A session for one write: left in a shared one, the name would make Delta drop the next write silently.
        session = spark.newSession()
        for key, value in txn.settings.items():
            session.conf.set(key, value)
        table = DeltaTable.forPath(session, path).alias("t")
        merge = table.merge(clauses.placed(changes).alias("s"), clauses.matched_on).withSchemaEvolution()
        if clauses.delete is not None:
            merge = merge.whenMatchedDelete(clauses.delete)
        if clauses.update is not None:
            merge = merge.whenMatchedUpdate(clauses.update[0], set={**clauses.update[1]})
        if clauses.insert is not None:
            merge = merge.whenNotMatchedInsert(clauses.insert[0], values={**clauses.insert[1]})
        merge.execute()

    def delta_table(self, spark: SparkSession, path: str) -> DeltaTable:
        return DeltaTable.forPath(spark, path)

    def added_rows(self, spark: SparkSession, path: str, first: int, last: int) -> DataFrame | None:
        jvm: Any = spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        files = jvm.java.util.ArrayList()
        commits = log.getChanges(first, getattr(log, "getChanges$default$2")(), getattr(log, "getChanges$default$3")())
        while commits.hasNext():
            commit = commits.next()
            if commit._1() > last:
                break
            actions = commit._2().iterator()
            while actions.hasNext():
                action = actions.next()
                kind = action.getClass().getSimpleName()
                if kind == "RemoveFile" and action.dataChange():
                    return None
                if kind == "AddFile" and action.dataChange():
                    files.add(action)
        snapshot = log.getSnapshotAt(last, *defaults(log, "getSnapshotAt"))
        added = jvm.org.apache.spark.api.python.PythonUtils.toSeq(files)
        return DataFrame(log.createDataFrame(snapshot, added, *defaults(log, "createDataFrame")), spark)

    def files_at(self, spark: SparkSession, path: str, *, recursive: bool) -> list[FileStat]:
        jvm: Any = spark._jvm
        place = jvm.org.apache.hadoop.fs.Path(path)
        system = place.getFileSystem(spark._jsc.hadoopConfiguration())
        return [file for status in system.globStatus(place) or () for file in _below(system, status, recursive)]

    def location_of(self, spark: SparkSession, schema: str, table: str) -> str | None:
        """Asked of the catalogue itself, since a query would cost a tenth of a second."""
        jvm: Any = spark._jvm
        name = jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, jvm.scala.Some(schema))
        catalog: Any = spark._jsparkSession.sessionState().catalog()
        if not catalog.tableExists(name):
            return None
        return unquote(urlsplit(catalog.getTableMetadata(name).location().toString()).path)


def _below(system: Any, status: Any, recursive: bool) -> Iterator[FileStat]:
    if not status.isDirectory():
        yield FileStat(str(status.getPath()), int(status.getLen()), status.getModificationTime() / 1000)
        return
    for each in system.listStatus(status.getPath()):
        name = each.getPath().getName()
        if name[0] in "._" and "=" not in name:
            continue
        if not each.isDirectory() or recursive or "=" in name:
            yield from _below(system, each, recursive)

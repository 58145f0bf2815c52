"""Changes become one commit, which carries its own name and can neither be lost nor made twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.materialization import Materialization
from lakelogic_assets.errors import RaceLostError, SchemaError, TableGoneError, WriteDroppedError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import Changed, Clauses, driver_of
from lakelogic_assets.spark.identifiers import column, find_column, quoted
from lakelogic_assets.spark.materialization.keys import column_of
from lakelogic_assets.spark.schema import HIDDEN_PREFIX

ACTION: Final = f"{HIDDEN_PREFIX}action"
INSERT, UPDATE, DELETE = "insert", "update", "delete"

_RECENT: Final = 20
_FIXED_BYTES: Final = 16
_CHANGES_NO_ROW: Final = (
    "ADD COLUMNS", "CHANGE COLUMN", "CLUSTER BY", "OPTIMIZE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES",
    "UPGRADE PROTOCOL", "VACUUM END", "VACUUM START",
)  # fmt: skip


@dataclass(frozen=True)
class Txn:
    """What a commit is called: `app_id` names contract and window, `version` the evaluation of it."""

    app_id: str
    version: int
    user_metadata: str

    @property
    def settings(self) -> dict[str, str]:
        """What a session must hold for its next MERGE to carry the name."""
        return {
            "spark.databricks.delta.write.txnAppId": self.app_id,
            "spark.databricks.delta.write.txnVersion": str(self.version),
            "spark.databricks.delta.commitInfo.userMetadata": self.user_metadata,
            # The changes are evaluated already; Delta would otherwise write them to disk once more.
            "spark.databricks.delta.merge.materializeSource": "none",
            # Where few changes meet a large table in a shuffle, hashing them spares sorting the table.
            "spark.sql.join.preferSortMergeJoin": "false",
        }


def measures_of(changes: DataFrame) -> list[Column]:
    """How many changes of each kind there are, and about how many bytes; `changed` reads what they find."""
    action = column(ACTION)
    kinds = [F.count_if(action == kind).alias(f"{HIDDEN_PREFIX}{kind}") for kind in (INSERT, UPDATE, DELETE)]
    return [*kinds, bytes_of(changes).alias(f"{HIDDEN_PREFIX}size")]


def bytes_of(frame: DataFrame) -> Column:
    """About how many bytes all rows take, as an aggregate."""
    return F.sum(reduce(Column.__add__, [_size_of(field) for field in frame.schema.fields]))


def changed(found: Mapping[str, Any]) -> Changed:
    inserted, updated, deleted, size = (found[f"{HIDDEN_PREFIX}{each}"] for each in (INSERT, UPDATE, DELETE, "size"))
    return Changed(inserted, updated, deleted, size or 0)


def _size_of(field: T.StructField) -> Column:
    """About the bytes that a value takes."""
    value = column(field.name)
    if isinstance(field.dataType, T.StringType | T.BinaryType):
        return F.coalesce(F.octet_length(value), F.lit(0)) + F.lit(_FIXED_BYTES)
    if isinstance(field.dataType, T.AtomicType):
        return F.lit(_FIXED_BYTES)
    return F.coalesce(F.octet_length(F.to_json(F.struct(value))), F.lit(0)) + F.lit(_FIXED_BYTES)


def refuse_repeated(path: str, txn: Txn) -> None:
    """Delta skips a transaction that is not newer than the last of its name, silently; this is said before."""
    stored = delta_log.transaction_version(path, txn.app_id)
    if stored is not None and stored >= txn.version:
        raise WriteDroppedError(
            f"The table {path} already holds generation {stored} of {txn.app_id}, so generation {txn.version} would be "
            "dropped: evaluate again under a higher one."
        )


def read_at(spark: SparkSession, path: str) -> tuple[DataFrame, int]:
    """A table and a version that it has reached when it is read; it may have gone further by then."""
    version = delta_log.version(path)
    if version is None:
        raise TableGoneError(f"{path} was removed while it was written; run again to make it anew.")
    return spark.read.format("delta").load(path), version


def _refuse_race(path: str, seen: int, until: int | None = None) -> None:
    """Delta compares a MERGE with the table as it is then, not with the version that the changes were worked out from.

    On one machine the lock keeps others away; between machines only this does.
    """
    newest = delta_log.version(path) if until is None else until
    if newest is None or newest <= seen:
        return
    for commit in delta_log.commits(path, (delta_log.version(path) or 0) - seen):
        if seen < commit["version"] <= newest and commit.get("operation") not in _CHANGES_NO_ROW:
            raise RaceLostError(f"{path} was changed by another program ({commit.get('operation')}) while it was read.")


def refuse_new_columns(names: Sequence[str], table: DataFrame) -> None:
    """What `evolution: strict` means for a table that is there; the engine's own columns are not asked about."""
    added = [name for name in names if find_column(table, name) is None]
    if added:
        named = ", ".join(f"`{name}`" for name in added)
        raise SchemaError(f"The table has no column {named}, and `schema_policy.evolution: strict` lets it get none.")


def create_table(
    rows: DataFrame, path: str, txn: Txn, materialization: Materialization, properties: Mapping[str, str]
) -> int:
    """The first commit of a table; its version."""
    writer = driver_of(rows.sparkSession).storable(rows).write.format("delta").mode("error").options(**properties)
    writer = writer.option("txnAppId", txn.app_id).option("txnVersion", str(txn.version))
    writer = writer.option("userMetadata", txn.user_metadata)
    if materialization.partition_by:
        writer = writer.partitionBy(*materialization.partition_by)
    elif materialization.cluster_by:
        writer = writer.clusterBy(*materialization.cluster_by)
    writer.save(path)
    return committed(path, txn)


def merge_changes(
    spark: SparkSession,
    changes: DataFrame,
    path: str,
    txn: Txn,
    *,
    counts: Changed,
    matched_on: Column,
    span: Column | None,
    fixed: Sequence[str],
    seen: int,
) -> int:
    """Insert, update and delete as each row's `ACTION` says, in one commit; the version that the table then has.

    `matched_on` pairs a table row `t` with a change `s`, and no two changes with one row; `span` says where in the
    table such rows can be. Columns that the table does not have yet are added to it; `fixed` ones are never updated.
    `seen` is the version of the table that the changes were worked out from. Without changes there is no commit:
    readers and whatever is made from the table find it as it was.
    """
    written = [name for name in changes.columns if not name.startswith(HIDDEN_PREFIX)]
    values = {quoted(name): f"s.{quoted(name)}" for name in written}
    kept = {quoted(name).casefold() for name in fixed}
    known = {name.casefold() for name in spark.read.format("delta").load(path).columns}
    # A column is added by a clause that writes it, even where no row has a value for it yet.
    adds = not known.issuperset(name.casefold() for name in written)
    there = delta_log.version(path)
    if not (counts or adds) and there is not None:
        return there
    action = column_of("s", ACTION)
    updated = {name: value for name, value in values.items() if name.casefold() not in kept}
    # Clauses that no row needs are left out: with two hundred columns each costs seconds.
    clauses = Clauses(
        matched_on if span is None else matched_on & span,
        delete=action == DELETE if counts.deleted else None,
        update=(action == UPDATE, updated) if counts.updated else None,
        insert=(action == INSERT, values) if counts.inserted or adds else None,
        counts=counts,
        span=span,
    )
    _refuse_race(path, seen)
    driver_of(spark).merge(spark, changes, path, txn, clauses)
    version, read = _committed(path, txn)
    _refuse_race(path, seen, read)
    return version


def committed(path: str, txn: Txn) -> int:
    """The version that holds the transaction, read back from the log."""
    return _committed(path, txn)[0]


def _committed(path: str, txn: Txn) -> tuple[int, int]:
    """The version that holds the transaction, and the one that the transaction began with."""
    if delta_log.transaction_version(path, txn.app_id) == txn.version:
        for commit in delta_log.commits(path, _RECENT):
            if commit.get("userMetadata") == txn.user_metadata:
                version = int(commit["version"])
                return version, int(commit.get("readVersion", version - 1))
    raise WriteDroppedError(f"The write {txn.app_id} generation {txn.version} is not in the log of {path}.")

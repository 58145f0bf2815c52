"""`strategy: merge` — one row a key: new ones are inserted, changed ones updated, the others left alone.

What a batch changes is worked out first, against the rows of the table that it can concern, and only that is merged:
a batch that says nothing new rewrites no file. Where rows carry a version (`cdc_timestamp_field`, else
`watermark_field`), an older row never replaces a newer one, so that windows may come in any order; of two rows with
the same version the one that comes later wins, which is how a window is corrected. A deletion is remembered with its
own time beside the version of the data, so that it, too, may come early or late; where rows are deleted for good
(`soft_delete_column: ""`) nothing is left to remember it by, and an older row that comes later is inserted again.
The caller holds the table's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import DuplicateKeysError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import column, find_name
from lakelogic_assets.spark.materialization.keys import (
    KeyFacts,
    column_of,
    comparable,
    key_facts,
    moment,
    same_key,
    surrogate,
    types_by_name,
)
from lakelogic_assets.spark.materialization.merge_shape import DELETE_SIGNAL, Deletes, MergeShape
from lakelogic_assets.spark.materialization.transaction import (
    ACTION,
    DELETE,
    INSERT,
    UPDATE,
    Txn,
    changed,
    create_table,
    measures_of,
    merge_changes,
    read_at,
    refuse_new_columns,
    refuse_repeated,
)
from lakelogic_assets.spark.materialization.unknown_member import is_unknown, real_members, unknown_member
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.tally import Tally, tallied

_HAS_DATA = f"{HIDDEN_PREFIX}has_data"
_DELETED = f"{HIDDEN_PREFIX}deleted"
_PRESENT = f"{HIDDEN_PREFIX}present"
_GONE = f"{HIDDEN_PREFIX}gone"
_UNKNOWN = f"{HIDDEN_PREFIX}unknown"
_RANK = f"{HIDDEN_PREFIX}rank"
_NEWER = f"{HIDDEN_PREFIX}newer"
_TIMES = f"{HIDDEN_PREFIX}times"
_DELETED_AT = f"{HIDDEN_PREFIX}deleted_at"


@dataclass(frozen=True)
class MergeResult:
    """What one merge did; rows that are marked as deleted count as deleted."""

    inserted: int
    updated: int
    deleted: int
    version: int
    withdrawn: int = 0
    """Rows of a rebuilt window that its source no longer has."""


def merge_rows(
    spark: SparkSession,
    batch: DataFrame,
    target_path: str,
    contract: Contract,
    *,
    txn: Txn,
    run_timestamp: datetime | None = None,
    transient: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    replaced: str | None = None,
) -> MergeResult:
    """Merge evaluated, masked and stamped rows into the table, or make the table of them.

    `replaced` tells which rows of the table, called `t`, the batch stands for: those that it lacks are removed.

    `transient` columns are read here and not stored; `properties` are those of a new table. `run_timestamp` is when a
    row was deleted, where the batch has no time of its own.
    """
    refuse_repeated(target_path, txn)
    exists = delta_log.is_table(target_path)
    shape = MergeShape.of(batch, contract, transient)
    facts = key_facts(batch, shape.keys, contract)
    incoming = _one_row_per_key(batch, shape, facts, contract, run_timestamp)
    table, seen = read_at(spark, target_path) if exists else (batch.where(F.lit(False)), -1)
    if exists and contract.policy.evolution == "strict":
        refuse_new_columns(shape.data, table)
    span = _span_of(facts, replaced) if exists else None
    nearby = table.alias("t").where(span) if span is not None else table
    there = real_members(nearby, shape.surrogate_key, shape.unknown)
    changes, met = _changes(incoming, there, shape, facts)
    if exists and replaced:
        changes = changes.unionByName(_withdrawn(incoming, there, shape, replaced))
    changes = _with_unknown(spark, changes, table, batch, shape)
    changes, counted = tallied(changes, *_measures(), *measures_of(changes))
    if not exists:
        rows = changes.select(*(column(name).alias(name, metadata=_metadata(batch, name)) for name in shape.written))
        version = create_table(rows, target_path, txn, contract.materialization, properties or {})
        return _result(counted, version)
    # Evaluated once, counted on the way, and read more than once.
    changes = driver_of(spark).evaluated(changes)
    if replaced or met.get["rows"] > facts.keys:
        _refuse_doubles(changes, shape)
    on, counts = _matched_on(shape), changed(counted.get)
    version = merge_changes(
        spark, changes, target_path, txn, counts=counts, matched_on=on, span=span, fixed=shape.keys, seen=seen
    )
    return _result(counted, version)


def _result(counted: Tally, version: int) -> MergeResult:
    found = counted.get
    return MergeResult(found["inserted"], found["updated"], found["deleted"], version, found["withdrawn"])


def _span_of(facts: KeyFacts, replaced: str | None) -> Column | None:
    """Where the rows can be that the merge touches; an empty batch touches only what it gives up."""
    if replaced is None:
        return facts.span
    if not facts.rows:
        return F.expr(replaced)
    return facts.span | F.expr(replaced) if facts.span is not None else None


def _withdrawn(incoming: DataFrame, table: DataFrame, shape: MergeShape, replaced: str) -> DataFrame:
    """Rows that stand where the batch stands and are not in it; a row that is marked as deleted says so and stays."""
    rows = table.alias("t").where(F.expr(replaced))
    known = {name.casefold() for name in table.columns}
    if shape.deletes and shape.deletes.at and shape.deletes.at.casefold() in known:
        rows = rows.where(column_of("t", shape.deletes.at).isNull())
    gone = rows.join(incoming.alias("s"), same_key(shape.keys), "left_anti")
    columns = [
        (column(name) if name.casefold() in known else F.lit(None)).cast(shape.types[name]).alias(name)
        for name in shape.written
    ]
    return gone.select(*columns, F.lit(DELETE).alias(ACTION), F.lit(False).alias(_GONE))


def _metadata(batch: DataFrame, name: str) -> dict[str, Any]:
    """A column's comment goes with it into the new table."""
    return batch.schema[name].metadata if name in batch.columns else {}


def _one_row_per_key(
    batch: DataFrame, shape: MergeShape, facts: KeyFacts, contract: Contract, run_timestamp: datetime | None
) -> DataFrame:
    """The newest data of each key and the time of its newest deletion, where it has one."""
    is_delete = shape.is_delete()
    deleted_at = F.when(is_delete, shape.deleted_at(run_timestamp))
    if not facts.duplicates:
        return batch.withColumns({_HAS_DATA: ~is_delete, _DELETED: deleted_at})
    # Several changes of a key are what a change feed is made of, as long as their order can be told.
    if not contract.materialization.merge_dedup_guard and not (shape.deletes and shape.version):
        advice = "Deduplicate them, or let `merge_dedup_guard: true` keep the newest."
        raise DuplicateKeysError(facts.duplicates, shape.keys, advice=advice)
    types = types_by_name(batch)
    ties = [comparable(column(name), types[name]) for name in sorted(batch.columns)]
    newest = [moment(column(shape.version), types[shape.version])] if shape.version else []
    of_key = Window.partitionBy(*map(column, shape.keys))
    ranked = of_key.orderBy(is_delete, *(value.desc_nulls_last() for value in (*newest, *ties)))
    deleted_type = shape.deletes.at_type if shape.deletes else T.TimestampType()
    made = {
        _RANK: F.row_number().over(ranked),
        _HAS_DATA: ~is_delete,
        _DELETED: F.max_by(deleted_at, moment(deleted_at, deleted_type)).over(of_key),
    }
    for name in shape.milestones:
        is_set = column(name).isNotNull() & ~is_delete
        order = F.when(is_set, F.struct(*newest, comparable(column(name), types[name])))
        made[name] = F.min_by(column(name), order).over(of_key)
    return batch.withColumns(made).where(column(_RANK) == 1).drop(_RANK)


def _changes(incoming: DataFrame, table: DataFrame, shape: MergeShape, facts: KeyFacts) -> tuple[DataFrame, Tally]:
    """Each key of the batch whose row the table does not have in that very form, with what is to be done.

    With it the number of pairs that were looked at: more than there are keys, where the table holds a key twice.
    """
    marked = table.withColumn(_PRESENT, F.lit(True))
    same = same_key(shape.keys, complete=facts.complete)
    joined = incoming.alias("s").join(marked.alias("t"), same, "left")
    joined, met = tallied(joined, F.count(F.lit(1)).alias("rows"))
    values = _Values(shape, frozenset(name.casefold() for name in table.columns))
    # Worked out once a row, not once a column.
    joined = joined.withColumn(_NEWER, values.is_newer()).withColumn(_DELETED_AT, values.deleted_at())
    present, gone = column_of("t", _PRESENT).isNotNull(), column(_DELETED_AT).isNotNull()
    if shape.deletes and shape.deletes.flag is None:
        kept = F.when(~present & ~gone, INSERT).when(present & values.differ(), UPDATE)
        action, newly_gone = F.when(present & gone, DELETE).otherwise(F.when(~gone, kept)), gone
    else:
        action = F.when(~present, INSERT).when(values.differ(), UPDATE)
        newly_gone = gone & values.was_deleted_at().isNull()
    columns = [values.of(name).cast(shape.types[name]).alias(name) for name in shape.written]
    changes = joined.select(*columns, action.alias(ACTION), newly_gone.alias(_GONE)).where(column(ACTION).isNotNull())
    return changes, met


@dataclass(frozen=True)
class _Values:
    """What a row holds after the merge, from the batch's row `s` and the table's row `t`, which may not be there."""

    shape: MergeShape
    in_table: frozenset[str]

    def is_newer(self) -> Column:
        """Whether the batch has data of the key that is not older than the table's; no version is the oldest one."""
        has_data, version = column_of("s", _HAS_DATA), self.shape.version
        if version is None:
            return has_data
        kind = self.shape.types[version]
        here, there = moment(column_of("s", version), kind), moment(self.before(version), kind)
        return has_data & F.coalesce(here >= there, there.isNull())

    def was_deleted_at(self) -> Column:
        deletes = self.shape.deletes
        return self.before(deletes.at) if deletes and deletes.at else F.lit(None).cast("timestamp")

    def deleted_at(self) -> Column:
        """When the row was deleted, NULL while it lives: the later deletion, unless the data is newer still."""
        deletes, version = self.shape.deletes, self.shape.version
        if deletes is None:
            return F.lit(None).cast("timestamp")
        kind = deletes.at_type
        here, there = column_of("s", _DELETED), self.was_deleted_at().cast(kind)
        if version is None:
            return F.when(here.isNotNull(), F.coalesce(there, here))
        latest = F.when(moment(here, kind) >= moment(there, kind), here).otherwise(F.coalesce(there, here))
        data_is_newer = moment(latest, kind) < moment(self.of(version).try_cast(kind), kind)
        return F.when(~F.coalesce(data_is_newer, F.lit(False)), latest)

    def before(self, name: str) -> Column:
        """The table's value; NULL where the table has no such row or no such column."""
        if name.casefold() not in self.in_table:
            return F.lit(None).cast(self.shape.types[name])
        return column_of("t", name)

    def of(self, name: str) -> Column:
        """The value after the merge."""
        shape, here = self.shape, column_of("s", name)
        if name in shape.keys:
            return here
        if name == shape.surrogate_key:
            parts = [column_of("s", key) for key in shape.keys]
            return F.coalesce(self.before(name), surrogate(parts, shape.surrogate_strategy, name, shape.types[name]))
        if shape.deletes and name in shape.deletes.columns:
            return self._mark(name, shape.deletes)
        if name in shape.created:
            return F.coalesce(self.before(name), here)
        if name in shape.stamps:
            return here
        if name in shape.milestones:
            return F.coalesce(self.before(name), F.when(column_of("s", _HAS_DATA), here))
        return F.when(column(_NEWER), here).otherwise(self.before(name))

    def _mark(self, name: str, deletes: Deletes) -> Column:
        """The columns that say whether, when and why a row was deleted."""
        deleted_at = column(_DELETED_AT)
        if name == deletes.at:
            return deleted_at
        if name == deletes.flag:
            said = F.when(deleted_at.isNotNull(), F.lit(deletes.value)).otherwise(deletes.active_value)
            return said.cast(self.shape.types[name])
        reason = F.when(deleted_at.eqNullSafe(self.was_deleted_at()), self.before(name))
        return F.when(deleted_at.isNotNull(), F.coalesce(reason, F.lit(DELETE_SIGNAL)))

    def differ(self) -> Column:
        """Whether the row says something else than before; who loaded it and when does not count."""
        shape = self.shape
        news = [name for name in shape.data if name not in shape.milestones]
        data = column(_NEWER) & ~self._same({name: column_of("s", name) for name in news})
        others = shape.milestones | shape.engine_columns
        return data | ~self._same({name: self.of(name) for name in shape.written if name in others})

    def _same(self, values: Mapping[str, Column]) -> Column:
        types = self.shape.types
        pairs = [
            comparable(value, types[name]).eqNullSafe(comparable(self.before(name), types[name]))
            for name, value in values.items()
        ]
        return reduce(Column.__and__, pairs, F.lit(True))


def _with_unknown(
    spark: SparkSession, changes: DataFrame, table: DataFrame, batch: DataFrame, shape: MergeShape
) -> DataFrame:
    """The unknown member among the changes, where the table has none yet."""
    member = shape.unknown
    changes = changes.withColumn(_UNKNOWN, F.lit(False))
    if member is None:
        return changes
    schema = T.StructType([T.StructField(name, shape.types[name]) for name in shape.written])
    fixed: dict[str, Column] = {name: F.lit(None) for name in shape.stamps}
    if shape.deletes and shape.deletes.flag:
        fixed |= {name: F.lit(None) for name in shape.deletes.columns}
        fixed[shape.deletes.flag] = shape.deletes.active_value
    if shape.surrogate_key:
        fixed[shape.surrogate_key] = F.lit(member.surrogate_key_value)
    row = unknown_member(spark, schema, member, fixed)
    identity = [shape.surrogate_key] if shape.surrogate_key else list(shape.keys)
    if all(find_name(table.columns, name) for name in identity):
        row = row.alias("s").join(table.alias("t"), same_key(identity), "left_anti")
    row = _stamped(row, batch, shape)
    hidden = {ACTION: F.lit(INSERT), _GONE: F.lit(False), _UNKNOWN: F.lit(True)}
    return changes.unionByName(row.withColumns(hidden))


def _stamped(row: DataFrame, batch: DataFrame, shape: MergeShape) -> DataFrame:
    """A row of the engine's own carries the stamps of the run that brought it."""
    stamps = [name for name in shape.written if name in shape.stamps]
    if not stamps:
        return row
    # A run stamps all its rows alike, but for the file they came from.
    run = batch.agg(*(F.max(column(name)).alias(name) for name in stamps))
    return row.drop(*stamps).crossJoin(run).select(*map(column, shape.written))


def _measures() -> list[Column]:
    """Inserted, updated, deleted and withdrawn rows, as they are told; one that is marked as deleted counts as that."""
    gone, action = column(_GONE), column(ACTION)
    return [
        F.count_if((action == INSERT) & ~gone).alias("inserted"),
        F.count_if((action == UPDATE) & ~gone).alias("updated"),
        F.count_if(gone).alias("deleted"),
        F.count_if((action == DELETE) & ~gone).alias("withdrawn"),
    ]


def _refuse_doubles(changes: DataFrame, shape: MergeShape) -> None:
    """A table that holds a key twice is refused before it gets worse, where that key is changed."""
    keys = changes.groupBy(*map(column, shape.keys), column(_UNKNOWN)).agg(F.count(F.lit(1)).alias(_TIMES))
    repeated = keys.agg(F.sum(column(_TIMES) - 1)).collect()[0][0]
    if repeated:
        raise DuplicateKeysError(repeated, shape.keys, where="The table")


def _matched_on(shape: MergeShape) -> Column:
    matched_on = same_key(shape.keys)
    if shape.unknown is None or shape.surrogate_key is None:
        return matched_on
    # A real row may have the very key that the unknown member was given.
    unknown = is_unknown(column_of("t", shape.surrogate_key), shape.unknown)
    return matched_on & unknown.eqNullSafe(column_of("s", _UNKNOWN))

"""`strategy: scd2` — every change of a row's tracked columns becomes a version with its own range of validity.

The history of a key is worked out anew from the versions that the table has and the rows that came, in the order of
`timestamp_field`, and only what differs is merged, in one commit. So it does not matter how rows are spread over
batches, or in which order those come: a late row finds its place, and versions after it are renumbered. Where two
rows of a key have the same time, the one with the greater tracked values counts, whichever came first.

Most rows of a daily extract only confirm what is there. They are set aside first, by one comparison with the current
versions, so that histories are worked out for keys with news alone.

One thing cannot be made up for. A row that only confirms the newest version is not stored, so nothing remembers its
time: had A been confirmed at 20, a late B of 15 still becomes the current version, since the table knows of no A
after it. Without `timestamp_field` the time of the run counts and the order of the runs is the order of the changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import FEW_BYTES, Changed
from lakelogic_assets.spark.identifiers import column, find_column, find_name
from lakelogic_assets.spark.materialization.keys import (
    column_of,
    comparable,
    key_span,
    moment,
    same_key,
    surrogate,
    types_by_name,
)
from lakelogic_assets.spark.materialization.scd2_shape import Scd2Shape
from lakelogic_assets.spark.materialization.transaction import (
    ACTION,
    DELETE,
    INSERT,
    UPDATE,
    Txn,
    bytes_of,
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

INITIAL_LOAD = "initial_load"

_OLD = f"{HIDDEN_PREFIX}old"
_MOMENT = f"{HIDDEN_PREFIX}moment"
_EFFECTIVE = f"{HIDDEN_PREFIX}effective"
_NEWEST_OLD = f"{HIDDEN_PREFIX}newest_old"
_KNOWN_KEY = f"{HIDDEN_PREFIX}known_key"
_VERSION = f"{HIDDEN_PREFIX}version"
_REASON = f"{HIDDEN_PREFIX}reason"
_NEXT = f"{HIDDEN_PREFIX}next"
_PRESENT = f"{HIDDEN_PREFIX}present"
_CLOSED = f"{HIDDEN_PREFIX}closed"
_LATE = f"{HIDDEN_PREFIX}late"
_WAS_CURRENT = f"{HIDDEN_PREFIX}was_current"
_NEW_KEY = f"{HIDDEN_PREFIX}new_key"
_UNKNOWN = f"{HIDDEN_PREFIX}unknown"


@dataclass(frozen=True)
class Scd2Result:
    """What one batch did to the history; `late` rows found their place before the newest version of their key."""

    new_keys: int
    new_versions: int
    closed: int
    late: int
    version: int


def apply_scd2(
    spark: SparkSession,
    batch: DataFrame,
    target_path: str,
    contract: Contract,
    *,
    txn: Txn,
    run_timestamp: datetime,
    properties: Mapping[str, str] | None = None,
) -> Scd2Result:
    """Work evaluated, masked and stamped rows into the history of their keys, or begin it with them.

    The caller holds the table's lock. `properties` are those of a new table.
    """
    refuse_repeated(target_path, txn)
    shape = Scd2Shape.of(batch, contract)
    incoming = _incoming(batch, shape, run_timestamp)
    if not delta_log.is_table(target_path):
        changes = _staged(_with_unknown(spark, _all_new(_history(incoming, shape, ())), None, batch, shape))
        rows = changes.select(*(column(name).alias(name, metadata=_comment(batch, name)) for name in shape.written))
        told, _ = _counted(changes)
        return Scd2Result(*told, create_table(rows, target_path, txn, contract.materialization, properties or {}))
    table, seen = read_at(spark, target_path)
    if contract.policy.evolution == "strict":
        refuse_new_columns(shape.data, table)
    span, complete = key_span(batch, shape.keys, contract)
    nearby = table if span is None else table.alias("t").where(span)
    versions = _versions(real_members(nearby, shape.settings.surrogate_key, shape.unknown), shape)
    touched = _touched(incoming, versions, shape, complete)
    incoming, existing = (_of_keys(frame, touched, shape) for frame in (incoming, versions))
    existing = _staged(existing)
    # Columns that the rows no longer have stay with the versions that do.
    extras = tuple(n for n in table.columns if find_name(shape.written, n) is None)
    injected = [name for name in existing.columns if find_name(shape.settings.injected_columns, name)]
    events = incoming.unionByName(existing.drop(*injected), allowMissingColumns=True)
    changes = _changes(_history(events, shape, extras), existing, shape, extras)
    changes = _staged(_with_unknown(spark, changes, table, batch, shape))
    told, counts = _counted(changes)
    identity = [*shape.keys, shape.settings.effective_from_field]
    on = _matched_on(shape, identity)
    version = merge_changes(
        spark, changes, target_path, txn, counts=counts, matched_on=on, span=span, fixed=identity, seen=seen
    )
    return Scd2Result(*told, version)


def _staged(frame: DataFrame) -> DataFrame:
    """The frame evaluated once, on disk: it is read more than once."""
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)


def _comment(batch: DataFrame, name: str) -> dict[str, str]:
    """A column's comment goes with it into the new table."""
    return batch.schema[name].metadata if name in batch.columns else {}


def _incoming(batch: DataFrame, shape: Scd2Shape, run_timestamp: datetime) -> DataFrame:
    """The rows that came, each with the time from which it counts."""
    now = F.lit(run_timestamp).cast("timestamp")
    sorted_by, effective = F.lit(None).cast("timestamp"), shape.effective(now)
    if shape.timestamp:
        said = column(shape.timestamp)
        sorted_by = shape.moment(F.coalesce(said, now.try_cast(shape.timestamp_type)))
        effective = F.coalesce(shape.effective(said), effective)
    kept = [column(name) for name in (*shape.data, *(n for n in shape.written if n in shape.stamps))]
    marks = {_OLD: F.lit(False), _WAS_CURRENT: F.lit(False), _MOMENT: sorted_by, _EFFECTIVE: effective}
    return batch.select(*kept, *(value.alias(name) for name, value in marks.items()))


def _of_keys(frame: DataFrame, touched: DataFrame, shape: Scd2Shape) -> DataFrame:
    return frame.alias("t").join(touched.alias("s"), same_key(shape.keys), "left_semi")


def _touched(incoming: DataFrame, versions: DataFrame, shape: Scd2Shape, complete: bool) -> DataFrame:
    """The keys that came with news."""
    current = versions.where(column(_WAS_CURRENT)).withColumn(_PRESENT, F.lit(True))
    if _is_shaped_alike(versions, shape):
        joined = incoming.alias("s").join(current.alias("t"), same_key(shape.keys, complete=complete), "left")
        incoming = joined.where(~F.coalesce(_is_confirmed(shape), F.lit(False))).select("s.*")
    keys = _staged(incoming.select(*map(column, shape.keys)).distinct())
    size = keys.agg(bytes_of(keys)).collect()[0][0] or 0
    return F.broadcast(keys) if size <= FEW_BYTES else keys


def _is_shaped_alike(versions: DataFrame, shape: Scd2Shape) -> bool:
    """Whether versions that a row confirms need nothing else: a column that is new, or of another type, does."""
    there = types_by_name(versions)
    wanted = [name for name in shape.written if name not in shape.stamps]
    return all(there.get(name) == shape.types[name] for name in wanted)


def _is_confirmed(shape: Scd2Shape) -> Column:
    """Whether a row `s` says what the current version `t` says, and comes after it or is that very row."""
    pairs = [
        comparable(column_of("s", name), shape.types[name]).eqNullSafe(
            comparable(column_of("t", name), shape.types[name])
        )
        for name in shape.tracked
    ]
    same = reduce(Column.__and__, pairs, column_of("t", _PRESENT))
    after = column_of("s", _EFFECTIVE) > column_of("t", _EFFECTIVE)
    if shape.timestamp:
        here, there = column_of("s", _MOMENT), column_of("t", _MOMENT)
        after = (here == there) | (after & (here > there))
    return same & after


def _versions(table: DataFrame, shape: Scd2Shape) -> DataFrame:
    """The versions that the table has, each with the time from which it counts."""
    name = shape.settings.effective_from_field
    start = column(name).try_cast(shape.effective_type)
    sorted_by, effective = F.lit(None).cast("timestamp"), start
    if shape.timestamp:
        is_first, kind = start.eqNullSafe(shape.origin), shape.timestamp_type
        stored = find_column(table, shape.timestamp)
        said = column(stored).try_cast(kind) if stored else F.lit(None).cast(kind)
        # The first version counts from the origin on; when it was really made stands in its own column.
        said = F.coalesce(said, F.when(~is_first, start.try_cast(kind)))
        sorted_by = shape.moment(said)
        effective = F.when(is_first, F.coalesce(shape.effective(said), start)).otherwise(start)
    flag = find_column(table, shape.settings.current_flag_field)
    was_current = F.coalesce(column(flag).cast("boolean"), F.lit(False)) if flag else F.lit(False)
    marks = {_OLD: F.lit(True), _WAS_CURRENT: was_current, _MOMENT: sorted_by, _EFFECTIVE: effective}
    return table.withColumns({name: start, **marks})


def _history(events: DataFrame, shape: Scd2Shape, extras: tuple[str, ...]) -> DataFrame:
    """All versions of the keys, numbered, each valid until the next one begins."""
    of_key = Window.partitionBy(*map(column, shape.keys))
    is_old, effective = column(_OLD), column(_EFFECTIVE)
    if not shape.timestamp:
        # A clock that was set back must not put a change before the version that it replaces.
        newest = F.max(F.when(is_old, effective)).over(of_key)
        events = events.withColumn(_EFFECTIVE, F.when(is_old, effective).otherwise(F.greatest(effective, newest)))
    order = of_key.orderBy(*_order(shape))
    marks = {
        _KNOWN_KEY: F.bool_or(is_old).over(of_key),
        _NEWEST_OLD: F.max(F.when(is_old, column(_MOMENT))).over(of_key),
        _NEXT: _is_replaced(shape, order),
        **{name: F.max(F.when(~is_old, column(name))).over(of_key) for name in shape.run_stamps},
    }
    standing = events.withColumns(marks).where(~column(_NEXT)).drop(_NEXT)
    changed = standing.withColumn(_REASON, _reason(shape, order)).where(column(_REASON).isNotNull())
    numbered = changed.withColumns({_VERSION: F.row_number().over(order), _NEXT: F.lead(effective).over(order)})
    hidden = (_OLD, _WAS_CURRENT, _MOMENT, _NEWEST_OLD, _KNOWN_KEY, _VERSION)
    made = _injected(shape)
    # The start goes first: the id is made of it.
    started = numbered.withColumn(shape.settings.effective_from_field, made.pop(shape.settings.effective_from_field))
    return started.withColumns(made).select(*map(column, (*shape.written, *extras, *hidden)))


def _order(shape: Scd2Shape) -> list[Column]:
    """The order of a key's rows; rows that say the same stand together, the stored one last."""
    others = sorted(name for name in shape.data if name not in shape.tracked and name not in shape.keys)
    tracked = [comparable(column(name), shape.types[name]) for name in sorted(shape.tracked)]
    rest = F.xxhash64(F.lit(0), *(comparable(column(name), shape.types[name]) for name in others))
    if shape.timestamp:
        return [column(_MOMENT).asc_nulls_first(), *tracked, column(_OLD).asc(), rest]
    return [column(_OLD).desc(), moment(column(_EFFECTIVE), shape.effective_type), *tracked, rest]


def _is_replaced(shape: Scd2Shape, order: WindowSpec) -> Column:
    """Whether the next row of the key begins at the same time, so that this one is never valid."""
    same = F.lead(column(_EFFECTIVE)).over(order) == column(_EFFECTIVE)
    if shape.timestamp:
        same = same | (F.lead(column(_MOMENT)).over(order) == column(_MOMENT))
    return F.coalesce(same, F.lit(False))


def _reason(shape: Scd2Shape, order: WindowSpec) -> Column:
    """Why a row is a version of its own; NULL where it only repeats the one before."""
    changed = []
    for name in shape.tracked:
        value = comparable(column(name), shape.types[name])
        changed.append(F.when(~value.eqNullSafe(F.lag(value).over(order)), F.lit(name)))
    listed = F.concat_ws(",", *changed)
    first = F.row_number().over(order) == 1
    return F.when(first, F.lit(INITIAL_LOAD)).when(listed != "", listed)


def _injected(shape: Scd2Shape) -> dict[str, Column]:
    """The columns that the engine adds, by name."""
    said, is_first = shape.settings, column(_VERSION) == 1
    parts = [column(name) for name in (*shape.keys, said.effective_from_field)]
    made: dict[str | None, Column] = {
        said.effective_from_field: F.when(is_first, shape.origin).otherwise(column(_EFFECTIVE)),
        said.effective_to_field: F.coalesce(column(_NEXT), shape.open_end),
        said.current_flag_field: column(_NEXT).isNull(),
        said.version_column: column(_VERSION),
        said.change_reason_column: column(_REASON),
    }
    if said.surrogate_key:
        kind = shape.types[said.surrogate_key]
        made[said.surrogate_key] = surrogate(parts, said.surrogate_key_strategy, said.surrogate_key, kind)
    return {name: value.cast(shape.types[name]) for name, value in made.items() if name}


def _all_new(history: DataFrame) -> DataFrame:
    marks = {ACTION: F.lit(INSERT), _NEW_KEY: column(_VERSION) == 1, _CLOSED: F.lit(False), _LATE: F.lit(False)}
    return history.withColumns(marks).drop(_OLD, _WAS_CURRENT, _MOMENT, _NEWEST_OLD, _KNOWN_KEY, _VERSION)


def _changes(history: DataFrame, existing: DataFrame, shape: Scd2Shape, extras: tuple[str, ...]) -> DataFrame:
    """Where the history differs from the table, row by row; a version is known by its key and its start."""
    said = shape.settings
    identity = (*shape.keys, said.effective_from_field)
    after, before = (frame.withColumn(_PRESENT, F.lit(True)) for frame in (history, existing))
    joined = after.alias("s").join(before.alias("t"), same_key(identity), "full_outer")
    in_after, in_before = (column_of(side, _PRESENT).isNotNull() for side in ("s", "t"))
    names = (*shape.written, *extras)
    types = {**types_by_name(existing), **shape.types}
    pairs = [
        comparable(column_of("s", n), types[n]).eqNullSafe(comparable(_before(existing, n, types[n]), types[n]))
        for n in names
        if n not in shape.stamps and n not in identity
    ]
    same = reduce(Column.__and__, pairs, F.lit(True))
    action = F.when(~in_before, INSERT).when(~in_after, DELETE).when(~same, UPDATE)
    late = column_of("s", _MOMENT) <= column_of("s", _NEWEST_OLD) if shape.timestamp else F.lit(False)
    marks = {
        ACTION: action,
        _NEW_KEY: in_after & ~column_of("s", _KNOWN_KEY) & (column_of("s", _VERSION) == 1),
        _CLOSED: in_after & column_of("s", _WAS_CURRENT) & ~column_of("s", said.current_flag_field).cast("boolean"),
        _LATE: in_after & ~column_of("s", _OLD) & F.coalesce(late, F.lit(False)),
    }
    # A version that is no more is found by its identity alone.
    values = [F.when(in_after, column_of("s", n)).otherwise(_before(existing, n, types[n])).alias(n) for n in names]
    found = joined.select(*values, *(value.alias(name) for name, value in marks.items()))
    return found.where(column(ACTION).isNotNull())


def _before(existing: DataFrame, name: str, kind: T.DataType) -> Column:
    return F.lit(None).cast(kind) if find_column(existing, name) is None else column_of("t", name)


def _with_unknown(
    spark: SparkSession,
    changes: DataFrame,
    table: DataFrame | None,
    batch: DataFrame,
    shape: Scd2Shape,
) -> DataFrame:
    """The unknown member among the changes, where the table has none yet."""
    changes = changes.withColumn(_UNKNOWN, F.lit(False))
    said, member = shape.settings, shape.unknown
    if member is None:
        return changes
    names = [name for name in shape.written if name not in shape.stamps]
    schema = T.StructType([T.StructField(name, shape.types[name]) for name in names])
    fixed: dict[str | None, Column] = {
        said.surrogate_key: F.lit(member.surrogate_key_value),
        said.effective_from_field: shape.origin,
        said.effective_to_field: shape.open_end,
        said.current_flag_field: F.lit(True),
        said.version_column: F.lit(1),
        said.change_reason_column: F.lit(INITIAL_LOAD),
    }
    row = unknown_member(spark, schema, member, {name: value for name, value in fixed.items() if name})
    identity = [said.surrogate_key] if said.surrogate_key else [*shape.keys, said.effective_from_field]
    if table is not None and all(find_column(table, name) for name in identity):
        row = row.alias("s").join(table.alias("t"), same_key(identity), "left_anti")
    stamps = [name for name in shape.written if name in shape.stamps]
    if stamps:
        # A run stamps all its rows alike, but for the file they came from.
        row = row.crossJoin(batch.agg(*(F.max(column(name)).alias(name) for name in stamps)))
    marks = {ACTION: F.lit(INSERT), _UNKNOWN: F.lit(True)}
    return changes.unionByName(row.withColumns(marks), allowMissingColumns=True)


def _matched_on(shape: Scd2Shape, identity: list[str]) -> Column:
    matched_on = same_key(identity)
    surrogate_key = shape.settings.surrogate_key
    if shape.unknown is None or surrogate_key is None:
        return matched_on
    # A real row may have the very key that the unknown member was given.
    return matched_on & is_unknown(column_of("t", surrogate_key), shape.unknown).eqNullSafe(column_of("s", _UNKNOWN))


def _counted(changes: DataFrame) -> tuple[tuple[int, int, int, int], Changed]:
    """New keys, further versions, closed and late ones; and what is done to the table for them."""
    inserted = (column(ACTION) == INSERT) & ~column(_UNKNOWN)
    found = changes.agg(
        F.count_if(inserted & column(_NEW_KEY)).alias("new_keys"),
        F.count_if(inserted).alias("inserted"),
        F.count_if(column(_CLOSED)).alias("closed"),
        F.count_if(column(_LATE)).alias("late"),
        *measures_of(changes),
    ).collect()[0]
    return (found.new_keys, found.inserted - found.new_keys, found.closed, found.late), changed(found.asDict())

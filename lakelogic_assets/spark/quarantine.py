"""Bad rows with every reason, kept in a table of their own: once per window, however often it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import column, quoted, text_literal
from lakelogic_assets.spark.lineage import stamp
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.masking import mask, mask_map
from lakelogic_assets.spark.properties import table_properties
from lakelogic_assets.spark.quality.one_pass import Stage
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, cast, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.session import jvm_pid
from lakelogic_assets.spark.since import Since
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.tally import Tally
from lakelogic_assets.spark.windows import window_filter, window_sql

SOURCE_COLUMN = f"{HIDDEN_PREFIX}source"


@dataclass(frozen=True)
class Judged:
    """What was read, and the column of time that cut it out of the source; None where something else did."""

    window: Window
    cut_by: str | None
    since: Since | None = None
    """From where on rows were read, where there is no window."""

    @property
    def candidates(self) -> tuple[str, ...]:
        return (self.cut_by,) if self.cut_by else ()


@dataclass(frozen=True)
class BadRows:
    """The rows to quarantine and, after they were written, how often each rule failed."""

    frame: DataFrame
    observations: tuple[tuple[Stage, Tally], ...]

    def failures(self) -> dict[str, int]:
        """Rule → rows that broke it; schema reasons count under their text."""
        found: dict[str, int] = {}
        for stage, observation in self.observations:
            for name, rows in stage.failures(observation).items():
                found[name] = found.get(name, 0) + rows
        return found

    def count(self) -> int:
        return sum(int(observation.get["rows"]) for _, observation in self.observations)


def bad_rows(stages: Sequence[Stage], scope: Scope, read: SourceRead, window: str) -> BadRows | None:
    """The bad rows of stages that have any, masked and stamped like good ones."""
    if not stages:
        return None
    found = [(stage, *stage.bad()) for stage in stages]
    frame = reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True), [rows for _, rows, _ in found]
    )
    return BadRows(_finished(frame, scope, read, window), tuple((stage, counts) for stage, _, counts in found))


def _finished(frame: DataFrame, scope: Scope, read: SourceRead, window: str) -> DataFrame:
    engine = (names.ERRORS_COLUMN, names.CATEGORIES_COLUMN, names.RAW_COLUMN)
    business = sorted(name for name in frame.columns if name not in engine and not name.startswith(HIDDEN_PREFIX))
    identity = ", ".join(f"CAST({quoted(name)} AS STRING)" for name in (*business, names.RAW_COLUMN))
    contract = scope.contract
    frame = frame.withColumns(
        {
            names.RAW_COLUMN: mask_map(column(names.RAW_COLUMN), contract),
            names.QUARANTINE_STATE_COLUMN: F.lit("active"),
            names.QUARANTINE_REPROCESSED_COLUMN: F.lit(False),
            names.QUARANTINE_CONTRACT_COLUMN: F.lit("/".join(contract.key)),
            names.WINDOW_COLUMN: F.lit(window),
        }
    )
    # Of what is shown: a hash of the values as they came would let anybody try out what was masked.
    frame = mask(frame, contract, scope.spark).withColumn(names.ROW_ID_COLUMN, F.expr(f"hex(xxhash64({identity}))"))
    if not contract.quarantine.include_error_reason:
        frame = frame.drop(names.ERRORS_COLUMN, names.CATEGORIES_COLUMN)
    row_source = column(SOURCE_COLUMN) if SOURCE_COLUMN in frame.columns else None
    stamped = stamp(frame, scope, row_source, read.name)
    return stamped.drop(*[name for name in stamped.columns if name.startswith(HIDDEN_PREFIX)])


def write_quarantine(
    rows: BadRows | None,
    path: str,
    scope: Scope,
    judged: Judged,
    own: Sequence[str],
    app: str,
    generation: int,
    metadata: str,
) -> int | None:
    """Replace what this window left in quarantine by what it leaves now; the version, or None when nothing changes.

    Rows of other windows that `judged` reaches into were judged again and are replaced too. `own` are its names there:
    the present one, and those of runs that this one stands for.
    """
    if rows is None and not delta_log.is_table(path):
        return None
    # Several contracts may share a quarantine, and each holds only the lock of its own table.
    with table_lock(path, jvm_pid(scope.spark)):
        replaced = _replaced(path, scope, judged, own)
        nothing = replaced.is_nothing(path)
        looks = len(own) > 1 or not judged.window.is_full or judged.since is not None
        if rows is None and (nothing or not _has_rows(path, scope, app, replaced.where, looks=looks)):
            return None
        if rows is None:
            rows_frame = scope.spark.read.format("delta").load(path).limit(0)
        else:
            rows_frame = _fitted(rows.frame, path, scope)
        options = {"txnAppId": app, "txnVersion": str(generation), "mergeSchema": "true"}
        return _write(rows_frame, path, None if nothing else replaced.where, options, metadata)


def _write(rows: DataFrame, path: str, where: str | None, options: Mapping[str, str], metadata: str) -> int:
    """Add the rows; `where` tells those that give way, None that there are none.

    The plain writer would first ask the log in three jobs whether it has this very commit, which the caller knows.
    """
    driver = driver_of(rows.sparkSession)
    held = driver.hold(
        driver.storable(rows),
        path,
        mode="Append" if where is None else "Overwrite",
        options=options if where is None else {**options, "replaceWhere": where},
        properties={} if delta_log.is_table(path) else table_properties(rows),
    )
    return held.commit(metadata)


def _has_rows(path: str, scope: Scope, app: str, where: str, *, looks: bool) -> bool:
    """Whether something of the window may be in quarantine, left by it or by another that reaches into it."""
    if delta_log.transaction_version(path, app) is not None:
        return True
    overwrites = scope.contract.quarantine.write_mode == "overwrite"
    if not (looks or overwrites):
        return False
    return not scope.spark.read.format("delta").load(path).where(where).isEmpty()


@dataclass(frozen=True)
class _Replaced:
    """What the new rows stand instead of, for Spark and, where it can be said there, for a reader without it."""

    where: str
    filter: pads.Expression | None

    def is_nothing(self, path: str) -> bool:
        """Whether a look into the files is enough to know that there is no such row.

        Replacing nothing takes Spark six jobs, which is most of what a small run costs; adding rows takes two.
        """
        if not delta_log.is_table(path):
            return True
        table = DeltaTable(path)
        if not {names.QUARANTINE_CONTRACT_COLUMN, names.WINDOW_COLUMN} <= {each.name for each in table.schema().fields}:
            return True  # the quarantine of another program
        if self.filter is None or "://" in path or table.protocol().min_reader_version > 1:
            return False
        reading = pads.ParquetReadOptions(coerce_int96_timestamp_unit="us")
        try:
            rows = table.to_pyarrow_dataset(parquet_read_options=reading).head(1, columns=[], filter=self.filter)
        except pa.ArrowException:
            return False  # Spark says what is wrong with the file
        return bool(rows.num_rows == 0)


def _replaced(path: str, scope: Scope, judged: Judged, names_of_it: Sequence[str]) -> _Replaced:
    """Rows of the window, or with `write_mode: overwrite` all of the contract."""
    key = "/".join(scope.contract.key)
    owner = f"{names.QUARANTINE_CONTRACT_COLUMN} = {text_literal(key)}"
    owned = pads.field(names.QUARANTINE_CONTRACT_COLUMN) == key
    if scope.contract.quarantine.write_mode == "overwrite":
        return _Replaced(owner, owned)
    own = f"{names.WINDOW_COLUMN} IN ({', '.join(map(text_literal, names_of_it))})"
    named = pads.field(names.WINDOW_COLUMN).isin(list(names_of_it))
    if not delta_log.is_table(path):
        return _Replaced(f"{owner} AND {own}", owned & named)
    types = types_of(scope.spark.read.format("delta").load(path))
    if judged.since is not None and judged.window.is_full:
        again, kept = judged.since.sql(types), judged.since.filter(types)
        if again is None:
            return _Replaced(f"{owner} AND {own}", owned & named)
        return _Replaced(f"{owner} AND ({own} OR ({again}))", None if kept is None else owned & (named | kept))
    bounds = window_sql(types, judged.candidates, judged.window)
    if bounds is None:
        return _Replaced(f"{owner} AND {own}", owned & named)
    within = window_filter(types, judged.candidates, judged.window)
    return _Replaced(f"{owner} AND ({own} OR ({bounds}))", None if within is None else owned & (named | within))


def _fitted(frame: DataFrame, path: str, scope: Scope) -> DataFrame:
    """Bad rows of a changed contract still fit the table that is there: its types stay."""
    if not delta_log.is_table(path):
        return frame
    there = {f.name.casefold(): f for f in scope.spark.read.format("delta").load(path).schema.fields}
    shaped = []
    for field in frame.schema.fields:
        known = there.get(field.name.casefold())
        if known is None or known.dataType.simpleString() == field.dataType.simpleString():
            shaped.append(column(field.name))
        else:
            shaped.append(cast(column(field.name), field.dataType, known.dataType).alias(field.name))
    return frame.select(*shaped)

"""Good rows become a table: evaluated once, judged, and only then committed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import DatasetRule
from lakelogic_assets.errors import EngineError, SchemaError, TableGoneError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import DatasetRuleOutcome
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.driver import Held, driver_of
from lakelogic_assets.spark.evaluation import Evaluation, judge_all
from lakelogic_assets.spark.former_runs import FormerRuns
from lakelogic_assets.spark.identifiers import column, quoted, text_literal
from lakelogic_assets.spark.lineage import stamp
from lakelogic_assets.spark.masking import mask
from lakelogic_assets.spark.materialization.merge import merge_rows
from lakelogic_assets.spark.materialization.scd2 import apply_scd2
from lakelogic_assets.spark.materialization.transaction import Txn
from lakelogic_assets.spark.properties import declared_properties, described, table_properties
from lakelogic_assets.spark.quality.dataset_rules import columns_of, judge
from lakelogic_assets.spark.quarantine import SOURCE_COLUMN
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, transient_columns, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.windows import cut_column, time_candidates, window_id, window_sql

KEYED_STRATEGIES = ("merge", "scd2")


@dataclass(frozen=True)
class Attempt:
    """One evaluation of one window: `name` is the window's in its traces, `app` and `generation` its commits'."""

    window: Window
    name: str
    app: str
    generation: int
    replaces: bool = True
    """Whether rows that are there may give way; a change of columns alone touches none."""
    reprocess: bool = False
    """Whether rows of the window that the source no longer has give way too, where rows are merged by key."""
    former: FormerRuns | None = None
    """The runs that have read some of the same, for tables in which no column tells."""
    withdrawn: bool = False
    """The window's files were all taken back, so there is nothing to read any more."""


@dataclass(frozen=True)
class Prepared:
    """Rows that are evaluated and written somewhere, not yet part of the table."""

    counts: tuple[int, int, int]
    """Rows that were read, that are good, that are bad."""
    commit: Callable[[str], int]
    discard: Callable[[], None]
    judged: Callable[[], tuple[DatasetRuleOutcome, ...]]
    shown: Callable[[int], DataFrame]
    """Some of the rows as a reader sees them; after the commit."""


def prepare(evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, attempt: Attempt) -> Prepared:
    """Run the one job that evaluates the contract; what it leaves can be committed or discarded."""
    if scope.contract.materialization.format == parquet_table.FORMAT:
        return _as_files(evaluation, scope, read, target, attempt)
    if scope.contract.materialization.strategy in KEYED_STRATEGIES:
        return _staged(evaluation, scope, read, target, attempt)
    return _held(evaluation, scope, read, target, attempt)


def finished(frame: DataFrame, scope: Scope, read: SourceRead) -> DataFrame:
    """Masked, stamped and without the engine's own columns: what a reader of the table sees."""
    row_source = column(SOURCE_COLUMN) if SOURCE_COLUMN in frame.columns else None
    stamped = stamp(mask(frame, scope.contract, scope.spark), scope, row_source, read.name)
    return stamped.drop(*[name for name in stamped.columns if name.startswith(HIDDEN_PREFIX)])


def _held(evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, attempt: Attempt) -> Prepared:
    contract = scope.contract
    rows = finished(evaluation.good, scope, read)
    if contract.materialization.strategy == "append":
        rows = rows.withColumn(names.WINDOW_COLUMN, F.lit(window_id(attempt.name)).cast("bigint"))
    mode, where = _write_mode(scope, target, attempt, rows, read)
    if evaluation.counts_itself and (where or "://" in target):
        # Such a write copies rows of other windows along, or its files cannot be asked how many they hold.
        return _held(evaluation.counted(), scope, read, target, attempt)
    rows = described(rows, contract)
    options = {
        "txnAppId": attempt.app,
        "txnVersion": str(attempt.generation),
        **evolution_options(rows, scope, target, mode, where),
    }
    if where:
        options["replaceWhere"] = where
    elif mode == "Overwrite" and _brings_partitions(contract):
        options["partitionOverwriteMode"] = "dynamic"
    properties = {**table_properties(rows), **declared_properties(contract, rows)}
    held = driver_of(scope.spark).hold(
        rows,
        target,
        mode=mode,
        options=options,
        partition_by=contract.materialization.partition_by,
        properties=properties,
    )
    if "partitionOverwriteMode" in options and not _was_written(target, attempt) and held.replaces():
        held.discard()
        raise EngineError(
            "Some of the new rows belong to partitions that earlier runs have filled, and a partition is replaced as a "
            "whole: run these days by their windows, or write `materialization.strategy: append`."
        )
    own = where or _own_window(contract, attempt)

    def shown(limit: int) -> DataFrame:
        table = scope.spark.read.format("delta").load(target)
        return (table.where(own) if own else table).limit(limit)

    def judged() -> tuple[DatasetRuleOutcome, ...]:
        return judge_all(evaluation, scope, lambda rules: _judge_files(held, rows, where, rules, evaluation, scope))

    counts = evaluation.counts(held.rows() if evaluation.counts_itself else None)
    return Prepared(counts, held.commit, held.discard, judged, shown)


def _as_files(evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, attempt: Attempt) -> Prepared:
    """Plain files, for tables that are not Delta's."""
    evaluation = evaluation.counted()
    staged = parquet_table.stage(
        finished(evaluation.good, scope, read), target, scope.contract, attempt.name, attempt.window
    )

    def commit(metadata: str) -> int:
        staged.publish(json.loads(metadata))
        return attempt.generation

    def late(rules: Sequence[DatasetRule]) -> tuple[DatasetRuleOutcome, ...]:
        readable = _readable(rules, scope.contract)
        return judge(staged.read(scope.spark) if readable else evaluation.good, rules, scope, as_stored=readable)

    def judged() -> tuple[DatasetRuleOutcome, ...]:
        return judge_all(evaluation, scope, late)

    return Prepared(
        evaluation.counts(), commit, staged.discard, judged, lambda limit: scope.spark.read.parquet(target).limit(limit)
    )


def _staged(evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, attempt: Attempt) -> Prepared:
    """MERGE reads its source more than once, so the evaluated rows are kept on disk until it is done."""
    evaluation = evaluation.counted()
    existed = delta_log.is_table(target)
    staged = driver_of(scope.spark).evaluated(evaluation.good)
    contract = scope.contract

    def commit(metadata: str) -> int:
        if existed and not delta_log.is_table(target):
            raise TableGoneError(f"{target} was removed while it was written; run again to make it anew.")
        batch = described(finished(staged, scope, read), contract)
        txn = Txn(attempt.app, attempt.generation, metadata)
        properties = {**table_properties(batch), **declared_properties(contract, batch)}
        if contract.materialization.strategy == "scd2":
            result = apply_scd2(
                scope.spark, batch, target, contract, txn=txn, run_timestamp=scope.started_at, properties=properties
            )
            if result.late:
                scope.warn(f"{result.late} late rows were placed into the history of their keys.")
            return result.version
        merged = merge_rows(
            scope.spark, batch, target, contract, txn=txn, run_timestamp=scope.started_at,
            properties=properties, transient=transient_columns(contract),
            replaced=_given_up(scope, target, attempt, read),
        )  # fmt: skip
        if merged.withdrawn:
            scope.warn(f"{merged.withdrawn} rows of the window are gone from the source and were removed.")
        return merged.version

    def discard() -> None:
        staged.unpersist()

    return Prepared(
        evaluation.counts(),
        commit,
        discard,
        lambda: judge_all(evaluation, scope, lambda rules: judge(staged, rules, scope)),
        lambda limit: finished(staged.limit(limit), scope, read),
    )


def _given_up(scope: Scope, target: str, attempt: Attempt, read: SourceRead) -> str | None:
    """The rows of a rebuilt window, by the column of the table that the contract rebuilds by; None keeps them all."""
    materialization = scope.contract.materialization
    named = materialization.reprocess_date_column or next(iter(materialization.partition_by), None)
    keeps = materialization.reprocess_policy in ("append", "fail")
    if not attempt.reprocess or named is None or keeps or not delta_log.is_table(target):
        return None
    # Else a row of the window may lie in another window of the source.
    cut = cut_column(scope.contract, attempt.window, types_of(read.frame)) if scope.contract.source else None
    if (cut or "").casefold() != named.casefold():
        if attempt.withdrawn:
            _warn_that_rows_stay(scope, attempt)
        return None
    there = types_of(scope.spark.read.format("delta").load(target))
    return window_sql(there, (named,), attempt.window, "t")


def _judge_files(
    held: Held,
    rows: DataFrame,
    where: str | None,
    rules: Sequence[DatasetRule],
    evaluation: Evaluation,
    scope: Scope,
) -> tuple[DatasetRuleOutcome, ...]:
    """Judge what was written, column by column from the new files, unless masking changed a column that is judged.

    What a replacing write copies of other windows lies among the new files too, and is none of this run's rows.
    """
    readable = _readable(rules, scope.contract) and not scope.contract.materialization.partition_by
    written = held.read() if readable and not table_properties(rows) else None
    if written is None:
        return judge(evaluation.good, rules, scope)
    return judge(written.where(where) if where else written, rules, scope, as_stored=True)


def _readable(rules: Sequence[DatasetRule], contract: Contract) -> bool:
    """Whether masked rows answer the rules like clear ones."""
    wanted = columns_of(rules)
    masked = {field.name for field in contract.model.fields if field.masking not in (None, "hash", "tokenize")}
    return wanted is not None and not wanted & masked


def _write_mode(
    scope: Scope, target: str, attempt: Attempt, rows: DataFrame, read: SourceRead
) -> tuple[str, str | None]:
    """How the new files relate to what is there: beside it, instead of it, or instead of one window of it."""
    contract, window = scope.contract, attempt.window
    materialization = contract.materialization
    if not attempt.replaces:
        return "Append", None
    if not delta_log.is_table(target):
        return ("Append" if materialization.strategy == "append" else "Overwrite"), None
    there = set(scope.spark.read.format("delta").load(target).columns)
    types = {name: kind for name, kind in types_of(rows).items() if name in there}
    if materialization.strategy != "append":
        where = window_sql(types, time_candidates(contract, window), window)
        if where is None and attempt.withdrawn:
            _warn_that_rows_stay(scope, attempt)
            return "Append", None
        return "Overwrite", where
    own = _own_window(contract, attempt) if names.WINDOW_COLUMN in there else "FALSE"
    if materialization.reprocess_policy != "append" and (others := _of_others(scope, attempt, types, read)):
        # Another window that reaches into this one may have written some of its rows.
        return "Overwrite", f"({own}) OR ({others})"
    if attempt.reprocess and materialization.reprocess_policy == "append":
        return "Append", None
    # Only a window that was written before has rows to replace.
    return ("Overwrite", own) if _was_written(target, attempt) else ("Append", None)


def _warn_that_rows_stay(scope: Scope, attempt: Attempt) -> None:
    scope.warn(
        f"The source has no file of {attempt.window.key} any more, and no column of the table tells which rows came "
        "from there, so they stay."
    )


def _of_others(scope: Scope, attempt: Attempt, types: Mapping[str, str], read: SourceRead) -> str | None:
    """The window's rows that other runs may have appended, as SQL over the table's columns; None where there are none.

    They are told by the column that cut the window out of the source, else by the runs that have read the same, and
    by the files that rows came from.
    """
    contract, window, former = scope.contract, attempt.window, attempt.former
    cut = cut_column(contract, window, types_of(read.frame))
    told = window_sql(types, (cut,) if cut else (), window)
    if told or former is None or window.is_full:
        return told
    tests = []
    if former.within:
        tests.append(f"{names.WINDOW_COLUMN} IN ({', '.join(str(window_id(name)) for name in former.within)})")
    file = contract.lineage.columns.get("source_path")
    if former.beside and file in types and former.paths:
        tests.append(f"{file} IN ({', '.join(map(text_literal, sorted(former.paths)))})")
    elif former.beside and (by_time := window_sql(types, time_candidates(contract, window), window)):
        scope.warn(
            f"Other runs have read the same, and the table does not tell their rows: those of {window.key} by its "
            "column of time are replaced. With `lineage: {enabled: true}` rows say which file they came from."
        )
        tests.append(by_time)
    if not tests:
        return None
    of_the_value = [window_sql(types, (), Window(window.key, values=window.values))] if window.values else []
    if None in of_the_value:
        scope.warn(f"The table has no column that tells the rows of {window.key}, so those of other runs stay.")
        return None
    return " AND ".join(f"({test})" for test in (" OR ".join(f"({test})" for test in tests), *of_the_value))


def _was_written(target: str, attempt: Attempt) -> bool:
    return delta_log.transaction_version(target, attempt.app) is not None


def _brings_partitions(contract: Contract) -> bool:
    """Whether a run without a window brings some partitions anew and knows nothing of the others."""
    materialization, source = contract.materialization, contract.source
    reads_news = source is not None and source.load_mode != "full"
    return materialization.strategy == "partition" and bool(materialization.partition_by) and reads_news


def cluster(contract: Contract, spark: SparkSession, target: str) -> None:
    """Give the table the order that the contract says; partitions are an order of their own, which OPTIMIZE refines."""
    wanted = contract.materialization.cluster_by
    if not wanted or contract.materialization.partition_by:
        return
    detail = spark.sql(f"DESCRIBE DETAIL delta.{quoted(target)}").collect()[0]
    if list(detail["clusteringColumns"]) != list(wanted):
        spark.sql(f"ALTER TABLE delta.{quoted(target)} CLUSTER BY ({', '.join(map(quoted, wanted))})")


def _own_window(contract: Contract, attempt: Attempt) -> str | None:
    """What tells the rows of an append from those of all others."""
    if contract.materialization.strategy != "append":
        return None
    return f"{names.WINDOW_COLUMN} = {window_id(attempt.name)}"


def evolution_options(rows: DataFrame, scope: Scope, target: str, mode: str, where: str | None) -> dict[str, str]:
    """Whether the table may change its shape, by the contract's policy."""
    if not delta_log.is_table(target):
        return {}
    evolution = scope.contract.policy.evolution
    if evolution == "overwrite" and mode == "Overwrite" and where is None:
        return {"overwriteSchema": "true"}
    there = {name.casefold(): kind for name, kind in types_of(scope.spark.read.format("delta").load(target)).items()}
    here = {name.casefold(): kind for name, kind in types_of(rows).items()}
    added = [name for name in here if name not in there]
    changed = [name for name in here if name in there and here[name] != there[name]]
    narrowed = [name for name in changed if not (_widens(there[name], here[name]) or _widens(here[name], there[name]))]
    if narrowed or (evolution == "strict" and (added or changed)):
        name = (narrowed or added or changed)[0]
        how = f"is {there[name]} in the table and {here[name]} in the rows" if name in there else "is not in the table"
        raise SchemaError(f"The column `{name}` {how}; `schema_policy.evolution: {evolution}` does not allow that.")
    if any(_widens(there[name], here[name]) for name in changed):
        scope.spark.sql(f"ALTER TABLE delta.{quoted(target)} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    return {"mergeSchema": "true"} if added or changed else {}


_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "double"),
    "smallint": ("int", "bigint", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}


def _widens(narrow: str, wide: str) -> bool:
    return wide in _WIDER.get(narrow, ()) or (narrow.startswith("decimal") and wide.startswith("decimal"))


def commit_metadata(values: dict[str, Any]) -> str:
    """What stands in the commit itself: enough to prove where every row went."""
    return json.dumps({"lakelogic": 1, **values}, sort_keys=True, default=str)

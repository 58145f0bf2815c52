"""Good rows become a table: evaluated once, judged, and only then committed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import dataset_rules
from lakelogic_assets.errors import SchemaError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.run import DatasetRuleOutcome
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.evaluation import Evaluation
from lakelogic_assets.spark.held_write import HeldWrite, hold
from lakelogic_assets.spark.identifiers import column, quoted, text_literal
from lakelogic_assets.spark.lineage import stamp
from lakelogic_assets.spark.masking import mask
from lakelogic_assets.spark.materialization.merge import merge_rows
from lakelogic_assets.spark.materialization.scd2 import apply_scd2
from lakelogic_assets.spark.materialization.transaction import Txn
from lakelogic_assets.spark.quality.dataset_rules import columns_of, judge
from lakelogic_assets.spark.quarantine import SOURCE_COLUMN, table_properties
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, transient_columns, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead

KEYED_STRATEGIES = ("merge", "scd2")


@dataclass(frozen=True)
class Prepared:
    """Rows that are evaluated and written somewhere, not yet part of the table."""

    commit: Callable[[str], int]
    discard: Callable[[], None]
    judged: Callable[[], tuple[DatasetRuleOutcome, ...]]


def prepare(
    evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, window: Window, app: str, generation: int
) -> Prepared:
    """Run the one job that evaluates the contract; what it leaves can be committed or discarded."""
    strategy = scope.contract.materialization.strategy
    if strategy in KEYED_STRATEGIES:
        return _staged(evaluation, scope, read, target, app, generation)
    return _held(evaluation, scope, read, target, window, app, generation)


def finished(frame: DataFrame, scope: Scope, read: SourceRead) -> DataFrame:
    """Masked, stamped and without the engine's own columns: what a reader of the table sees."""
    row_source = column(SOURCE_COLUMN) if SOURCE_COLUMN in frame.columns else None
    stamped = stamp(mask(frame, scope.contract, scope.spark), scope, row_source, read.name)
    return stamped.drop(*[name for name in stamped.columns if name.startswith(HIDDEN_PREFIX)])


def _held(
    evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, window: Window, app: str, generation: int
) -> Prepared:
    contract = scope.contract
    rows = finished(evaluation.good, scope, read)
    mode, where = _write_mode(contract, target, window, app)
    if contract.materialization.strategy == "append":
        rows = rows.withColumn(names.WINDOW_COLUMN, F.lit(app.rsplit("|", 1)[-1]))
    rows = described(rows, contract)
    options = {"txnAppId": app, "txnVersion": str(generation), **evolution_options(rows, scope, target, mode, where)}
    if where:
        options["replaceWhere"] = where
    properties = {**table_properties(rows), **declared_properties(contract)}
    partition_by = contract.materialization.partition_by
    held = hold(rows, target, mode=mode, options=options, partition_by=partition_by, properties=properties)
    return Prepared(held.commit, held.discard, lambda: _judge_files(held, rows, evaluation, scope))


def _staged(evaluation: Evaluation, scope: Scope, read: SourceRead, target: str, app: str, generation: int) -> Prepared:
    """MERGE reads its source more than once, so the evaluated rows are kept on disk until it is done."""
    staged = evaluation.good.localCheckpoint(eager=True)
    contract = scope.contract

    def commit(metadata: str) -> int:
        batch = described(finished(staged, scope, read), contract)
        txn = Txn(app, generation, metadata)
        properties = {**table_properties(batch), **declared_properties(contract)}
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
        )  # fmt: skip
        return merged.version

    def discard() -> None:
        staged.unpersist()

    return Prepared(commit, discard, lambda: judge(staged, dataset_rules(contract), scope))


def _judge_files(
    held: HeldWrite, rows: DataFrame, evaluation: Evaluation, scope: Scope
) -> tuple[DatasetRuleOutcome, ...]:
    """Judge what was written, column by column from the new files, unless masking changed a column that is judged."""
    rules = dataset_rules(scope.contract)
    if not rules:
        return ()
    wanted = columns_of(rules)
    masked = {field.name for field in scope.contract.model.fields if field.masking not in (None, "hash", "tokenize")}
    files = held.files()
    readable = wanted is not None and not wanted & masked and not scope.contract.materialization.partition_by
    if not readable or not files or table_properties(rows):
        return judge(evaluation.good, rules, scope)
    return judge(scope.spark.read.schema(rows.schema).parquet(*files), rules, scope)


def _write_mode(contract: Contract, target: str, window: Window, app: str) -> tuple[str, str | None]:
    """How the new files relate to what is there: beside it, instead of it, or instead of one window of it."""
    strategy = contract.materialization.strategy
    exists = delta_log.is_table(target)
    if strategy == "append":
        # Only a window that was written before has rows to replace.
        again = exists and delta_log.transaction_version(target, app) is not None
        where = f"{names.WINDOW_COLUMN} = {text_literal(app.rsplit('|', 1)[-1])}"
        return ("Overwrite", where) if again else ("Append", None)
    date_column = contract.materialization.reprocess_date_column or next(
        iter(contract.materialization.partition_by), None
    )
    if window.is_full or date_column is None or not exists:
        return "Overwrite", None
    moment = f"CAST({quoted(date_column)} AS TIMESTAMP)"
    bounds = [f"{moment} >= TIMESTAMP '{window.start:%Y-%m-%d %H:%M:%S}'" if window.start else ""]
    bounds.append(f"{moment} < TIMESTAMP '{window.end:%Y-%m-%d %H:%M:%S}'" if window.end else "")
    return "Overwrite", " AND ".join(bound for bound in bounds if bound)


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


def described(rows: DataFrame, contract: Contract) -> DataFrame:
    """The contract's descriptions as the columns' comments."""
    texts = {field.name: field.description for field in contract.model.fields if field.description}
    if not texts:
        return rows
    return rows.select(
        *[
            column(n).alias(n, metadata={"comment": " ".join(texts[n].split())}) if n in texts else column(n)
            for n in rows.columns
        ]
    )


def declared_properties(contract: Contract) -> dict[str, str]:
    """Table properties of the contract; statistics leave out personal data, which would outlive its deletion."""
    declared = contract.materialization.table_properties or {}
    properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in declared.items()}
    if any(field.is_personal for field in contract.model.fields) and "delta.dataSkippingStatsColumns" not in properties:
        properties["delta.dataSkippingStatsColumns"] = ",".join(_without_personal_data(contract)[:32])
    return properties


def _without_personal_data(contract: Contract) -> list[str]:
    """The columns Delta may keep minima and maxima of; it has none for partition columns and some types."""
    without = ("ARRAY", "MAP", "STRUCT", "BINARY", "VARIANT", "BOOLEAN")
    partitions = set(contract.materialization.partition_by)
    return [
        field.name
        for field in contract.model.fields
        if not (field.is_personal or field.masking or field.name in partitions)
        and field.spark_type.split("<")[0] not in without
        and field.name.replace("_", "").isalnum()
    ]


def commit_metadata(values: dict[str, Any]) -> str:
    """What stands in the commit itself: enough to prove where every row went."""
    return json.dumps({"lakelogic": 1, **values}, sort_keys=True, default=str)

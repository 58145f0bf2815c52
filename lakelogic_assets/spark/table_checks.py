"""A contract's rules against what is in its table already: looked at in one pass, written nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules, row_rules
from lakelogic_assets.contract.sql import current_frame, is_query, query_facts
from lakelogic_assets.errors import EngineError, NotFoundError
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.evaluation import references
from lakelogic_assets.spark.execute import opened_scope
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.freshness import freshness_column, latest, moment_text
from lakelogic_assets.spark.identifiers import column, find_name
from lakelogic_assets.spark.masking import masked_fields
from lakelogic_assets.spark.quality.dataset_rules import columns_of, judge
from lakelogic_assets.spark.quality.one_pass import Stage, judged_rules
from lakelogic_assets.spark.reporting import blank_report
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.schema import types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.tables import Lakehouse
from lakelogic_assets.spark.windows import rows_of_window, time_candidates, time_column, window_id

_KEEPS_IDENTITY = ("hash", "tokenize")
"""Masking that gives equal values equal texts, so that duplicates can still be told."""
_NEWEST = "newest"


def check_table(
    contract: Contract,
    spark: SparkSession,
    lakehouse: Lakehouse,
    destination: Destination,
    window: Window = FULL,
    request: RunRequest | None = None,
) -> RunReport:
    """What the rules find in the table, or in one window of it; `source` counts the rows that were looked at."""
    if not delta_log.is_table(destination.target):
        raise NotFoundError(f"{contract.table} has no table at {destination.target} yet: run it first.")
    try:
        return _checked(contract, spark, lakehouse, destination, window, request or RunRequest(window=window))
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error


def _checked(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, destination: Destination, window: Window,
    request: RunRequest,
) -> RunReport:  # fmt: skip
    warnings: list[str] = []
    with opened_scope(contract, spark, lakehouse, request, warnings) as scope:
        report = _looked_at(scope, destination, window)
    return replace(report, warnings=tuple(warnings), ended_at=datetime.now(UTC))


def _looked_at(scope: Scope, destination: Destination, window: Window) -> RunReport:
    contract = scope.contract
    version = delta_log.version(destination.target)
    frame = _of_window(scope.lakehouse.read(scope.spark, destination.target, version), scope, window)
    rules = row_rules(contract)
    skipped = {rule.name: note for rule in rules if (note := _unanswerable(rule, frame, contract))}
    fresh = freshness_column(contract)
    newest = latest(frame, fresh) if fresh else None
    further = {} if newest is None else {_NEWEST: newest}
    asked = [rule for rule in rules if rule.name not in skipped]
    stage = judged_rules(frame, asked, scope, references(scope), further)
    outcomes = _dataset_outcomes(stage, frame, scope)
    failed = stage.failure_counts() if stage.bad_rows else {}
    return replace(
        blank_report(scope, destination, window),
        counts=Counts(source=stage.rows, good=stage.rows),
        row_rules=tuple(_row_outcome(rule, failed, skipped) for rule in rules),
        dataset_rules=outcomes,
        source=destination.target,
        versions_read={destination.target: version} if version is not None else {},
        newest=moment_text(stage.measured(_NEWEST)),
    )


def _of_window(frame: DataFrame, scope: Scope, window: Window) -> DataFrame:
    """The window's rows by their time; where no column tells it, those that a run of that very window appended."""
    if window.is_full:
        return frame
    contract = scope.contract
    candidates = time_candidates(contract, window)
    bounded = window.start is not None or window.end is not None
    if bounded and time_column(types_of(frame), candidates) is None:
        if contract.materialization.strategy == "append" and names.WINDOW_COLUMN in frame.columns:
            return frame.where(column(names.WINDOW_COLUMN) == window_id(window.key))
        scope.warn("The table has no column of time, so all of it is looked at.")
        candidates = ()
    for test in rows_of_window(frame, candidates, window, contract.table):
        frame = frame.where(test)
    return frame


def _unanswerable(rule: RowRule, frame: DataFrame, contract: Contract) -> str | None:
    """Why the table cannot answer a rule: it lacks a column, or keeps something else in it than what was judged."""
    changed = {field.name.casefold() for field in masked_fields(contract)}
    return _why_not(rule.columns, frame, changed)


def _why_not(columns: Iterable[str], frame: DataFrame, changed: set[str]) -> str | None:
    for name in columns:
        if find_name(frame.columns, name) is None:
            return f"not evaluated: {name} is not in the table"
        if name.casefold() in changed:
            return f"not evaluated: {name} is masked in the table"
    return None


def _dataset_outcomes(stage: Stage, frame: DataFrame, scope: Scope) -> tuple[DatasetRuleOutcome, ...]:
    rules = dataset_rules(scope.contract)
    skipped: dict[str, str] = {}
    for rule in rules:
        if note := _dataset_unanswerable(rule, frame, scope.contract):
            skipped[rule.name] = note
    asked = [rule for rule in rules if rule.name not in skipped]
    answered = judge(frame, asked, scope, measured_on=stage.frame, as_stored=True)
    found = {outcome.name: outcome for outcome in answered}
    return tuple(
        found.get(rule.name)
        or DatasetRuleOutcome(
            rule.name, rule.severity, rule.category, None, note=skipped[rule.name], description=rule.description
        )
        for rule in rules
    )


def _dataset_unanswerable(rule: DatasetRule, frame: DataFrame, contract: Contract) -> str | None:
    tolerated = _KEEPS_IDENTITY if not isinstance(rule.test, str) else ()
    changed = {field.name.casefold() for field in masked_fields(contract) if field.masking not in tolerated}
    if isinstance(rule.test, str) and is_query(rule.test):
        read = {name.casefold() for name in query_facts(current_frame(rule.test)).columns}
        masked = sorted(read & changed)
        return f"not evaluated: {masked[0]} is masked in the table" if masked else None
    return _why_not(columns_of([rule]) or (), frame, changed)


def _row_outcome(rule: RowRule, failed: Mapping[str, int], skipped: Mapping[str, str]) -> RowRuleOutcome:
    return RowRuleOutcome(
        rule.name, rule.severity, rule.category, rule.phase, failed.get(rule.name, 0), rule.description,
        skipped.get(rule.name),
    )  # fmt: skip

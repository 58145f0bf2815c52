"""A contract against rows at hand: judged and counted, written nowhere."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.report.run import Counts, RunReport
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.evaluation import evaluate_source, judge_all
from lakelogic_assets.spark.execute import new_scope
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.publishing import finished
from lakelogic_assets.spark.quality.dataset_rules import judge
from lakelogic_assets.spark.quarantine import bad_rows
from lakelogic_assets.spark.reporting import blank_report, row_outcomes, schema_findings, warn_of_growth
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.given import read_given
from lakelogic_assets.spark.tables import Lakehouse


def judge_frame(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest
) -> tuple[DataFrame, DataFrame, RunReport]:
    """Good rows, bad rows and the report of a run that did not happen."""
    try:
        return _judged(contract, spark, lakehouse, request)
    except SparkFailure as error:
        raise EngineError(f"{contract.table}: {one_line(error)}") from error


def _judged(
    contract: Contract, spark: SparkSession, lakehouse: Lakehouse, request: RunRequest
) -> tuple[DataFrame, DataFrame, RunReport]:
    if request.frame is None:
        raise EngineError("validate() needs a frame.")
    warnings: list[str] = []
    scope = new_scope(contract, spark, lakehouse, request, warnings)
    try:
        good, bad, report = _looked_at(scope, request, request.frame)
    except Exception:
        # Only then: else the caller goes on with the rows, which are kept in this session.
        with driver_of(spark).released(scope.spark):
            raise
    return good, bad, replace(report, warnings=tuple(warnings), ended_at=datetime.now(UTC))


def _looked_at(scope: Scope, request: RunRequest, frame: DataFrame) -> tuple[DataFrame, DataFrame, RunReport]:
    read = read_given(scope, frame)
    evaluation = evaluate_source(read, scope, request.external_logic)
    # Kept on disk, so that what the caller looks at is what was counted.
    driver = driver_of(scope.spark)
    staged = driver.evaluated(evaluation.good)
    source, good, failed = evaluation.counts()
    counts = Counts(source, good, failed, source - good - failed)
    warn_of_growth(scope, counts)
    rows = bad_rows(evaluation.bad_stages(failed), scope, read, "validate")
    bad = driver.evaluated(rows.frame) if rows else _no_bad_rows(frame, scope.spark)
    failures = rows.failures() if rows else {}
    report = replace(
        blank_report(scope, None, request.window),
        counts=counts,
        row_rules=row_outcomes(scope.contract, evaluation, failures),
        dataset_rules=judge_all(evaluation, scope, lambda rules: judge(staged, rules, scope)),
        schema=schema_findings(evaluation),
        source="frame",
    )
    return finished(staged, scope, read), bad, report


def _no_bad_rows(frame: DataFrame, spark: SparkSession) -> DataFrame:
    empty = spark.createDataFrame([], frame.schema)
    return empty.withColumns(
        {
            names.ERRORS_COLUMN: F.lit(None).cast("array<string>"),
            names.CATEGORIES_COLUMN: F.lit(None).cast("array<string>"),
        }
    )

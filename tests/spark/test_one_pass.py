"""One pass: how often the source is read, and in how many jobs. What the optimizer does, not what was meant."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.execute import new_scope
from lakelogic_assets.spark.quality.one_pass import evaluate
from lakelogic_assets.spark.request import RunRequest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

RULES = "".join(f"    - {{name: r{n}, sql: v <> {n + 1000}}}\n" for n in range(40))
CONTRACT = (
    """
model: {fields: [{name: id, type: bigint, required: true}, {name: v, type: bigint}]}
source: {type: landing, path: in, format: parquet}
materialization: {strategy: append}
quality:
  row_rules:
"""
    + RULES
)


class Reads:
    """Counts the scans of source files and the jobs of one run, from Spark's own bookkeeping."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.tracker = sandbox.spark.sparkContext.statusTracker()
        self.context = sandbox.spark.sparkContext

    def jobs(self, run: object) -> int:
        group = f"counted {uuid.uuid4()}"
        self.context.setJobGroup(group, "counted")
        try:
            run()  # type: ignore[operator]
        finally:
            self.context.setLocalProperty("spark.jobGroup.id", None)
        return len(self.tracker.getJobIdsForGroup(group))


def write_rows(sandbox: Sandbox, rows: DataFrame) -> Path:
    path = sandbox.folder / "in"
    rows.coalesce(1).write.mode("overwrite").parquet(str(path))
    return path


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_rules_are_evaluated_below_the_fence_and_only_once(sandbox: Sandbox) -> None:
    write_rows(sandbox, sandbox.spark.range(100).selectExpr("id", "id AS v"))
    processor = sandbox.processor(CONTRACT)
    workspace = processor.workspace
    scope = new_scope(processor.contract, sandbox.spark, workspace.lakehouse(processor.contract), RunRequest(), [])
    frame = scope.spark.read.parquet(str(sandbox.folder / "in"))
    stage = evaluate(frame, row_rules(processor.contract), scope, "pre", lambda _: frame)
    plan = plan_of(stage.good())
    assert plan.count("FileScan") == 1
    assert len(re.findall(r"= 1039\b", plan)) == 1, "a rule stands once: the filter was not pushed through the masks"
    assert plan.index("Filter") < plan.index("CollectMetrics") < plan.index("1039")


def test_a_clean_run_reads_its_source_once_and_a_bad_row_costs_one_more(sandbox: Sandbox) -> None:
    write_rows(sandbox, sandbox.spark.range(100).selectExpr("id", "id AS v"))
    processor, reads = sandbox.processor(CONTRACT), Reads(sandbox)
    reports: list[RunReport] = []
    processor.run()  # creates the table
    write_rows(sandbox, sandbox.spark.range(100, 200).selectExpr("id", "id AS v"))
    clean = reads.jobs(lambda: reports.append(processor.run()))
    write_rows(sandbox, sandbox.spark.range(200, 300).selectExpr("id", "IF(id = 250, 1007, id) AS v"))
    bad = reads.jobs(lambda: reports.append(processor.run()))
    assert [report.counts.quarantined for report in reports] == [0, 1]
    assert reports[1].failed_row_rules == {"r7": 1}
    assert clean <= 2, f"{clean} jobs for clean rows"
    assert bad <= clean + 4, f"{bad} jobs for bad rows"


def test_an_incremental_run_with_nothing_new_starts_no_job(sandbox: Sandbox) -> None:
    write_rows(sandbox, sandbox.spark.range(10).selectExpr("id", "id AS v"))
    text = CONTRACT.replace(
        "format: parquet", "format: parquet, load_mode: incremental, watermark_strategy: pipeline_log"
    )
    processor, reads = sandbox.processor(text), Reads(sandbox)
    processor.run()
    statuses: list[str] = []
    assert reads.jobs(lambda: statuses.append(processor.run().status)) == 0
    assert statuses == ["no_new_data"]


def work_of(spark: SparkSession) -> float:
    """Seconds of a core that the JVM has used, which do not grow while others use the machine."""
    jvm: Any = spark._jvm
    return float(jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toMillis() / 1000)


def test_two_hundred_columns_and_180_rules_are_planned_in_seconds(sandbox: Sandbox) -> None:
    fields = "".join(f"    - {{name: c{n}, type: int}}\n" for n in range(200))
    rules = "".join(f"    - {{name: r{n}, sql: c{n} IS NULL OR c{n} > c{n + 1} - 5}}\n" for n in range(180))
    text = f"model:\n  fields:\n{fields}quality:\n  row_rules:\n{rules}"
    row = tuple(str(n) for n in range(200))
    before = work_of(sandbox.spark)
    outcome = sandbox.validate(text, [row], ", ".join(f"c{n} string" for n in range(200)))
    assert outcome.report.counts.good == 1
    assert work_of(sandbox.spark) - before < 60


def test_filters_and_columns_reach_the_scan(sandbox: Sandbox) -> None:
    from lakelogic_assets.plan.window import Window
    from lakelogic_assets.spark.boundaries import decide
    from lakelogic_assets.spark.sources import read_source

    moment = "TIMESTAMP'2024-01-01' + make_dt_interval(id) AS at"
    rows = sandbox.spark.range(10).selectExpr("id", "id AS v", moment, "1 AS unused")
    write_rows(sandbox, rows)
    text = (
        "model: {fields: [{name: id, type: bigint}, {name: at, type: timestamp}]}\n"
        "source: {type: landing, path: in, format: parquet, watermark_field: at}\n"
        "schema_policy: {unknown_fields: drop}\n"
    )
    processor = sandbox.processor(text)
    scope = new_scope(
        processor.contract, sandbox.spark, processor.workspace.lakehouse(processor.contract), RunRequest(), []
    )
    decision = decide(scope, processor.destination, Window.day("2024-01-03"))
    read = read_source(scope, decision.boundary)
    plan = plan_of(read.frame)
    assert "unused" not in plan.split("ReadSchema")[1]
    assert re.search(r"PushedFilters: \[[^\]]*at", plan), plan
    assert [row["id"] for row in read.frame.collect()] == [2]


def test_where_the_source_counts_itself_rules_and_split_are_one_loop(sandbox: Sandbox) -> None:
    from lakelogic_assets.contract.resources import ExternalLogicPolicy
    from lakelogic_assets.spark.evaluation import evaluate_source
    from lakelogic_assets.spark.sources import Boundary, read_source

    write_rows(sandbox, sandbox.spark.range(100).selectExpr("id", "IF(id < 3, 1007, id) AS v"))
    processor = sandbox.processor(CONTRACT)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    scope = new_scope(processor.contract, sandbox.spark, lakehouse, RunRequest(), [])
    evaluation = evaluate_source(read_source(scope, Boundary()), scope, ExternalLogicPolicy())
    plan = plan_of(evaluation.good)
    assert len(re.findall(r"= 1039\b", plan)) == 1, "a rule stands once: the filter was not pushed through the masks"
    assert "CollectMetrics" not in plan, "nothing stands between masks and split"
    assert plan.count("*(") == plan.count("*(1)"), "from the scan to the split all is one generated loop"
    assert "_metadata" not in plan, "nobody asked for the file of a row"
    assert evaluation.counts(written=97) == (100, 97, 3)
    counted = evaluation.counted()
    counted.good.collect()
    assert counted.counts() == (100, 97, 3)


def test_a_file_that_changes_while_it_is_read_ends_the_run(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakelogic_assets.spark import delivery as running

    folder = write_rows(sandbox, sandbox.spark.range(100).selectExpr("id", "id AS v"))
    whole = running.write_quarantine

    def meddled(*arguments: object) -> object:
        for file in folder.glob("*.parquet"):
            file.touch()
        return whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "write_quarantine", meddled)
    with pytest.raises(EngineError, match="was changed while it was read"):
        sandbox.processor(CONTRACT).run()
    assert not delta_log.is_table(sandbox.processor(CONTRACT).destination.target)

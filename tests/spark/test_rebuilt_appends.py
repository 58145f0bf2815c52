"""Some days of a table that takes in what is new, without partitions of its own: rebuilt, and not taken in again."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.request import PipelineRequest
from lakelogic_assets.project import Project
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.pipeline import Pipeline
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HEAD = """
version: 1.0.0
info: {title: T, table_name: sales}
model: {fields: [{name: id, type: int}, {name: at, type: date}]}
"""
BY_COLUMN = (
    HEAD
    + """
source: {type: landing, path: in, format: csv, load_mode: incremental, options: {recursiveFileLookup: true}}
materialization: {strategy: append, reprocess_date_column: at, partition_by: [at]}
"""
)
BY_FOLDER = (
    HEAD
    + """
source: {type: landing, path: in, format: csv, load_mode: incremental, partition: {format: "%Y-%m-%d"}}
materialization: {strategy: append}
lineage: {enabled: true}
"""
)
DAY = date(2026, 2, 2)


@pytest.mark.parametrize("text", [BY_COLUMN, BY_FOLDER], ids=["by a column", "by folders"])
def test_a_corrected_day_replaces_the_wrong_one_and_no_other(spark: SparkSession, tmp_path: Path, text: str) -> None:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts/sales.yaml").write_text(text)
    project = Project(tmp_path)
    registry, workspace = load_project(project), Workspace(project)
    (contract,) = registry

    def land(day: int, *ids: int) -> None:
        file = tmp_path / f"contracts/in/2026-02-0{day}/rows.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id,at\n" + "".join(f"{each},2026-02-0{day}\n" for each in ids))

    def run(request: PipelineRequest) -> list[Any]:
        pipeline = Pipeline(registry, workspace, spark, request)
        done = pipeline.run(Planner(registry, workspace).campaign(request, registry.contracts))
        return [(each.key.window.key, each.result and each.result.status) for each in done.values()]

    def ids() -> list[int]:
        rows = spark.read.format("delta").load(workspace.destination(contract).target)
        return sorted(row["id"] for row in rows.select("id").collect())

    for day in (1, 2, 3):
        land(day, day, 10 * day)
    assert run(PipelineRequest()) == [("full", "success")]
    rebuild = PipelineRequest(window="reprocess", days=(DAY, DAY))
    assert run(rebuild) == [("full", "no_new_data"), ("2026-02-02..2026-02-03", "success")]
    assert ids() == [1, 2, 3, 10, 20, 30]
    land(2, 200, 201)
    assert run(rebuild) == [("full", "success"), ("2026-02-02..2026-02-03", "success")]
    assert ids() == [1, 3, 10, 30, 200, 201]
    assert run(PipelineRequest()) == [("full", "no_new_data")]

"""The shipped example, from landing files to gold, and once more."""

from __future__ import annotations

import shutil
from datetime import date
from typing import TYPE_CHECKING

from lakelogic_assets.authoring.landing import make_landing_data
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project, shipped_example
from lakelogic_assets.spark.audit import audit
from lakelogic_assets.spark.pipeline import run_contracts
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession


def test_the_example_runs_end_to_end_and_a_second_run_finds_nothing_new(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
    for part in ("contracts", "resources", "partitions"):
        shutil.copytree(shipped_example() / part, tmp_path / part)
    project = Project(tmp_path)
    registry, workspace = load_project(project), Workspace(project)
    assert registry.errors == ()
    landed = make_landing_data(registry, project, storage_root=workspace.root, rows=40, days=[date(2026, 2, 1)])
    assert landed.broken > 0

    first = run_contracts(registry, registry.contracts, workspace, spark, parallel=2)
    told = {key: progress.error or progress.result for key, progress in first.items() if progress.state != "done"}
    assert told == {}
    reports = {key[-1]: progress.result for key, progress in first.items() if progress.result}
    assert all(report.status == "success" for report in reports.values())
    assert sum(report.counts.quarantined for report in reports.values()) > 0
    assert reports["gold_fact_sales"].counts.good > 0
    for contract in registry:
        assert all(run.holds for run in audit(workspace.destination(contract))), contract.table

    second = run_contracts(registry, registry.contracts, workspace, spark, parallel=2)
    assert {progress.state for progress in second.values()} == {"done"}
    again = {key[-1]: progress.result.status for key, progress in second.items() if progress.result}
    assert {again[name] for name in again if name.startswith("bronze")} == {"no_new_data"}
    keyed = {each.table for each in registry if each.materialization.strategy in ("merge", "scd2")}
    assert {again[name] for name in again if name in keyed} <= {"no_new_data", "unchanged"}

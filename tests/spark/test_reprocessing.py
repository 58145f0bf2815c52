"""Windows that a run has made late are rebuilt with it, and those of anybody else are not; no Spark is started here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.campaign import Task
from lakelogic_assets.plan.request import Mode, PipelineRequest
from lakelogic_assets.plan.schedule import Progress
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.project import Project
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.reprocessing import what_is_left
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.workspace import Workspace
from tests.spark.test_late_tables import DAYS, FACTS, Shop

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = """
version: 1.0.0
info: {title: Orders, table_name: orders}
model: {fields: [{name: id, type: int}, {name: business_date, type: date}]}
"""
PARTITIONS = "upstream: [orders]\nextensions: {com.lakelogic.partitions: daily}\n"
DAILY = 'name: daily\ncadence: daily\nstart: "2026-02-01"\nend: "2026-02-08"\n'


@pytest.mark.parametrize(
    ("mode", "expected"), [("reprocess", DAYS[2:3]), ("range", DAYS[2:3]), ("last_success", DAYS[1:3])]
)
def test_a_run_rebuilds_what_it_has_made_late_itself(tmp_path: Path, mode: Mode, expected: list[str]) -> None:
    for folder in ("contracts", "partitions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "contracts/orders.yaml").write_text(ORDERS)
    (tmp_path / "partitions/daily.yaml").write_text(DAILY)
    shop = Shop(tmp_path / "contracts", FACTS + PARTITIONS)
    registry, workspace = load_project(Project(tmp_path)), Workspace(Project(tmp_path))
    orders = next(contract for contract in registry if contract.table == "orders")
    assert workspace.destination(orders).target == shop.orders
    shop.deliver([(number, day) for number, day in enumerate(DAYS)])
    shop.build(*DAYS)
    shop.deliver([(20, DAYS[1])])
    run, now = shop.deliver([(30, DAYS[2])]), datetime.now(UTC)
    report = RunReport("success", run, "tonight", "orders", "orders", FULL.as_dict(), now, now)
    append_run(workspace.destination(orders).run_log, None, report, "local")
    done = {Task(orders.key): Progress(Task(orders.key), "done", report)}
    left = what_is_left(PipelineRequest(window=mode), registry, workspace, registry.contracts, done, "tonight")
    assert left is not None
    assert sorted(task.window.key for task in left.tasks) == expected
    again = what_is_left(PipelineRequest(window=mode), registry, workspace, registry.contracts, done, "tomorrow")
    assert (again is None) == (mode != "last_success")

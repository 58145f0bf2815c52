"""`lakelogic late` as people see it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.window import Window
from lakelogic_assets.project import Project
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Call

FACTS = """\
version: 1.0.0
info: {title: Facts, table_name: gold_facts, target_layer: gold}
model: {fields: [{name: id, type: int}, {name: day, type: date}]}
source: {type: table, path: "table:lake.shop.orders", watermark_field: day}
materialization: {strategy: append}
extensions: {com.lakelogic.partitions: daily}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three days of facts, built one by one, and an order of the second day that came after."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
    for name, text in (
        ("contracts/shop/gold_facts.yaml", FACTS),
        ("partitions/daily.yaml", 'name: daily\ncadence: daily\nstart: "2026-02-01"\nend: "2026-03-01"\n'),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    registry, workspace = load_project(Project(tmp_path)), Workspace(Project(tmp_path))
    (contract,) = registry
    orders = workspace.lakehouse(contract).table_path("lake.shop.orders")
    days = [date(2026, 2, day) for day in (1, 2, 3, 4)]
    write_deltalake(orders, pa.table({"id": [1, 2, 3, 4], "day": days}))
    for day in (1, 2, 4):
        window, now = Window.day(date(2026, 2, day)), datetime.now(UTC)
        report = RunReport(
            "success", f"run-{day}", "p", "/".join(contract.key), contract.table, window.as_dict(), now, now,
            watermark={"version": 0},
        )  # fmt: skip
        append_run(workspace.destination(contract).run_log, None, report, "local")
    write_deltalake(orders, pa.table({"id": [5], "day": [days[1]]}), mode="append")
    return tmp_path


@pytest.mark.usefixtures("project")
def test_late_names_the_window_and_how_to_build_it_again(call: Call) -> None:
    said = call("late")
    assert said.code == 0, said.err
    header, row, missing, note, hint, total = said.lines
    assert header.split() == ["asset", "window", "rows", "files", "gone", "arrived", "with", "built", "at"]
    assert row.split()[:6] == ["gold_facts", "2026-02-02", "1", "-", "-", "version"]
    assert missing == "gold_facts: never built: 2026-02-03"
    assert "does not say when its rows came" in note
    assert hint == "rebuild with: lakelogic reprocess gold_facts --from 2026-02-02 --to 2026-02-02"
    assert total == "1 window late in 1 contract with partitions"


@pytest.mark.usefixtures("project")
def test_late_prints_json_for_programs(call: Call) -> None:
    (report,) = json.loads(call("late", "gold_facts", "--json").out)
    assert [each["window"]["key"] for each in report["late"]] == ["2026-02-02"]


def test_each_span_of_late_days_has_a_command_of_its_own(call: Call, project: Path) -> None:
    registry, workspace = load_project(Project(project)), Workspace(Project(project))
    orders = workspace.lakehouse(next(iter(registry))).table_path("lake.shop.orders")
    days = [date(2026, 2, day) for day in (1, 4)]
    write_deltalake(orders, pa.table({"id": [6, 7], "day": days}), mode="append")
    hints = [line for line in call("late").lines if line.startswith("rebuild")]
    assert hints == [
        "rebuild with: lakelogic reprocess gold_facts --from 2026-02-01 --to 2026-02-02",
        "rebuild with: lakelogic reprocess gold_facts --from 2026-02-04 --to 2026-02-04",
    ]
    said = call("late", "--run", "--dry-run")
    assert said.code == 0, said.err
    assert [line.split(" (")[0] for line in said.lines if "…" in line] == [
        f"  … gold_facts {day}" for day in ("2026-02-01", "2026-02-02", "2026-02-04")
    ]
    assert "rebuild with" not in said.out

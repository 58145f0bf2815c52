"""Ten days in any order, and some side by side, leave the same rows in every table."""

from __future__ import annotations

import json
import shutil
import textwrap
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
from lakelogic_assets.project import Project
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.pipeline import Pipeline
from lakelogic_assets.spark.reprocessing import run_to_the_end
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SILVER, GOLD = TABLES = ("silver_lines", "gold_sales")
COLUMNS = {SILVER: ("line", "amount", "sold_on", "delivered_on"), GOLD: ("sold_on", "total")}
FIRST = date(2026, 2, 1)
DAYS = [FIRST + timedelta(days=number) for number in range(10)]
FILES = {
    "partitions/daily.yaml": """
        name: daily
        cadence: daily
        start: "2026-02-01"
        end: "2026-03-01"
    """,
    "contracts/silver_lines.yaml": """
        version: 1.0.0
        info: {title: Lines by day of delivery, table_name: silver_lines, target_layer: silver}
        model:
          fields:
            - {name: line, type: string, required: true}
            - {name: amount, type: int, required: true}
            - {name: sold_on, type: date, required: true}
            - {name: delivered_on, type: date, required: true}
        primary_key: [line]
        source:
          type: landing
          path: ../landing
          format: jsonl
          load_mode: incremental
          watermark_field: delivered_on
          partition: {format: "%Y-%m-%d"}
        quality: {row_rules: [{name: not_negative, sql: amount >= 0}]}
        lineage: {enabled: true}
        materialization: {strategy: merge, partition_by: [delivered_on], target_path: lake.sales.silver_lines}
        extensions: {com.lakelogic.partitions: daily}
    """,
    "contracts/gold_sales.yaml": """
        version: 1.0.0
        info: {title: Sales by day of sale, table_name: gold_sales, target_layer: gold}
        model: {fields: [{name: sold_on, type: date, required: true}, {name: total, type: long}]}
        primary_key: [sold_on]
        source:
          type: table
          path: "table:lake.sales.silver_lines"
          load_mode: incremental
          watermark_field: sold_on
        transformations:
          - rollup: {group_by: [sold_on], aggregations: {total: SUM(amount)}}
        materialization: {strategy: merge, partition_by: [sold_on], target_path: lake.sales.gold_sales}
        extensions: {com.lakelogic.partitions: daily}
    """,
}


def land(root: Path) -> None:
    """Three lines a day: one of the day, one that was sold two days before, one that is corrected a day later."""
    for number, day in enumerate(DAYS):
        earlier = max(FIRST, day - timedelta(days=2))
        lines = [
            {"line": f"{day}-a", "amount": number, "sold_on": str(day)},
            {"line": f"{day}-b", "amount": 10 * number - 5, "sold_on": str(earlier)},
            {"line": f"{day}-c", "amount": 100 + number, "sold_on": str(day)},
        ]
        if number:
            before = DAYS[number - 1]
            lines.append({"line": f"{before}-c", "amount": 1000 + number, "sold_on": str(before)})
        folder = root / "landing" / str(day)
        folder.mkdir(parents=True)
        (folder / "lines.jsonl").write_text(
            "".join(json.dumps(line | {"delivered_on": str(day)}) + "\n" for line in lines)
        )


def run_days(root: Path, spark: SparkSession, order: list[int], tables: tuple[str, ...], parallel: int = 1) -> Any:
    """These tables after the days were run in this order, from nothing."""
    shutil.rmtree(root, ignore_errors=True)
    for name, text in FILES.items():
        if name.startswith("contracts/") and not name.endswith(tuple(f"{table}.yaml" for table in tables)):
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    land(root)
    project = Project(root)
    registry, workspace = load_project(project), Workspace(project)
    assert registry.errors == ()
    planner = Planner(registry, workspace)
    request = PipelineRequest(window="backfill", days=(DAYS[0], DAYS[-1]))
    keys = [key for level in registry.graph.levels for key in level]
    tasks = planner.campaign(request, keys).tasks
    planned = {key: [[t for t in tasks if t.key == key][number] for number in order] for key in keys}
    pipeline = Pipeline(registry, workspace, spark, request, RunPolicy(parallel=parallel))
    finished = run_to_the_end(pipeline, planner.plan(planned), keys)
    assert {done.state for done in finished.values()} == {"done"}
    lake = root / ".lakehouse/warehouse/lake/sales"
    return {table: rows(lake / table, *COLUMNS[table]) for table in tables}


def rows(path: Path, *columns: str) -> list[tuple[str, ...]]:
    found = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(tuple(str(row[name]) for name in columns) for row in found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("orders")


def expected(days: int) -> dict[str, Any]:
    """The same by hand: the newest delivery of each line that is not negative, and the sums by day of sale."""
    newest: dict[str, tuple[int, str, str]] = {}
    for number, day in enumerate(DAYS[:days]):
        earlier = max(FIRST, day - timedelta(days=2))
        newest[f"{day}-a"] = (number, str(day), str(day))
        if 10 * number - 5 >= 0:
            newest[f"{day}-b"] = (10 * number - 5, str(earlier), str(day))
        newest[f"{day}-c"] = (100 + number, str(day), str(day))
        if number:
            before = DAYS[number - 1]
            newest[f"{before}-c"] = (1000 + number, str(before), str(day))
    totals: dict[str, int] = {}
    for amount, sold_on, _ in newest.values():
        totals[sold_on] = totals.get(sold_on, 0) + amount
    silver = sorted((line, str(amount), sold, delivered) for line, (amount, sold, delivered) in newest.items())
    return {SILVER: silver, GOLD: sorted((day, str(total)) for day, total in totals.items())}


def orders(days: int) -> st.SearchStrategy[list[int]]:
    """Any order but the one of the calendar, which would else be drawn first."""
    return st.permutations(range(days)).filter(lambda order: order != sorted(order))


# A smaller order says no more than the first that fails, and each takes as long.
drawn_once = settings(deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@settings(drawn_once, max_examples=3)
@given(order=orders(len(DAYS)))
@example(order=list(range(len(DAYS)))[::-1])
def test_ten_days_in_any_order_leave_the_same_rows(folder: Path, spark: SparkSession, order: list[int]) -> None:
    assert run_days(folder / "any", spark, order, (SILVER,)) == {SILVER: expected(len(DAYS))[SILVER]}


@settings(drawn_once, max_examples=1)
@given(order=orders(5))
def test_days_side_by_side_leave_the_same_rows_also_below(folder: Path, spark: SparkSession, order: list[int]) -> None:
    """Rows of a day of delivery belong to other days of the table below, which are built again for them."""
    assert run_days(folder / "parallel", spark, order, TABLES, parallel=2) == expected(5)

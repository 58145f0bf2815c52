"""Days of a zone: how long they are, which day it is there, and whose days a contract without partitions goes by."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import RequestError
from lakelogic_assets.plan.request import PipelineRequest
from lakelogic_assets.plan.window import Window
from lakelogic_assets.project import Project
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.pipeline import Pipeline
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HEAD = """
version: 1.0.0
info: {title: T, table_name: hours}
model: {fields: [{name: id, type: string}, {name: at, type: timestamp}]}
primary_key: [id]
source: {type: landing, path: in, format: jsonl, load_mode: incremental, watermark_field: at}
"""
MERGED, APPENDED = "materialization: {strategy: merge}\n", "materialization: {strategy: append}\n"
DAILY = "extensions: {com.lakelogic.partitions: daily}\n"
SPRING, AUTUMN = date(2025, 3, 30), date(2025, 10, 26)
TOMORROW_IN_TOKYO = datetime(2026, 2, 5, 20, tzinfo=UTC)


def planner(root: Path, contract: str, zone: str, now: datetime) -> Planner:
    for name, text in (
        ("contracts/hours.yaml", HEAD + contract),
        ("partitions/daily.yaml", f'name: daily\ncadence: daily\nstart: "2025-03-01"\ntimezone: {zone}\n'),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return Planner(load_project(Project(root)), Workspace(Project(root)), now)


def test_a_day_of_23_hours_and_one_of_25_are_taken_in_whole(spark: SparkSession, tmp_path: Path) -> None:
    made = planner(tmp_path, APPENDED + DAILY, "Europe/Paris", datetime.now(UTC))
    first = [datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1) for day in (SPRING, AUTUMN)]
    moments = [start + timedelta(hours=hour) for start in first for hour in range(72)]
    landing = tmp_path / "contracts/in/rows.jsonl"
    landing.parent.mkdir()
    landing.write_text("".join(json.dumps({"id": str(n), "at": at.isoformat()}) + "\n" for n, at in enumerate(moments)))
    counted = {}
    for day in (SPRING, AUTUMN, AUTUMN + timedelta(days=1)):
        request = PipelineRequest(window="backfill", days=(day, day))
        pipeline = Pipeline(made.registry, made.workspace, spark, request)
        (done,) = pipeline.run(made.campaign(request, made.registry.contracts)).values()
        assert done.result is not None, done.error
        counted[day] = (done.key.window.key, done.result.counts.good)
    assert counted == {
        SPRING: ("2025-03-30", 23),
        AUTUMN: ("2025-10-26", 25),
        AUTUMN + timedelta(days=1): ("2025-10-27", 24),
    }
    (contract,) = made.registry
    rows = spark.read.format("delta").load(made.workspace.destination(contract).target)
    assert (rows.count(), rows.select("id").distinct().count()) == (72, 72)


@pytest.mark.parametrize(("zone", "newest"), [("Asia/Tokyo", 6), ("UTC", 5)])
def test_today_is_that_of_the_projects_zone_and_so_are_the_days_of_what_has_no_partitions(
    tmp_path: Path, zone: str, newest: int
) -> None:
    made = planner(tmp_path, MERGED, zone, TOMORROW_IN_TOKYO)
    keys = [*made.registry.contracts]
    today = date(2026, 2, newest)
    for mode, key in (("range", f"{today}..{today + timedelta(days=1)}"), ("backfill", str(today))):
        (task,) = made.campaign(PipelineRequest(window=mode, days=(today, today)), keys).tasks
        assert task.window == Window.days(today, today + timedelta(days=1), zone, key=key)
    tomorrow = today + timedelta(days=1)
    with pytest.raises(RequestError, match=f"The day {tomorrow} is in the future"):
        made.campaign(PipelineRequest(window="range", days=(tomorrow, tomorrow)), keys)

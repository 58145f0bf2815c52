"""The run log, read without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.conftest import Sandbox

TEXT = "model: {fields: [{name: id, type: int}, {name: at, type: timestamp}]}\n"
FRESH = TEXT + "service_levels: {freshness: {threshold: 6h, field: at}}\n"
SAMPLED = TEXT.replace("type: int", "type: int, masking: redact") + "extensions: {com.lakelogic.sample: 2}\n"


def test_without_a_log_there_are_no_runs(tmp_path: Path) -> None:
    assert read_runs(str(tmp_path / "nothing")) == []


def test_runs_come_newest_first_and_only_those_asked_for(sandbox: Sandbox) -> None:
    first = sandbox.run(TEXT, [(1, None)], "id int, at timestamp")
    second = sandbox.run(TEXT, [(2, None)], "id int, at timestamp")
    log = sandbox.processor(TEXT).destination.run_log
    assert [row["run_id"] for row in read_runs(log)] == [second.run_id, first.run_id]
    assert [row["run_id"] for row in read_runs(log, limit=1)] == [second.run_id]
    assert read_runs(log, contract="others") == []
    assert read_runs(log, since=datetime.now(UTC) + timedelta(days=1)) == []
    assert "report" not in read_runs(log)[0]
    assert read_runs(log, with_reports=True)[0]["report"]["run_id"] == second.run_id


def test_a_report_says_how_new_the_rows_of_its_run_are(sandbox: Sandbox) -> None:
    rows = [(1, datetime(2026, 2, 3, 12, tzinfo=UTC)), (2, datetime(2026, 2, 3, 13, 30, tzinfo=UTC)), (3, None)]
    assert sandbox.run(FRESH, rows, "id int, at timestamp").newest == "2026-02-03T13:30:00+00:00"
    assert sandbox.run(TEXT, rows, "id int, at timestamp").newest is None


def test_a_sample_is_masked_and_only_taken_where_it_is_wanted(sandbox: Sandbox) -> None:
    rows = [(1, None), (2, None), (3, None)]
    assert sandbox.run(TEXT, rows, "id int, at timestamp").sample == ()
    sample = sandbox.processor(SAMPLED, "sampled").run(sandbox.frame(rows, "id int, at timestamp")).sample
    assert [row["id"] for row in sample] == ["***REDACTED***"] * 2

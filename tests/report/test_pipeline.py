"""The report of a pipeline run, and what may be kept of a request."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.report.pipeline import (
    SUMMARY_COLUMNS,
    PipelineReport,
    TaskLine,
    TaskStatus,
    first_line,
    pipeline_report,
    status_of,
    summary_row,
    task_of,
)
from lakelogic_assets.report.request import plain_request, work_of
from lakelogic_assets.report.run import Counts, RunReport

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
TASKS = (
    TaskLine("shop/orders", "2026-02-01", "success", counts=Counts(10, 7, 2, 1), seconds=2.5, run_id="r1"),
    TaskLine("shop/orders", "2026-02-02", "failed", error="the disk is full", seconds=0.5, layer="bronze"),
    TaskLine("shop/customers", "full", "blocked", reasons=("too few rows",), counts=Counts(4, 2, 2, 0)),
    TaskLine("shop/sales", "2026-02-01", "skipped"),
    TaskLine("shop/sales", "2026-02-02", "held", reasons=("waits for shop/orders",)),
)


def report(*tasks: TaskLine, **other: object) -> PipelineReport:
    ended = BEGIN + timedelta(seconds=90)
    said = {"started_at": BEGIN, "ended_at": ended, "environment": "prod", "by": "ana", "request": {"select": ["a+"]}}
    return pipeline_report("p-1", tasks or TASKS, **said | other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], "success"),
        (["success", "unchanged", "no_new_data", "skipped"], "success"),
        (["success", "failed"], "partial"),
        (["skipped", "blocked"], "partial"),
        (["success", "held"], "partial"),
        (["failed", "held"], "failed"),
        (["blocked"], "failed"),
        (["waiting", "running"], "failed"),
        (["held", "held"], "held"),
        (["held", "waiting"], "failed"),
    ],
)
def test_the_tasks_say_what_a_pipeline_came_to(statuses: list[TaskStatus], expected: str) -> None:
    assert status_of(TaskLine("a", "full", status) for status in statuses) == expected


def test_a_pipeline_without_an_end_is_running() -> None:
    running = report(*TASKS, ended_at=None)
    assert (running.status, running.seconds) == ("running", None)


def test_totals_are_sums_over_the_tasks() -> None:
    made = report()
    assert (made.contracts, made.windows, made.seconds) == (3, 5, 90.0)
    assert made.rows == Counts(14, 9, 4, 1)
    assert made.quarantine_ratio == 4 / 13
    assert made.by_status == {"success": 1, "failed": 1, "blocked": 1, "skipped": 1, "held": 1}
    assert made.by_outcome == {"succeeded": 1, "skipped": 1, "failed": 2, "held": 1}
    assert [task.status for task in made.unfinished] == ["failed", "blocked", "held"]


def test_a_report_comes_back_from_its_own_json() -> None:
    made = report()
    assert PipelineReport.from_dict(json.loads(json.dumps(made.as_dict()))) == made
    running = report(*TASKS, ended_at=None)
    assert PipelineReport.from_dict(json.loads(json.dumps(running.as_dict()))) == running


def test_the_summary_row_has_every_column_and_adds_up() -> None:
    row = summary_row(report())
    assert list(row) == list(SUMMARY_COLUMNS)
    assert row["windows"] == row["succeeded"] + row["skipped"] + row["failed"] + row["held"]
    assert row["rows_source"] == row["rows_good"] + row["rows_quarantined"] + row["rows_dropped"]
    assert [task["status"] for task in json.loads(row["tasks_json"])] == [task.status for task in TASKS]


def test_a_run_becomes_a_task_line_without_its_stack_trace() -> None:
    run = RunReport(
        "failed", "r9", "p-1", "shop/orders", "orders", {"key": "2026-02-01"}, BEGIN, BEGIN + timedelta(seconds=3),
        Counts(3, 1, 2, 0), layer="silver", error="The file is no CSV.\n  at org.apache.spark",
    )  # fmt: skip
    line = task_of(run)
    assert line == TaskLine(
        "shop/orders", "2026-02-01", "failed", (), "The file is no CSV.", Counts(3, 1, 2, 0), 3.0, "r9", "silver"
    )
    assert line.why == "The file is no CSV."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("\n  first \nsecond"), "first"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 900), "x" * 499 + "…"),
    ],
)
def test_an_error_is_told_in_one_line(error: Exception, expected: str) -> None:
    assert first_line(error) == expected


def test_no_secret_of_a_request_is_kept() -> None:
    request = {
        "select": ("layer:silver",),
        "set": {
            "source.options.Password": "hunter2",
            "source.path": "jdbc:x://ana:hunter2@db/orders;password=hunter2;fetch=10",
            "limits.max_rows": 5,
        },
        "words": ["source.api_key=hunter2"],
        "credentials": {"user": "ana", "value": "hunter2", "pin": 1234},
        "from": date(2026, 2, 1),
        "reprocess": True,
        "packs": {"b", "a"},
    }
    kept = plain_request(request)
    assert "hunter2" not in json.dumps(kept)
    assert "1234" not in json.dumps(kept)
    assert kept["set"]["source.path"] == "jdbc:x://***@db/orders;password=***;fetch=10"
    assert kept["set"]["limits.max_rows"] == 5
    assert (kept["select"], kept["from"], kept["reprocess"]) == (["layer:silver"], "2026-02-01", True)
    assert kept["packs"] == ["a", "b"]
    assert json.loads(summary_row(report(request=request))["request_json"]) == kept


def test_the_same_work_is_recognised_whether_or_not_it_is_resumed() -> None:
    asked = {"select": ["a"], "window": "last_success", "from": None, "set": {"x.password": "one"}}
    again = {
        "window": "last_success",
        "select": ("a",),
        "set": {"x.password": "two"},
        "resume": True,
        "reprocess": False,
    }
    assert work_of(asked, "prod") == work_of(again, "prod")
    assert work_of(asked, "prod") != work_of(asked, "local")
    assert work_of(asked, "prod") != work_of({**asked, "select": ["b"]}, "prod")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "metrics.json"
    write_atomically(path, "one")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "two \ud800")
    assert path.read_text() == "one"
    assert list(path.parent.iterdir()) == [path]

"""The log of pipeline runs, read and written without Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.report.pipeline import PipelineReport, TaskLine, TaskStatus, pipeline_report
from lakelogic_assets.report.run import Counts, RunReport
from lakelogic_assets.spark import compaction, pipeline_log
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.pipeline_log import (
    find,
    note_end,
    note_start,
    pipeline_log_path,
    pipeline_runs,
    tasks_so_far,
    unfinished,
)
from lakelogic_assets.spark.run_log import append_run

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
ALL: dict[str, Any] = {"select": ["+gold"], "window": "last_success"}

# A process that starts pipelines; every second one it ends, then it is gone.
OTHER = """
import sys
from datetime import UTC, datetime
from lakelogic_assets.report.pipeline import TaskLine, pipeline_report
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.pipeline_log import note_end, note_start
for number in range(int(sys.argv[3])):
    now = datetime.now(UTC)
    said = {"started_at": now, "environment": "local", "by": "other", "request": {"select": [sys.argv[2]]}}
    name = f"{sys.argv[2]}-{number}"
    note_start(sys.argv[1], pipeline_report(name, [], **said))
    if number % 2 == 0:
        note_end(sys.argv[1], pipeline_report(name, [TaskLine("a", "full", "success")], ended_at=now, **said))
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    return pipeline_log_path(tmp_path)


def made(name: str, *statuses: TaskStatus, minute: int = 0, request: dict[str, Any] = ALL) -> PipelineReport:
    began = BEGIN + timedelta(minutes=minute)
    tasks = [
        TaskLine(f"shop/{n}", "full", s, counts=Counts(2, 1, 1, 0), run_id=f"r{n}") for n, s in enumerate(statuses)
    ]
    ended = began + timedelta(seconds=30) if statuses else None
    return pipeline_report(
        name, tasks, started_at=began, ended_at=ended, environment="local", by="ana", request=request
    )


def noted(log: str, report: PipelineReport) -> None:
    note_start(log, replace(report, status="running", ended_at=None, tasks=()))
    if report.ended_at:
        note_end(log, report)


def died(log: str, name: str, minute: int = 0) -> None:
    """A pipeline that another process began and did not end."""
    began = BEGIN + timedelta(minutes=minute)
    code = OTHER.replace("datetime.now(UTC)", f"datetime.fromisoformat({began.isoformat()!r})")
    code = code.replace("{number}", "1").replace("number % 2 == 0", "False")
    subprocess.run([sys.executable, "-c", code, log, name, "1"], check=True)


def test_without_a_log_there_is_nothing_to_list_or_resume(log: str) -> None:
    assert pipeline_runs(log) == []
    assert unfinished(log) is None
    with pytest.raises(NotFoundError, match="lakelogic runs"):
        find(log, "p")


def test_start_and_end_are_one_run(log: str) -> None:
    noted(log, made("p1", "success", "failed"))
    (run,) = pipeline_runs(log)
    assert (run.pipeline_run_id, run.status, run.by, run.environment) == ("p1", "partial", "ana", "local")
    assert run.request == ALL
    assert (run.ended_at or BEGIN) - run.started_at == timedelta(seconds=30)
    assert {name: run.figures[name] for name in ("windows", "succeeded", "failed", "rows_good")} == {
        "windows": 2, "succeeded": 1, "failed": 1, "rows_good": 2,
    }  # fmt: skip
    assert run.tasks == ()
    assert find(log, "p1").tasks == made("p1", "success", "failed").tasks


def test_the_newest_come_first_and_no_more_than_wanted(log: str) -> None:
    for number in (2, 1, 3):
        noted(log, made(f"p{number}", "success", minute=number))
    assert [run.pipeline_run_id for run in pipeline_runs(log)] == ["p3", "p2", "p1"]
    assert [run.pipeline_run_id for run in pipeline_runs(log, limit=2)] == ["p3", "p2"]


def test_a_run_is_found_by_the_beginning_of_its_id_if_no_other_begins_so(log: str) -> None:
    noted(log, made("abc-1", "success"))
    noted(log, made("abd-1", "success", minute=1))
    noted(log, made("ab", "success", minute=2))
    assert find(log, "abc").pipeline_run_id == "abc-1"
    assert find(log, "ab").pipeline_run_id == "ab"
    with pytest.raises(NotFoundError, match="begins the ids of 3 pipeline runs"):
        find(log, "a")
    with pytest.raises(NotFoundError, match="no pipeline run ''"):
        find(log, "")


def test_a_run_of_this_very_process_is_running(log: str) -> None:
    noted(log, made("p1"))
    assert (pipeline_runs(log)[0].status, pipeline_runs(log)[0].is_alive) == ("running", True)
    found = unfinished(log)
    assert found is not None
    assert found.is_alive


def test_a_run_whose_process_is_gone_has_died_and_can_be_resumed(log: str) -> None:
    died(log, "p")
    (run,) = pipeline_runs(log)
    assert (run.status, run.is_alive, run.figures) == ("died", False, {})
    assert unfinished(log) == find(log, "p-1")


def test_a_process_that_has_its_id_from_a_dead_one_is_not_taken_for_it(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(log, made("p1"))
    monkeypatch.setattr(pipeline_log, "_process_began", lambda pid: 1)
    assert pipeline_runs(log)[0].status == "died"


def test_of_a_run_on_another_machine_nobody_can_tell(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    died(log, "p")
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    assert (pipeline_runs(log)[0].status, pipeline_runs(log)[0].is_alive) == ("running", None)


def test_the_newest_run_with_something_left_to_do_is_resumed(log: str) -> None:
    noted(log, made("old", "failed"))
    noted(log, made("new", "success", "blocked", minute=1))
    noted(log, made("other", "success", minute=2, request={"select": ["silver"]}))
    found = unfinished(log)
    assert found is not None
    assert found.pipeline_run_id == "new"
    assert [task.contract for task in found.tasks if not task.is_done] == ["shop/1"]


def test_what_a_later_run_has_done_is_not_resumed(log: str) -> None:
    noted(log, made("old", "failed"))
    noted(log, made("again", "success", minute=1, request=ALL | {"resume": True}))
    assert unfinished(log) is None


def test_only_runs_that_asked_for_the_same_are_resumed_where_a_request_is_given(log: str) -> None:
    noted(log, made("all", "failed"))
    noted(log, made("silver", "failed", minute=1, request={"select": ["silver"]}))
    found = unfinished(log, ALL | {"resume": True})
    assert found is not None
    assert found.pipeline_run_id == "all"
    assert unfinished(log, {"select": ["bronze"]}) is None
    assert unfinished(log, ALL, environment="prod") is None


def test_a_resumption_under_the_same_id_counts_from_its_own_start(log: str) -> None:
    noted(log, made("p1", "failed"))
    noted(log, made("p1", minute=1))
    assert pipeline_runs(log)[0].status == "running"
    note_end(log, made("p1", "skipped", minute=1))
    assert [run.status for run in pipeline_runs(log)] == ["success"]


def test_processes_that_write_at_the_same_time_lose_nothing(log: str) -> None:
    each = 6

    def other(name: str) -> None:
        subprocess.run([sys.executable, "-c", OTHER, log, name, str(each)], check=True)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(other, ("one", "two")))
    runs = pipeline_runs(log, limit=None)
    assert {run.pipeline_run_id for run in runs} == {f"{name}-{n}" for name in ("one", "two") for n in range(each)}
    assert {run.pipeline_run_id for run in runs if run.status == "success"} == {
        f"{name}-{n}" for name in ("one", "two") for n in range(0, each, 2)
    }
    assert {run.status for run in runs} == {"success", "died"}


def test_a_writer_waits_for_the_one_before(log: str) -> None:
    with table_lock(log, None):
        writer = threading.Thread(target=noted, args=(log, made("p1", "success")))
        writer.start()
        writer.join(0.3)
        assert pipeline_runs(log) == []
    writer.join(10)
    assert [run.status for run in pipeline_runs(log)] == ["success"]


def test_a_log_of_many_runs_stays_a_few_files(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MANY_FILES", 5)
    for number in range(8):
        noted(log, made(f"p{number}", "success", minute=number))
    assert len(DeltaTable(log).file_uris()) <= 5
    assert [run.pipeline_run_id for run in pipeline_runs(log)] == [f"p{number}" for number in reversed(range(8))]


def test_a_password_of_a_request_is_not_in_the_log(log: str) -> None:
    noted(log, made("p1", "success", request={"set": {"source.password": "hunter2"}}))
    assert pipeline_runs(log)[0].request == {"set": {"source.password": "***"}}


def test_the_tasks_of_a_run_that_has_not_ended_stand_in_the_logs_of_its_contracts(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")

    def run(path: str, pipeline: str, contract: str, second: int, error: str | None = None) -> None:
        began = BEGIN + timedelta(seconds=second)
        status: Any = "failed" if error else "success"
        report = RunReport(
            status, f"r{second}", pipeline, contract, contract, {"key": "2026-02-01"}, began, began,
            Counts(3, 2, 1, 0), layer="silver", error=error,
        )  # fmt: skip
        append_run(path, None, report, "local")

    run(two, "p1", "shop/sales", 2, error="no such file\n  at spark")
    run(one, "p1", "shop/orders", 1)
    run(one, "p0", "shop/orders", 0)
    assert tasks_so_far([one, two, one, str(tmp_path / "none")], "p1") == (
        TaskLine("shop/orders", "2026-02-01", "success", (), None, Counts(3, 2, 1, 0), 0.0, "r1", "silver"),
        TaskLine("shop/sales", "2026-02-01", "failed", (), "no such file", Counts(3, 2, 1, 0), 0.0, "r2", "silver"),
    )

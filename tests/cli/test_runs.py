"""`lakelogic runs`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.cli.runs import asked
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project
from lakelogic_assets.report.pipeline import PipelineReport, TaskLine, pipeline_report
from lakelogic_assets.report.run import Counts, RunReport
from lakelogic_assets.spark import pipeline_log
from lakelogic_assets.spark.pipeline_log import note_end, note_start, pipeline_log_path
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from tests.cli.conftest import Call

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
TASKS = (
    TaskLine("shop/orders", "2026-02-01", "success", counts=Counts(1200, 1190, 8, 2), seconds=2.5, run_id="r1"),
    TaskLine("shop/orders", "2026-02-02", "failed", error="The file a.csv is no CSV."),
    TaskLine("shop/sales", "full", "held", reasons=("waits for shop/orders",)),
)


@pytest.fixture
def log(shop: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(shop / "lake"))
    return pipeline_log_path(shop / "lake")


def noted(log: str, name: str, *tasks: TaskLine, minute: int = 0, request: dict[str, Any] | None = None) -> None:
    began = BEGIN + timedelta(minutes=minute)
    ended = began + timedelta(seconds=12.5) if tasks else None
    said: PipelineReport = pipeline_report(
        name, tasks, started_at=began, ended_at=ended, environment="local", by="ana", request=request or {}
    )
    note_start(log, replace(said, status="running", ended_at=None, tasks=()))
    if ended:
        note_end(log, said)


@pytest.mark.usefixtures("log")
def test_a_project_that_never_ran_says_so(call: Call) -> None:
    assert call("runs").lines == ["no pipeline has run yet"]
    assert json.loads(call("runs", "--json").out) == []


def test_runs_are_listed_newest_first(call: Call, log: str) -> None:
    noted(log, "aaaaaaaa-1111", *TASKS, request={"select": ["layer:silver", "+sales"], "window": "last_success"})
    noted(log, "bbbbbbbb-2222", TASKS[0], minute=1)
    said = call("runs")
    assert said.lines == [
        "run       started (UTC)        by   asked                                     done  failed  held  seconds  status",
        "bbbbbbbb  2026-02-03 04:06:00  ana  everything                                 1/1       0     0     12.5  success",
        "aaaaaaaa  2026-02-03 04:05:00  ana  layer:silver +sales, window last_success   1/3       1     1     12.5  partial",
    ]
    assert len(call("runs", "--limit", "1").lines) == 2


def test_at_a_terminal_brackets_of_a_request_are_brackets(
    call: Call, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(log, "aaaaaaaa-1111", *TASKS, request={"select": ["[red]*"]})
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "[red]*" in call("runs").out


def test_one_run_shows_its_tasks_and_why_they_are_not_done(call: Call, log: str) -> None:
    noted(log, "aaaaaaaa-1111", *TASKS, request={"select": ["+sales"], "reprocess": True})
    said = call("runs", "aaaa")
    assert said.code == 0
    assert said.lines == [
        "aaaaaaaa-1111  partial",
        "  asked    +sales, reprocess",
        "  by       ana in local",
        "  when     2026-02-03 04:05:00 to 2026-02-03 04:05:12 UTC, 12.5 s",
        "",
        "asset        window      rows in   good  quarantined  dropped  seconds  status",
        "shop/orders  2026-02-01    1,200  1,190            8        2      2.5  success",
        "shop/orders  2026-02-02        0      0            0        0      0.0  failed",
        "shop/sales   full              0      0            0        0      0.0  held",
        "shop/orders 2026-02-02: The file a.csv is no CSV.",
        "shop/sales full: waits for shop/orders",
        "3 windows, 2 not done",
    ]


def test_json_holds_all_that_is_known(call: Call, log: str) -> None:
    noted(log, "aaaaaaaa-1111", *TASKS, request={"select": ["+sales"]})
    (run,) = json.loads(call("runs", "--json").out)
    assert (run["status"], run["request"], run["windows"], run["rows_good"]) == (
        "partial",
        {"select": ["+sales"]},
        3,
        1190,
    )
    one = json.loads(call("runs", "aaaaaaaa-1111", "--json").out)
    assert [task["status"] for task in one["tasks"]] == ["success", "failed", "held"]


def test_an_id_that_nobody_knows_is_one_line(call: Call, log: str) -> None:
    noted(log, "aaaaaaaa-1111", TASKS[0])
    said = call("runs", "zzz")
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: There is no pipeline run 'zzz'; `lakelogic runs` lists those there are.\n"


def test_of_a_run_that_died_the_contracts_logs_tell_what_it_did(
    call: Call, log: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(log, "aaaaaaaa-1111")
    project = Project(shop)
    (contract,) = load_project(project)
    run = RunReport(
        "success", "r1", "aaaaaaaa-1111", "shop/silver_orders", "silver_orders", {"key": "full"}, BEGIN,
        BEGIN + timedelta(seconds=3), Counts(5, 4, 1, 0),
    )  # fmt: skip
    append_run(Workspace(project).destination(contract).run_log, None, run, "local")
    monkeypatch.setattr(pipeline_log, "_process_began", lambda pid: -1)
    said = call("runs", "a")
    assert said.lines[0] == "aaaaaaaa-1111  died"
    assert "shop/silver_orders  full          5     4            1        0      3.0  success" in said.lines
    assert said.lines[-1] == "1 window, none not done"


@pytest.mark.usefixtures("broken")
def test_broken_contracts_do_not_hide_the_runs(call: Call, log: str) -> None:
    noted(log, "aaaaaaaa-1111")
    assert call("runs").lines[1].endswith("running")
    assert call("runs", "a").lines[-1] == "  no window came to an end"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "everything"),
        ({"select": [], "window": None, "reprocess": False, "set": {}}, "everything"),
        (
            {"from": "2026-02-01", "to": "2026-02-03", "ignore_gates": True},
            "from 2026-02-01, to 2026-02-03, ignore_gates",
        ),
        ({"set": {"source.path": "x", "a": 1}, "packs": ["p", "q"]}, "set source.path=x a=1, packs p q"),
    ],
)
def test_a_request_reads_as_it_was_typed(request_: dict[str, Any], expected: str) -> None:
    assert asked(request_) == expected

"""What a gate holds back keeps everything below it from running, until the window succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark.execute import execute
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.request import RunRequest, Upstream
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from pathlib import Path

    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

DAY, NEXT = Window.day("2026-02-03"), Window.day("2026-02-04")
UNIQUE = """
model: {fields: [{name: id, type: int}]}
quality: {dataset_rules: [{unique: id}]}
"""
BELOW = "model: {fields: [{name: id, type: int}]}"


def hold(window: Window) -> Hold:
    return Hold(("retail", "orders"), window, ("too few rows",), "run-1", "2026-02-03T00:00:00+00:00")


def test_a_success_releases_the_holds_that_it_covers(tmp_path: Path) -> None:
    holds = Holds(tmp_path)
    for window in (DAY, NEXT):
        holds.note(hold(window))
    assert [each.window for each in holds.over([("retail", "orders")], NEXT)] == [NEXT]
    holds.release(("retail", "orders"), NEXT)
    assert holds.of(("retail", "orders")) == [hold(DAY)]
    assert holds.over([("retail", "others")], FULL) == []
    holds.release(("retail", "orders"), FULL)
    assert holds.of(("retail", "orders")) == []


def run_below(sandbox: Sandbox, window: Window, *, ignore_gates: bool = False) -> RunReport:
    below = sandbox.processor(BELOW, "below")
    request = RunRequest(
        window=window,
        frame=sandbox.frame([(1,)], "id int"),
        upstream=(Upstream(("orders",)),),
        ignore_gates=ignore_gates,
    )
    lakehouse = below.workspace.lakehouse(below.contract)
    return execute(below.contract, sandbox.spark, lakehouse, below.destination, request)


def test_a_blocked_window_holds_back_the_same_window_below_it(sandbox: Sandbox) -> None:
    assert sandbox.run(UNIQUE, [(1,), (1,)], "id int", window=DAY).status == "blocked"
    report = run_below(sandbox, DAY)
    assert report.status == "held"
    assert report.reasons[0].startswith("orders is held back for 2026-02-03: dataset rule id_unique failed")
    assert report.reasons[0].endswith("run that window again or pass ignore_gates")
    logged = read_runs(sandbox.processor(BELOW, "below").destination.run_log, contract="below")
    assert [row["status"] for row in logged] == ["held"]
    assert run_below(sandbox, NEXT).status == "success"
    assert run_below(sandbox, DAY, ignore_gates=True).status == "success"


def test_a_window_that_succeeds_lets_go_what_it_held_back(sandbox: Sandbox) -> None:
    sandbox.run(UNIQUE, [(1,), (1,)], "id int", window=DAY)
    assert sandbox.run(UNIQUE, [(1,), (2,)], "id int", window=DAY).status == "success"
    assert run_below(sandbox, DAY).status == "success"

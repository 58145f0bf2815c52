"""A day that fails its gate: not published, its children held, the other days arrive."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from lakelogic_assets.spark.holds import Holds
from lakelogic_assets.spark.run_log import read_runs
from tests.orchestration.conftest import BAD_DAY, DAYS, Runner

GOOD_DAYS = [day for day in DAYS if day != BAD_DAY]


@pytest.fixture
def week(runner: Runner) -> Runner:
    """Seven days have landed; silver's gate will not let the fourth one through."""
    for day in DAYS:
        runner.shop.land(day, 10, -1, 666 if day == BAD_DAY else 30)
    return runner


def verdicts(result: dg.ExecuteInProcessResult, table: str, check: str) -> dict[str | None, bool]:
    found = result.get_asset_check_evaluations()
    return {e.partition: e.passed for e in found if e.asset_key.path[-1] == table and e.check_name == check}


def why(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(str(event.event_specific_data) for event in result.all_events if event.is_step_failure)


def test_in_a_run_over_a_week_the_other_six_days_reach_every_layer(week: Runner) -> None:
    tables = ("bronze_till_orders", "silver_till_orders", "gold_till_totals", "gold_till_overview")
    result = week.run(*tables, days=(DAYS[0], DAYS[-1]))
    assert not result.success
    assert week.shop.days("bronze_till_orders") == DAYS
    assert week.shop.days("silver_till_orders") == week.shop.days("gold_till_totals") == GOOD_DAYS
    assert week.recorded("silver_till_orders") == week.recorded("gold_till_totals") == GOOD_DAYS
    # So the next run since the last success tries it again.
    assert week.logged("gold_till_totals", BAD_DAY) == "held"
    _is_noted_once_under_the_run_and_its_call(week, result.run_id)
    # What needs every day waits until all of them are there.
    assert week.recorded("gold_till_overview") == []
    assert verdicts(result, "silver_till_orders", "no_closed_days") == {day: day != BAD_DAY for day in DAYS}
    assert set(verdicts(result, "silver_till_orders", "reconciliation")) == set(DAYS)
    _later_runs_go_on_from_there(week)


def _is_noted_once_under_the_run_and_its_call(week: Runner, call: str) -> None:
    lake = week.shop.root / ".lakehouse"
    log = read_runs(str(lake / "warehouse/lake/shop/_pipeline_run_log"), contract="shop/gold_till_totals")
    (hold,) = Holds(lake / "_lakelogic/holds").of(("shop", "gold_till_totals"))
    assert [row["run_id"] for row in log if row["status"] == "held"] == [hold.run_id]
    assert hold.pipeline_run_id == call


def _later_runs_go_on_from_there(week: Runner) -> None:
    """In other runs: the child stays held, and is free once its parent has published the day."""
    alone = week.run("gold_till_totals", days=(BAD_DAY,))
    assert not alone.success
    assert "no_closed_days" in why(alone)
    assert BAD_DAY not in week.shop.days("gold_till_totals")
    anyway: dict[str, Any] = {"ops": {"shop__gold_till_totals": {"config": {"ignore_gates": True}}}}
    assert week.run("gold_till_totals", days=(BAD_DAY,), run_config=anyway).success
    week.shop.land(BAD_DAY, 10, -1, 30)
    assert week.run("bronze_till_orders", "silver_till_orders", "gold_till_totals", days=(BAD_DAY,)).success
    assert week.shop.days("gold_till_totals") == DAYS
    assert week.run("gold_till_overview").success
    assert week.shop.rows("gold_till_overview", "days", "total") == [("7", "280.0")]

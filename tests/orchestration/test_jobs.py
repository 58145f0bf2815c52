"""Jobs that people start with a few words: a selection and days, upkeep, what is in quarantine, the dashboard."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable

from tests.orchestration.conftest import Runner

DAYS = ("2026-02-14", "2026-02-15")
BAD = "2026-02-16"


@pytest.fixture(scope="module")
def ran(runner: Runner) -> Runner:
    for day in DAYS:
        runner.shop.land(day, 10, -1, 30)
    config = {"select": ["+gold_till_totals"], "first_day": DAYS[0], "last_day": DAYS[1]}
    assert start(runner, "run_contracts", "run_selection", **config).success
    return runner


def start(runner: Runner, job: str, op: str, **config: Any) -> dg.ExecuteInProcessResult:
    resolved = runner.shop.definitions().resolve_job_def(job)
    run_config = {"ops": {op: {"config": config}}}
    return resolved.execute_in_process(instance=runner.instance, run_config=run_config, raise_on_error=False)


def told(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(str(event.event_specific_data) for event in result.all_events if event.is_step_failure)


def output_metadata(result: dg.ExecuteInProcessResult, op: str) -> dict[str, Any]:
    (event,) = [each for each in result.events_for_node(op) if each.is_successful_output]
    return {name: value.value for name, value in event.step_output_data.metadata.items()}


def test_a_selection_runs_for_the_days_in_graph_order_and_is_recorded(ran: Runner) -> None:
    for table in ("bronze_till_orders", "silver_till_orders", "gold_till_totals"):
        assert ran.recorded(table) == list(DAYS)
    assert ran.shop.rows("gold_till_totals", "ordered_on", "total") == [(day, "40.0") for day in DAYS]


def test_reprocessing_rebuilds_the_days_and_what_is_made_from_them(ran: Runner) -> None:
    ran.shop.land(DAYS[0], 100, -1, 30)
    result = start(ran, "reprocess", "rebuild", select=["bronze_till_orders"], first_day=DAYS[0], last_day=DAYS[0])
    assert result.success
    assert ran.shop.rows("gold_till_totals", "ordered_on", "total")[0] == (DAYS[0], "130.0")
    assert ran.shop.rows("gold_till_overview", "days") == [("2",)]


def test_a_day_that_fails_its_gate_is_told_and_holds_what_follows(ran: Runner) -> None:
    ran.shop.land(BAD, 666)
    config = {"select": ["+gold_till_totals"], "first_day": BAD}
    result = start(ran, "run_contracts", "run_selection", **config)
    assert not result.success
    assert "no_closed_days" in told(result)
    assert BAD not in ran.recorded("gold_till_totals")


def test_what_is_in_the_tables_can_be_judged_again_without_writing(ran: Runner) -> None:
    path = str(ran.shop.root / ".lakehouse/warehouse/lake/shop/silver_till_orders")
    before = DeltaTable(path).version()
    config = {"select": ["silver_till_orders"], "first_day": DAYS[0], "last_day": DAYS[1]}
    result = start(ran, "check_contracts", "judge", **config)
    assert result.success
    found = result.get_asset_check_evaluations()
    assert {(each.check_name, each.partition) for each in found} >= {("amount_is_usual", day) for day in DAYS}
    assert all(each.target_materialization_data for each in found)
    assert DeltaTable(path).version() == before


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"select": ["gold_till_totls"]}, "Did you mean gold_till_totals?"),
        ({"first_day": "2026-02-30"}, "is not a day; write it as 2026-02-01"),
        ({"first_day": "2026-02-03", "last_day": "2026-02-01"}, "before the first day"),
        ({"last_day": "2026-02-01"}, "has no first day"),
        ({"select": ["layer:silver"]}, "made by partitions: name a `first_day`"),
    ],
)
def test_what_a_person_got_wrong_is_said_in_one_sentence(runner: Runner, config: Any, message: str) -> None:
    assert message in told(start(runner, "run_contracts", "run_selection", **config))


def test_upkeep_tells_what_it_did_to_which_table(ran: Runner) -> None:
    result = start(ran, "maintenance", "upkeep", select=["silver_till_orders"])
    assert result.success
    table = output_metadata(result, "upkeep")["tables"]
    assert "shop/silver_till_orders target" in table
    assert "shop/silver_till_orders quarantine" in table


def test_the_quarantine_is_counted_by_asset_and_rule(ran: Runner) -> None:
    found = output_metadata(start(ran, "quarantine_report", "count_by_rule"), "count_by_rule")
    assert found["rows"] >= 1
    assert "| shop/silver_till_orders |" in found["by_rule"]
    assert "amount is not negative" in found["by_rule"]


def test_the_dashboard_is_a_page_on_disk_and_a_summary_in_the_ui(ran: Runner) -> None:
    job = ran.shop.definitions().resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(asset_selection=[dg.AssetKey("quality_dashboard")], instance=ran.instance)
    (event,) = result.get_asset_materialization_events()
    page = (ran.shop.root / ".lakehouse/_reports/quality.html").read_text()
    assert event.materialization.metadata["page"].value.endswith("/_reports/quality.html")
    assert "silver_till_orders" in page
    assert "of 4 products passing" in event.materialization.metadata["summary"].value

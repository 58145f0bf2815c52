"""The code location behind a webserver and a daemon, as people use it: launch, backfill, check, hold, mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic_assets.cli.app import run as lakelogic
from tests.orchestration.conftest import BAD_DAY, DAYS, make_shop
from tests.orchestration.live import (
    BRONZE,
    LOCATION,
    REASON,
    SILVER,
    TOTALS,
    Backfilled,
    Live,
    backfilled,
    key,
    land_week,
    live,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["backfilled", "live"]

GOOD_DAYS = [day for day in DAYS if day != BAD_DAY]
OTHER_DAY = "2026-02-15"
SIGNED_DAY = "2026-02-18"


def of_the_week(days: list[str]) -> list[str]:
    """Other tests use other days."""
    return [day for day in days if day in DAYS]


def numbers(made: dict[str, object]) -> dict[str, object]:
    entries = made["metadataEntries"]
    assert isinstance(entries, list)
    return {entry["label"]: entry["intValue"] for entry in entries if "intValue" in entry}


def test_a_broken_contract_is_shown_as_left_out_with_its_line(live: Live) -> None:
    (node,) = [
        node
        for node in live.ask("{ assetNodes { assetKey { path } description isExecutable } }")["assetNodes"]
        if node["assetKey"]["path"] == ["depot", "silver_stock"]
    ]
    assert not node["isExecutable"]
    assert "Left out" in node["description"]
    assert "silver_stock.yaml:3:" in node["description"]
    assert "strng" in node["description"]


def test_a_rule_whose_name_dagster_refuses_is_shown_by_its_own_name(live: Live) -> None:
    node = live.ask(
        """query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
             assetChecksOrError { ... on AssetChecks { checks { name description } } }
           } } }""",
        key=key(SILVER),
    )["assetNodeOrError"]
    told = [check["description"] for check in node["assetChecksOrError"]["checks"]]
    assert any("amount is not negative" in description for description in told), told


def test_one_day_is_materialized_and_each_check_speaks_about_that_materialization(live: Live) -> None:
    live.shop.land(OTHER_DAY, 10, -5, 950)
    run = live.run(BRONZE, SILVER, day=OTHER_DAY).must_succeed()
    (made,) = live.materializations(SILVER, OTHER_DAY)
    found = numbers(made)
    assert made["runId"] == run.id
    assert (found["rows_read"], found["rows_good"], found["rows_quarantined"]) == (3, 2, 1)
    (broken,) = [entry["table"] for entry in made["metadataEntries"] if entry["label"] == "quarantine_by_rule"]
    assert any("amount is not negative" in record for record in broken["records"])
    for check in (REASON, "reconciliation", "quarantine_ratio", "volume"):
        (told,) = live.evaluations(SILVER, check, OTHER_DAY)
        assert told["status"] == "SUCCEEDED", told
        assert told["evaluation"]["targetMaterialization"]["runId"] == run.id


def test_a_backfill_brings_six_days_into_every_table_and_holds_the_bad_one(backfilled: Backfilled) -> None:
    live, state = backfilled.live, backfilled.state
    assert state["status"] == "COMPLETED_FAILED"
    assert [run["status"] for run in state["runs"]] == ["FAILURE"], "the three tables are one run"
    counts = {
        each["assetKey"]["path"][-1]: (each["numPartitionsMaterialized"], each["numPartitionsFailed"])
        for each in state["assetBackfillData"]["assetBackfillStatuses"]
    }
    assert counts == {BRONZE: (7, 0), SILVER: (6, 1), TOTALS: (6, 1)}
    assert of_the_week(live.shop.days(BRONZE)) == DAYS
    for table in (SILVER, TOTALS):
        assert of_the_week(live.shop.days(table)) == GOOD_DAYS
        assert of_the_week(live.days_recorded(table)) == GOOD_DAYS


def test_a_backfill_leaves_the_tables_that_the_command_line_leaves(
    backfilled: Backfilled, tmp_path: Path, spark: SparkSession
) -> None:
    assert spark is not None
    other, days = make_shop(tmp_path / "shop"), DAYS[2:5]
    land_week(other)
    tables = [BRONZE, SILVER, TOTALS]
    assert lakelogic(["backfill", *tables, "--from", days[0], "--to", days[-1], "--project", str(other.root)]) == 1
    for table in tables:
        columns = ("ordered_on", "total") if table == TOTALS else ("ordered_on", "order_id", "amount")
        found = [row for row in backfilled.live.shop.rows(table, *columns) if row[0] in days]
        assert found == other.rows(table, *columns), table


def test_the_bar_of_a_check_has_the_status_of_each_day(backfilled: Backfilled) -> None:
    live = backfilled.live
    passed = dict.fromkeys(DAYS, "SUCCEEDED")
    assert live.check_days(SILVER, REASON) == passed | {BAD_DAY: "FAILED"}
    assert live.check_days(SILVER, "reconciliation") == passed
    assert live.check_days(BRONZE, "reconciliation") == passed
    totals = live.check_days(TOTALS, "reconciliation")
    assert {day: totals[day] for day in GOOD_DAYS} == dict.fromkeys(GOOD_DAYS, "SUCCEEDED")
    assert totals.get(BAD_DAY) != "SUCCEEDED"
    (failed,) = live.evaluations(SILVER, REASON, BAD_DAY)
    assert failed["evaluation"]["severity"] == "ERROR"
    assert failed["evaluation"]["targetMaterialization"] is None, "nothing was published for it to speak about"


def test_a_complete_day_is_fresh_although_its_column_is_a_date(backfilled: Backfilled) -> None:
    """A date stands for its whole day: at the end of the day's window nothing newer could have come."""
    (told,) = backfilled.live.evaluations(SILVER, "data_freshness", DAYS[1])
    assert told["status"] == "SUCCEEDED", told["evaluation"]["description"]


def test_a_child_alone_is_held_in_another_run_until_somebody_ignores_the_gate(backfilled: Backfilled) -> None:
    live = backfilled.live
    before = live.version(TOTALS)
    held = live.run(TOTALS, day=BAD_DAY)
    assert held.status == "FAILURE"
    assert SILVER in held.errors
    assert REASON in held.errors
    assert live.version(TOTALS) == before
    assert BAD_DAY not in live.days_recorded(TOTALS)

    config = {"ops": {f"shop__{TOTALS}": {"config": {"ignore_gates": True}}}}
    live.run(TOTALS, day=BAD_DAY, config=config).must_succeed()
    assert BAD_DAY in live.days_recorded(TOTALS)
    assert BAD_DAY not in live.shop.days(TOTALS), "silver has no rows of that day"


def test_a_check_alone_judges_a_day_or_the_whole_table_and_writes_nothing(backfilled: Backfilled) -> None:
    live = backfilled.live
    before = {table: live.version(table) for table in (BRONZE, SILVER, TOTALS)}
    records = len(live.materializations(SILVER))
    checks = [(SILVER, REASON), (SILVER, "volume")]
    started = {day: live.start(day=day, checks=checks) for day in (DAYS[0], None)}
    for day, run_id in started.items():
        live.wait(run_id).must_succeed()
        newest = live.evaluations(SILVER, REASON, day or "")[0]
        assert newest["runId"] == run_id
        assert newest["status"] == "SUCCEEDED"
        assert newest["evaluation"]["targetMaterialization"] is not None
    assert {table: live.version(table) for table in before} == before
    assert len(live.materializations(SILVER)) == records


def test_the_jobs_take_a_selection_and_days_in_words(backfilled: Backfilled) -> None:
    live = backfilled.live
    before = {day: len(live.materializations(SILVER, day)) for day in DAYS[:2]}
    words = {"select": [SILVER], "first_day": DAYS[0]}
    started = live.start(job="run_contracts", config={"ops": {"run_selection": {"config": words}}})
    report = {"ops": {"count_by_rule": {"config": {"select": ["layer:silver"]}}}}
    live.run(job="quarantine_report", config=report).must_succeed()
    live.wait(started).must_succeed()
    after = {day: len(live.materializations(SILVER, day)) for day in DAYS[:2]}
    assert after == {DAYS[0]: before[DAYS[0]] + 1, DAYS[1]: before[DAYS[1]]}


def test_what_waits_for_a_signature_is_signed_by_a_job_and_published(live: Live) -> None:
    live.shop.land(SIGNED_DAY, 10, -1, -2)
    live.run(BRONZE, day=SIGNED_DAY).must_succeed()
    config = {"ops": {f"shop__{SILVER}": {"config": {"approval_required": True}}}}
    waiting = live.run(SILVER, day=SIGNED_DAY, config=config)
    assert waiting.status == "FAILURE"
    assert "this waits for a signature" in waiting.errors
    assert SIGNED_DAY not in live.days_recorded(SILVER)
    words = {"contract": SILVER, "why": "the till was broken", "by": "ada"}
    live.run(job="approve", config={"ops": {"sign": {"config": words}}}).must_succeed()
    live.run(SILVER, day=SIGNED_DAY, config=config).must_succeed()
    assert SIGNED_DAY in live.days_recorded(SILVER)


def test_the_sensor_for_late_data_asks_for_exactly_the_day_that_rows_came_for(backfilled: Backfilled) -> None:
    live = backfilled.live
    day = DAYS[5]
    live.shop.land(day, 10, 20, 30, 40)
    ticked = live.ask(
        """mutation ($selector: SensorSelector!) { sensorDryRun(selectorData: $selector, cursor: null) {
             ... on DryRunInstigationTick { evaluationResult {
               runRequests { runKey tags { key value } } error { message } } } } }""",
        selector={"repositoryLocationName": LOCATION, "repositoryName": "__repository__", "sensorName": "late_data"},
    )["sensorDryRun"]["evaluationResult"]
    assert ticked["error"] is None
    asked = [{tag["key"]: tag["value"] for tag in request["tags"]} for request in ticked["runRequests"]]
    assert [tags["dagster/partition"] for tags in asked] == [day]
    assert ticked["runRequests"][0]["runKey"].startswith(f"shop/{BRONZE}:{day}:")


def test_a_slip_in_the_words_of_a_job_is_told(live: Live) -> None:
    words = {"ops": {"count_by_rule": {"config": {"select": ["silver_till_oders"]}}}}
    run = live.run(job="quarantine_report", config=words)
    assert run.status == "FAILURE"
    assert "silver_till_oders" in run.errors


def test_a_corrected_day_goes_through_and_frees_its_child(backfilled: Backfilled) -> None:
    """The last test here: it mends the day that the others find held."""
    live = backfilled.live
    live.shop.land(BAD_DAY, 10, 20, -5)
    live.run(BRONZE, SILVER, day=BAD_DAY).must_succeed()
    live.run(TOTALS, day=BAD_DAY).must_succeed()
    assert (BAD_DAY, "30.0") in live.shop.rows(TOTALS, "ordered_on", "total")
    assert live.shop.days(TOTALS)[:7] == DAYS
    statuses = [each["status"] for each in live.evaluations(SILVER, REASON, BAD_DAY)]
    assert statuses == ["SUCCEEDED", "FAILED"]

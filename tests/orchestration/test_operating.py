"""What an operator does in Dagster: windows in words, signatures, late data, tables emptied and brought back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest
from deltalake import DeltaTable

from tests.orchestration.conftest import Runner, fast_folder, make_instance, make_shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE, TWO, THREE = (f"2026-02-0{day}" for day in (1, 2, 3))
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
CONTRACT = "contracts/shop/till/silver_till_orders.yaml"
DAILY = """
    name: daily
    cadence: daily
    start: "2026-02-01"
    end: "2026-02-04"
"""


@pytest.fixture(scope="module")
def till(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Runner]:
    """A shop of three days whose silver table has to be signed; the tests here follow each other."""
    assert spark is not None
    shop = make_shop(tmp_path_factory.mktemp("operating") / "shop")
    shop.write("partitions/daily.yaml", DAILY)
    text = (shop.root / CONTRACT).read_text()
    shop.write(CONTRACT, text.replace("com.lakelogic.sample: 2", "com.lakelogic.approval: required"))
    for day in (ONE, TWO):
        shop.land(day, 10, 20)
    with fast_folder() as memory, make_instance(memory / "dagster") as made:
        yield Runner(shop, made)


def start(till: Runner, job: str, op: str, **config: Any) -> dg.ExecuteInProcessResult:
    resolved = till.shop.definitions().resolve_job_def(job)
    run_config = {"ops": {op: {"config": config}}}
    return resolved.execute_in_process(instance=till.instance, run_config=run_config, raise_on_error=False)


def told(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(str(event.event_specific_data) for event in result.all_events if event.is_step_failure)


def checks(result: dg.ExecuteInProcessResult, name: str) -> list[dg.AssetCheckEvaluation]:
    found = result.get_asset_check_evaluations()
    return [each for each in found if each.check_name == name and each.asset_key.path[-1] == SILVER]


def approvals(till: Runner) -> list[tuple[bool, str]]:
    """How the check `approval` stands, newest first."""
    key = dg.AssetCheckKey(dg.AssetKey(["shop", SILVER]), "approval")
    records = till.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    found = [record.event.dagster_event.asset_check_evaluation_data for record in records if record.event]
    return [(each.passed, each.description or "") for each in found]


def test_below_a_table_that_never_succeeded_nothing_is_run_and_the_ui_says_why(till: Runner) -> None:
    result = start(till, "run_contracts", "run_selection", select=[GOLD], window="last_success")
    assert result.success
    (observed,) = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
    why = observed.asset_observation_data.asset_observation.metadata["skipped_because"].value
    assert why == f"its upstream shop/{SILVER} has no success in the run log; run that first"
    assert till.recorded(GOLD) == []
    assert all("Not evaluated" in (each.description or "") for each in result.get_asset_check_evaluations())


def test_since_the_last_success_loads_what_there_is(till: Runner) -> None:
    result = start(till, "run_contracts", "run_selection", select=[f"+{GOLD}"], window="last_success")
    assert result.success, told(result)
    assert till.recorded(GOLD) == [ONE, TWO]
    assert [each.passed for each in checks(result, "approval")] == [True, True]


def test_what_waits_is_signed_by_a_job_and_published_by_the_next_run(till: Runner) -> None:
    till.shop.land(THREE, 10, -1, -2)
    assert till.run(BRONZE, days=(THREE,)).success
    waiting = till.run(SILVER, days=(THREE,))
    assert not waiting.success
    assert "66.7% of the rows were quarantined; this waits for a signature" in told(waiting)
    assert THREE not in till.recorded(SILVER)
    assert approvals(till)[0][0] is False
    assert "Start the job `approve`" in approvals(till)[0][1]
    assert not till.run(GOLD, days=(THREE,)).success

    wrong = start(till, "approve", "sign", contract=SILVER, why="known", run_id="somebody")
    assert "The run somebody asked for nothing that waits" in told(wrong)
    assert start(till, "approve", "sign", contract=SILVER, why="the till was broken", by="ada").success
    assert approvals(till)[0] == (True, "Signed by ada: the till was broken. Run the window again to publish it.")

    # This is also how a night that failed is resumed: what is done is left alone, what did not succeed is run.
    published = start(till, "run_contracts", "run_selection", select=[f"+{GOLD}"], window="last_success")
    assert published.success, told(published)
    made = [
        (each.asset_key.path[-1], each.partition) for each in published.asset_materializations_for_node("run_selection")
    ]
    assert made == [(SILVER, THREE), (GOLD, THREE)]
    assert THREE in till.recorded(GOLD)
    (signed,) = checks(published, "approval")
    assert "Signed by ada: the till was broken" in (signed.description or "")
    (ratio,) = checks(published, "quarantine_ratio")
    assert ratio.passed


def test_late_rows_ask_for_exactly_their_windows(till: Runner) -> None:
    definitions = till.shop.definitions()
    (sensor,) = [each for each in definitions.sensors or () if each.name == "late_data"]

    def asked() -> dict[str, str | None]:
        ticked = sensor(dg.build_sensor_context(instance=till.instance, definitions=definitions))
        assert isinstance(ticked, dg.SensorResult)
        requests = ticked.run_requests or ()
        return {(request.asset_selection or [])[0].path[-1]: request.partition_key for request in requests}

    assert asked() == {}
    till.shop.land(TWO, 10, 20, 30)
    assert asked() == {BRONZE: TWO}
    options = {"ops": {f"shop__{BRONZE}": {"config": {"reprocess": True}}}}
    assert till.run(BRONZE, days=(TWO,), run_config=options).success
    assert asked() == {SILVER: TWO}
    rebuilt = start(till, "reprocess", "rebuild", select=[SILVER], first_day=TWO, last_day=TWO)
    assert rebuilt.success, told(rebuilt)
    assert (TWO, "60.0") in till.shop.rows(GOLD, "ordered_on", "total")
    assert asked() == {}


def test_late_windows_take_turns_although_the_first_ones_keep_failing(
    till: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakelogic_assets.orchestration.late._WINDOWS_A_TICK", 1)
    definitions = till.shop.definitions()
    (sensor,) = [each for each in definitions.sensors or () if each.name == "late_data"]

    def tick(cursor: str | None) -> dg.SensorResult:
        ticked = sensor(dg.build_sensor_context(instance=till.instance, definitions=definitions, cursor=cursor))
        assert isinstance(ticked, dg.SensorResult)
        return ticked

    for day in (ONE, TWO):
        till.shop.land(day, 10, 20, 40)
    first = tick(None)
    second = tick(first.cursor)
    asked = [request.partition_key for ticked in (first, second) for request in ticked.run_requests or ()]
    assert asked == [ONE, TWO]
    third = tick(second.cursor)
    assert not third.run_requests
    assert "2 late windows were asked for before" in str(third.skip_reason)
    # More rows for a window that was asked for are another reason to ask.
    till.shop.land(ONE, 10, 20, 40, 50)
    assert [request.partition_key for request in tick(third.cursor).run_requests or ()] == [ONE]


def test_a_value_set_for_one_run_is_used_and_recorded(till: Runner) -> None:
    other = till.shop.root / ".lakehouse/landing/elsewhere"
    file = other / "y_2026/m_02/d_01/orders.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"order_id": "x", "amount": 5, "ordered_on": ONE}) + "\n")
    config = {"ops": {f"shop__{BRONZE}": {"config": {"set": {"source.path": str(other)}}}}}
    assert till.run(BRONZE, days=(ONE,), run_config=config).success
    assert (ONE, "x") in till.shop.rows(BRONZE, "ordered_on", "order_id")
    config["ops"][f"shop__{BRONZE}"]["config"]["set"] = {"quality.row_rules": []}
    refused = till.run(BRONZE, days=(ONE,), run_config=config)
    assert not refused.success
    assert "--set quality" in told(refused)


def test_a_table_is_emptied_only_when_somebody_says_yes_and_comes_back(till: Runner) -> None:
    path = str(till.shop.root / ".lakehouse/warehouse/lake/shop" / GOLD)
    before = till.shop.rows(GOLD, "ordered_on", "total")
    assert start(till, "reset_contracts", "empty", select=[GOLD]).success
    assert till.shop.rows(GOLD, "ordered_on", "total") == before
    assert start(till, "reset_contracts", "empty", select=[GOLD], confirm="yes").success
    assert DeltaTable(path).to_pyarrow_table().num_rows == 0
    assert start(till, "restore_contracts", "bring_back", select=[GOLD], confirm="yes").success
    assert till.shop.rows(GOLD, "ordered_on", "total") == before
    assert "`select` is empty" in told(start(till, "reset_contracts", "empty", select=[]))

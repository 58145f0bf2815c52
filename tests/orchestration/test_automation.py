"""What is late, what runs by itself, and what waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.orchestration.automation import freshness_policy
from lakelogic_assets.orchestration.previews import previews_allowed
from tests.orchestration.conftest import Shop

NIGHT = datetime(2026, 2, 20, 3, tzinfo=UTC)
NEWEST = "2026-02-19"


def key(table: str) -> dg.AssetKey:
    return dg.AssetKey(["shop", table])


def published(instance: dg.DagsterInstance, table: str, partition: str | None = None) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(key(table), partition=partition))


def promised(**said: Any) -> dg.FreshnessPolicy | None:
    return freshness_policy(Contract.model_validate(said))


def test_a_threshold_is_a_window_that_warns_before_it_fails() -> None:
    policy: Any = promised(service_levels={"freshness_hours": 24})
    assert policy.fail_window.to_timedelta() == timedelta(hours=24)
    assert policy.warn_window.to_timedelta() == timedelta(hours=18)


def test_a_table_filled_once_a_day_and_fresh_for_two_hours_has_a_deadline() -> None:
    policy: Any = promised(service_levels={"freshness": "2h"}, schedule="0 6 * * *")
    assert policy.deadline_cron == "0 8 * * *"
    assert policy.lower_bound_delta == timedelta(hours=2)


@pytest.mark.parametrize("schedule", ["@daily", "0 0 6 * * ?", "*/5 * * * *", "0 23 * * *"])
def test_other_ways_to_write_a_schedule_have_a_policy_too(schedule: str) -> None:
    assert promised(service_levels={"freshness": "2h"}, schedule=schedule) is not None


def test_without_a_promise_nothing_is_late() -> None:
    assert promised(schedule="0 6 * * *") is None


class Clock:
    """Evaluates the conditions of a shop, one tick after another."""

    def __init__(self, shop: Shop, instance: dg.DagsterInstance) -> None:
        self.definitions, self.instance = shop.definitions(), instance
        self.cursor: Any = None

    def tick(self, moment: datetime) -> set[tuple[str, str | None]]:
        with previews_allowed():
            result = dg.evaluate_automation_conditions(
                self.definitions, self.instance, cursor=self.cursor, evaluation_time=moment
            )
        self.cursor = result.cursor
        found = set()
        for each in result.results:
            if isinstance(each.key, dg.AssetKey) and each.key.path[0] == "shop":
                found |= {
                    (each.key.path[-1], at.partition_key)
                    for at in each.true_subset.expensively_compute_asset_partitions()
                }
        return found


def test_a_table_runs_after_its_upstream_and_not_before(shop: Shop, instance: dg.DagsterInstance) -> None:
    clock = Clock(shop, instance)
    assert ("silver_till_orders", NEWEST) not in clock.tick(NIGHT)
    published(instance, "bronze_till_orders", NEWEST)
    assert ("silver_till_orders", NEWEST) in clock.tick(NIGHT + timedelta(minutes=1))


def test_after_a_failed_gate_nothing_downstream_is_asked_for(shop: Shop, instance: dg.DagsterInstance) -> None:
    clock = Clock(shop, instance)
    clock.tick(NIGHT)
    published(instance, "bronze_till_orders", NEWEST)
    clock.tick(NIGHT + timedelta(minutes=1))
    # Silver failed its gate: its checks were recorded, no materialization was.
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=key("silver_till_orders"), check_name="no_closed_days", passed=False,
            severity=dg.AssetCheckSeverity.ERROR, partition=NEWEST, metadata={},
        )
    )  # fmt: skip
    assert "gold_till_totals" not in {table for table, _ in clock.tick(NIGHT + timedelta(minutes=2))}


def schedule_bronze(shop: Shop, cron: str) -> None:
    path = shop.root / "contracts/shop/till/bronze_till_orders.yaml"
    path.write_text(path.read_text() + f'schedule: "{cron}"\n')


def test_a_root_with_a_schedule_runs_when_it_is_due_although_its_source_is_never_observed(
    shop: Shop, instance: dg.DagsterInstance
) -> None:
    schedule_bronze(shop, "30 2 * * *")
    clock = Clock(shop, instance)
    clock.tick(NIGHT.replace(hour=2, minute=0))
    assert ("bronze_till_orders", NEWEST) in clock.tick(NIGHT.replace(hour=2, minute=31))
    assert "bronze_till_orders" not in {table for table, _ in clock.tick(NIGHT.replace(hour=2, minute=32))}


def test_a_contract_can_say_that_it_never_runs_by_itself(shop: Shop, instance: dg.DagsterInstance) -> None:
    path = shop.root / "contracts/shop/till/silver_till_orders.yaml"
    path.write_text(path.read_text().replace("com.lakelogic.sample: 2", "com.lakelogic.automation: off"))
    clock = Clock(shop, instance)
    clock.tick(NIGHT)
    published(instance, "bronze_till_orders", NEWEST)
    assert "silver_till_orders" not in {table for table, _ in clock.tick(NIGHT + timedelta(minutes=1))}


def test_sensors_are_off_until_a_person_switches_them_on(shop: Shop) -> None:
    sensors = shop.definitions().sensors or ()
    assert {sensor.name: sensor.default_status for sensor in sensors} == {
        "contracts_automation": dg.DefaultSensorStatus.STOPPED,
        "late_data": dg.DefaultSensorStatus.STOPPED,
        "new_files": dg.DefaultSensorStatus.STOPPED,
    }

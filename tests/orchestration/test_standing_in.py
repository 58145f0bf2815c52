"""A table that a contract lets be old stands in for its held day, also for assets that are run together."""

from __future__ import annotations

from lakelogic_assets.spark.window_states import WENT_WELL
from tests.orchestration.conftest import Runner

ONE, TWO, THREE = (f"2026-02-0{day}" for day in (1, 2, 3))
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
CLOSED = 666


def test_what_an_upstream_had_before_stands_in_for_its_held_day(runner: Runner) -> None:
    path = f"contracts/shop/till/{GOLD}.yaml"
    grace = "{com.lakelogic.partitions: daily, com.lakelogic.upstream_freshness: {silver_till_orders: 6h}}"
    shop = runner.shop
    shop.write(path, (shop.root / path).read_text().replace("{com.lakelogic.partitions: daily}", grace))
    shop.land(ONE, 10)
    shop.land(TWO, CLOSED)
    both = runner.run(BRONZE, SILVER, GOLD, days=(ONE, TWO), checks=False)
    assert not both.success
    (failed,) = [str(event.event_specific_data) for event in both.all_events if event.is_step_failure]
    assert f"is published, with what was there before: shop/{SILVER} did not publish {TWO} in this run" in failed
    assert runner.recorded(SILVER) == [ONE]
    assert runner.recorded(GOLD) == [ONE, TWO]
    assert runner.logged(GOLD, TWO) in WENT_WELL

    # Below a step that failed Dagster starts nothing; by itself the child may run.
    shop.land(THREE, CLOSED)
    assert not runner.run(BRONZE, SILVER, GOLD, days=(THREE,), checks=False).success
    assert runner.recorded(GOLD) == [ONE, TWO]
    assert runner.run(GOLD, days=(THREE,), checks=False).success
    assert runner.recorded(GOLD) == [ONE, TWO, THREE]

"""A table that a contract lets be old stands in for its held day, also for assets that are run together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic_assets.spark.window_states import WENT_WELL
from tests.orchestration.conftest import Runner

if TYPE_CHECKING:
    import dagster as dg

ONE, TWO, THREE = (f"2026-02-0{day}" for day in (1, 2, 3))
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
OVERVIEW = "gold_till_overview"
CLOSED = 666


def failures(result: dg.ExecuteInProcessResult) -> list[str]:
    return [str(event.event_specific_data) for event in result.all_events if event.is_step_failure]


def test_what_an_upstream_had_before_stands_in_for_its_held_day(runner: Runner) -> None:
    path = f"contracts/shop/till/{GOLD}.yaml"
    grace = "{com.lakelogic.partitions: daily, com.lakelogic.upstream_freshness: {silver_till_orders: 6h}}"
    shop = runner.shop
    shop.write(path, (shop.root / path).read_text().replace("{com.lakelogic.partitions: daily}", grace))
    shop.land(ONE, 10)
    shop.land(TWO, CLOSED)
    both = runner.run(BRONZE, SILVER, GOLD, days=(ONE, TWO), checks=False)
    assert not both.success
    (failed,) = failures(both)
    assert f"is published, with what was there before: shop/{SILVER} did not publish {TWO} in this run" in failed
    assert runner.recorded(SILVER) == [ONE]
    assert runner.recorded(GOLD) == [ONE, TWO]
    assert runner.logged(GOLD, TWO) in WENT_WELL

    # The run fails also where a table below hides that its own upstream did without a day.
    further = runner.run(SILVER, GOLD, OVERVIEW, days=(ONE, TWO), checks=False)
    assert runner.recorded(OVERVIEW) == [None]
    (failed,) = failures(further)
    assert f"shop/{OVERVIEW} is published, with what was there before: shop/{SILVER} did not publish {TWO}" in failed

    # Below a step that failed Dagster starts nothing; by itself the child may run.
    shop.land(THREE, CLOSED)
    assert not runner.run(BRONZE, SILVER, GOLD, days=(THREE,), checks=False).success
    assert runner.recorded(GOLD) == [ONE, TWO]
    assert runner.run(GOLD, days=(THREE,), checks=False).success
    assert runner.recorded(GOLD) == [ONE, TWO, THREE]

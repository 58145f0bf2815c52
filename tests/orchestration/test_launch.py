"""Which products fit into one run of Dagster."""

from __future__ import annotations

from dataclasses import replace

from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.orchestration.build import build_location
from lakelogic_assets.orchestration.launch import batches
from tests.orchestration.conftest import Shop


def test_products_of_one_partition_set_and_those_without_go_into_one_run(shop: Shop) -> None:
    products = build_location(shop.project).products
    (batch,) = batches(products)
    assert batch.products == products
    assert batch.partitions == products[0].partitions


def test_another_partition_set_begins_another_run_and_keeps_the_order(shop: Shop) -> None:
    bronze, silver, totals, overview = build_location(shop.project).products
    monthly = replace(totals, partitions=PartitionSet(name="monthly", cadence="monthly", start="2026-01-01"))
    first, second = batches([bronze, silver, monthly, overview])
    assert first.products == (bronze, silver)
    assert second.products == (monthly, overview)
    assert second.partitions == monthly.partitions

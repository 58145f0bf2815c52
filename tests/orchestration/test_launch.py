"""Which products fit into one run of Dagster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.orchestration.build import build_location
from lakelogic_assets.orchestration.launch import batches, instance_of
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


def test_a_project_that_knows_nothing_of_dagster_has_its_runs_beside_its_tables(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with instance_of(shop.project) as instance:
        assert instance.root_directory == str(shop.root / ".lakehouse" / "_dagster")
    assert "enabled: false" in (shop.root / ".lakehouse" / "_dagster" / "dagster.yaml").read_text()


def test_a_home_that_is_not_there_is_told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(shop.root / "nowhere"))
    with pytest.raises(ProjectError, match="DAGSTER_HOME"):
        instance_of(shop.project)

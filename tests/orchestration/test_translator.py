"""The shipped example as Dagster sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.orchestration.build import Location, build_location
from lakelogic_assets.orchestration.translator import ContractTranslator
from lakelogic_assets.project import Project, shipped_example
from tests.orchestration.conftest import Shop

EXAMPLE = Project(shipped_example())
Specs = dict[tuple[str, ...], dg.AssetSpec]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_project(EXAMPLE)


@pytest.fixture(scope="module")
def location(registry: Registry) -> Location:
    return build_location(EXAMPLE, registry=registry)


@pytest.fixture(scope="module")
def specs(location: Location) -> Specs:
    return {tuple(spec.key.path): spec for spec in location.definitions.resolve_all_asset_specs()}


def test_the_definitions_can_be_loaded(location: Location) -> None:
    dg.Definitions.validate_loadable(location.definitions)


def test_every_enabled_contract_is_an_asset_named_by_domain_and_table(registry: Registry, specs: Specs) -> None:
    made = {key for key in specs if key[0] not in ("source", "quality_dashboard")}
    assert made == {contract.key for contract in registry if contract.place.enabled}


def test_what_a_contract_reads_is_its_lineage(specs: Specs) -> None:
    upstream = {dep.asset_key.path[-1] for dep in specs["retail", "gold_fact_sales"].deps}
    assert upstream == {"gold_dim_customers", "gold_dim_products", "silver_pos_orders"}


def test_a_landing_folder_is_an_asset_that_nobody_here_runs(location: Location, specs: Specs) -> None:
    (dep,) = specs["retail", "bronze_pos_orders"].deps
    assert dep.asset_key == dg.AssetKey(["source", "retail", "pos_orders"])
    assert dep.asset_key not in location.definitions.resolve_asset_graph().executable_asset_keys
    assert "landing" in (specs["source", "retail", "pos_orders"].description or "")


def test_an_asset_carries_its_domain_layer_owners_and_columns(specs: Specs) -> None:
    spec = specs["retail", "silver_crm_customers"]
    assert spec.group_name == "retail"
    assert {"spark", "deltalake", "silver"} <= spec.kinds
    assert any("@" in owner for owner in spec.owners)
    assert any(owner.startswith("team:") for owner in spec.owners)
    assert spec.tags["lakelogic/personal_data"] == "yes"
    columns = {column.name: column for column in spec.metadata["dagster/column_schema"].columns}
    assert columns["customer_id"].constraints.nullable is False
    assert "pii" in columns["email"].tags
    assert any(text.startswith("masked") for text in columns["email"].constraints.other)
    assert spec.metadata["dagster/table_name"] == "lakehouse.retail.silver_crm_customers"
    assert spec.metadata["dagster/uri"].endswith("retail/silver_crm_customers")


def test_a_key_of_one_column_is_unique(specs: Specs) -> None:
    columns = specs["retail", "gold_dim_products"].metadata["dagster/column_schema"].columns
    assert [column.name for column in columns if column.constraints.unique] == ["product_id"]


def test_the_link_to_the_yaml_leads_to_the_line(registry: Registry, specs: Specs) -> None:
    references = specs["retail", "silver_crm_customers"].metadata["dagster/code_references"].code_references
    path = registry.find("silver_crm_customers").place.path
    assert path is not None
    lines = path.read_text().splitlines()
    found = {reference.label: lines[reference.line_number - 1] for reference in references}
    assert {reference.file_path for reference in references} == {str(path)}
    assert found["rules"].startswith(("quality:", "  "))
    assert "version" in found["contract"]


def test_the_code_version_changes_with_what_changes_data_only(shop: Shop) -> None:
    def version() -> str | None:
        key = dg.AssetKey(["shop", "gold_till_totals"])
        return shop.definitions().resolve_asset_graph().get(key).code_version

    before = version()
    path = shop.root / "contracts/shop/till/gold_till_totals.yaml"
    path.write_text(path.read_text().replace("Totals by day", "Daily totals"))
    assert version() == before
    path.write_text(path.read_text().replace("SUM(amount)", "SUM(amount) * 2"))
    assert version() != before


def test_promises_become_freshness_policies(specs: Specs) -> None:
    policy: Any = specs["retail", "gold_fact_sales"].freshness_policy
    assert policy.fail_window.to_timedelta() == timedelta(hours=48)
    assert policy.warn_window.to_timedelta() == timedelta(hours=36)


def test_every_rule_is_a_check_and_every_table_has_its_own(location: Location) -> None:
    graph = location.definitions.resolve_asset_graph()
    names = {key.name for key in graph.asset_check_keys if key.asset_key.path[-1] == "silver_pos_orders"}
    assert {"order_id_line_no_unique", "quantity_range", "revenue_in_range", "sold_on_business_day"} <= names
    assert {"schema", "reconciliation", "quarantine_ratio", "volume", "data_freshness"} <= names


def test_only_gates_are_blocking(location: Location) -> None:
    (asset,) = [
        each for each in location.definitions.assets or () if isinstance(each, dg.AssetsDefinition)
        and each.keys == {dg.AssetKey(["retail", "silver_pos_orders"])}
    ]  # fmt: skip
    blocking = {spec.name for spec in asset.check_specs if spec.blocking}
    assert blocking == {"order_id_line_no_unique", "revenue_in_range", "quarantine_ratio"}


def test_one_override_changes_the_picture_of_every_contract(registry: Registry) -> None:
    class Renamed(ContractTranslator):
        def asset_spec(self, product: Any) -> dg.AssetSpec:
            return super().asset_spec(product).replace_attributes(group_name="everything")

        def check_spec(self, product: Any, check: Any) -> dg.AssetCheckSpec:
            return super().check_spec(product, check)._replace(description="mine")

    location = build_location(EXAMPLE, Renamed(), registry)
    made = [
        asset
        for asset in location.definitions.assets or ()
        if isinstance(asset, dg.AssetsDefinition) and asset.check_specs_by_output_name
    ]
    assert {spec.group_name for asset in made for spec in asset.specs} == {"everything"}
    assert {spec.description for asset in made for spec in asset.check_specs} == {"mine"}

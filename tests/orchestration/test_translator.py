"""The shipped example as Dagster sees it."""

import dagster as dg
import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.definitions import definitions
from lakelogic_assets.errors import ContractError
from lakelogic_assets.orchestration.translator import ContractTranslator
from lakelogic_assets.project import Project, shipped_example


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_project(Project(shipped_example()))


@pytest.fixture(scope="module")
def specs(registry: Registry) -> dict[tuple[str, ...], dg.AssetSpec]:
    return {tuple(spec.key.path): spec for spec in definitions(registry).resolve_all_asset_specs()}


def test_every_enabled_contract_is_an_asset_named_by_domain_and_table(
    registry: Registry, specs: dict[tuple[str, ...], dg.AssetSpec]
) -> None:
    assert set(specs) == {contract.key for contract in registry if contract.place.enabled}


def test_what_a_contract_reads_is_its_lineage(specs: dict[tuple[str, ...], dg.AssetSpec]) -> None:
    upstream = {dep.asset_key.path[-1] for dep in specs["retail", "gold_fact_sales"].deps}
    assert upstream == {"gold_dim_customers", "gold_dim_products", "silver_pos_orders"}


def test_an_asset_carries_its_domain_layer_columns_and_the_place_of_its_yaml(
    registry: Registry, specs: dict[tuple[str, ...], dg.AssetSpec]
) -> None:
    spec = specs["retail", "silver_crm_customers"]
    assert spec.group_name == "retail"
    assert {"spark", "deltalake", "silver"} <= spec.kinds
    columns = {column.name: column for column in spec.metadata["dagster/column_schema"].columns}
    assert columns["customer_id"].constraints.nullable is False
    (reference,) = spec.metadata["dagster/code_references"].code_references
    assert reference.file_path == str(registry.find("silver_crm_customers").place.path)


def test_a_project_with_errors_is_refused_with_every_problem(registry: Registry) -> None:
    from dataclasses import replace

    from lakelogic_assets.contract.problems import Problem

    broken = replace(registry, problems=(Problem("LL101", "One."), Problem("LL102", "Two.")))
    with pytest.raises(ContractError, match=r"One\.[\s\S]*Two\."):
        definitions(broken)


def test_one_override_changes_the_picture_of_every_contract(registry: Registry) -> None:
    class Renamed(ContractTranslator):
        def asset_spec(self, contract, upstream):  # type: ignore[no-untyped-def]
            return super().asset_spec(contract, upstream).replace_attributes(group_name="everything")

    specs = definitions(registry, Renamed()).resolve_all_asset_specs()
    assert {spec.group_name for spec in specs} == {"everything"}

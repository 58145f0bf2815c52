"""A contract with errors does not take the others down with it."""

from __future__ import annotations

import dagster as dg
import pytest

from lakelogic_assets.errors import ContractError
from lakelogic_assets.orchestration.left_out import STRICT_VARIABLE
from tests.orchestration.conftest import Shop

SILVER = "contracts/shop/till/silver_till_orders.yaml"


def break_silver(shop: Shop) -> None:
    path = shop.root / SILVER
    path.write_text(path.read_text().replace("strategy: merge", "strategy: marge"))


def test_the_location_loads_without_the_broken_contract(shop: Shop) -> None:
    break_silver(shop)
    graph = shop.definitions().resolve_asset_graph()
    assert dg.AssetKey(["shop", "bronze_till_orders"]) in graph.executable_asset_keys
    assert dg.AssetKey(["shop", "silver_till_orders"]) not in graph.executable_asset_keys


def test_the_broken_contract_is_shown_with_its_file_line_and_cure(shop: Shop) -> None:
    break_silver(shop)
    specs = {spec.key.path[-1]: spec for spec in shop.definitions().resolve_all_asset_specs()}
    left_out = specs["silver_till_orders"]
    assert left_out.tags["lakelogic/left_out"] == "yes"
    assert f"{SILVER}:" in (left_out.description or "")
    assert "marge" in (left_out.description or "")


def test_a_file_that_is_not_yaml_is_shown_under_its_name(shop: Shop) -> None:
    (shop.root / SILVER).write_text("model: [\n")
    specs = {tuple(spec.key.path): spec for spec in shop.definitions().resolve_all_asset_specs()}
    assert "Left out" in (specs["shop", "silver_till_orders"].description or "")


def test_an_upstream_that_does_not_exist_is_an_error_and_not_a_stub(shop: Shop) -> None:
    path = shop.root / SILVER
    path.write_text(path.read_text() + "upstream: [bronze_till_ordres]\n")
    specs = {spec.key.path[-1]: spec for spec in shop.definitions().resolve_all_asset_specs()}
    assert "bronze_till_ordres" in (specs["silver_till_orders"].description or "")
    assert "bronze_till_ordres" not in specs


def test_an_error_in_a_system_leaves_out_its_contracts(shop: Shop) -> None:
    shop.write("contracts/shop/depot/_system.yaml", "domain: shop\nsystem: depot\ncontracts: []\nwhatever: 1\n")
    graph = shop.definitions().resolve_asset_graph()
    assert dg.AssetKey(["shop", "bronze_till_orders"]) in graph.executable_asset_keys


def test_two_broken_files_of_one_name_do_not_keep_the_location_from_loading(shop: Shop) -> None:
    for system in ("depot", "store"):
        shop.write(f"contracts/shop/{system}/gold_twice.yaml", "model: [\n")
    shop.write("contracts/shop/depot/gold_till_totals.yaml", "model: [\n")
    definitions = shop.definitions()
    dg.Definitions.validate_loadable(definitions)
    left_out = [spec.key for spec in definitions.resolve_all_asset_specs() if "lakelogic/left_out" in spec.tags]
    assert len(left_out) == len(set(left_out)) == 3


def test_strict_mode_refuses_to_load_with_every_problem(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    break_silver(shop)
    monkeypatch.setenv(STRICT_VARIABLE, "1")
    with pytest.raises(ContractError, match="marge"):
        shop.definitions()


def test_an_error_in_resources_concerns_every_contract(shop: Shop) -> None:
    shop.write("resources/local.yaml", "name: local\nsparc: {}\n")
    with pytest.raises(ContractError, match="sparc"):
        shop.definitions()

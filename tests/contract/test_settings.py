"""The keys of `extensions:` that this project reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.settings import ContractSettings, settings_of
from lakelogic_assets.errors import ContractError

if TYPE_CHECKING:
    from tests.contract.conftest import LoadText

CONTRACT = "version: 1.0.0\nmodel: {fields: [{name: id, type: long}]}\n"


def contract(**extensions: Any) -> Contract:
    return Contract.model_validate({"extensions": {f"com.lakelogic.{key}": value for key, value in extensions.items()}})


def test_a_contract_without_extensions_has_the_usual_settings() -> None:
    assert settings_of(Contract()) == ContractSettings()
    assert ContractSettings().sample_rows == 0


def test_every_setting_is_read_in_its_type() -> None:
    said = contract(
        partitions="daily",
        timeout="30m",
        sample=5,
        automation="off",
        upstream_freshness={"bronze_orders": "30h"},
        pool="jdbc",
        connection="shop",
    )
    assert settings_of(said) == ContractSettings(
        "daily", 1_800.0, 5, "off", {"bronze_orders": 108_000.0}, "jdbc", "shop"
    )


def test_extensions_of_others_are_theirs() -> None:
    theirs = Contract.model_validate({"extensions": {"com.acme.timeout": [1, 2], "com.lakelogical.sample": "many"}})
    assert settings_of(theirs) == ContractSettings()


def test_an_empty_setting_says_nothing() -> None:
    assert settings_of(contract(timeout=None, partitions=None)) == ContractSettings()


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("timout", "30m", "LL101"),
        ("timeout", "30 parsecs", "LL110"),
        ("timeout", "0s", "LL105"),
        ("sample", True, "LL103"),
        ("sample", -1, "LL105"),
        ("automation", "sometimes", "LL104"),
        ("upstream_freshness", {"a": 5}, "LL103"),
        ("pool", "a b", "LL104"),
        ("pool", "", "LL104"),
        ("partitions", "", "LL102"),
    ],
)
def test_a_wrong_setting_is_never_read_as_another(key: str, value: Any, code: str) -> None:
    with pytest.raises(ContractError) as caught:
        settings_of(contract(**{key: value}))
    assert caught.value.code == code


def test_off_is_a_word_in_yaml(load: LoadText) -> None:
    registry = load(CONTRACT + "extensions:\n  com.lakelogic.automation: off\n")
    assert registry.errors == ()
    assert settings_of(next(iter(registry))).automation == "off"


def test_a_schedule_of_the_index_is_enough_for_cron(load_tree: LoadText) -> None:
    registry = load_tree(
        {
            "contracts/shop/crm/_system.yaml": "domain: shop\nsystem: crm\n"
            "contracts: [{path: bronze_a.yaml, schedule: 0 6 * * *}]\n",
            "contracts/shop/crm/bronze_a.yaml": CONTRACT + "extensions: {com.lakelogic.automation: cron}\n",
        }
    )
    assert registry.errors == ()


def test_a_column_that_may_come_undeclared_may_cut_partitions(load_tree: LoadText) -> None:
    cut = "name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: [eu]}\n"
    text = CONTRACT + "extensions: {com.lakelogic.partitions: daily}\n"
    allowed = load_tree({"partitions/daily.yaml": cut, "contracts/bronze_a.yaml": text})
    assert allowed.errors == ()
    dropped = text + "schema_policy: {unknown_fields: drop}\n"
    assert [each.code for each in load_tree({"contracts/bronze_a.yaml": dropped}).errors] == ["LL426"]


def test_patience_with_an_upstream_may_use_any_of_its_names(load_tree: LoadText) -> None:
    patience = "{bronze_a: 1d, shop.bronze_a: 1d, shop.crm.bronze_a: 1d, lake.elsewhere.prices: 1d}"
    registry = load_tree(
        {
            "contracts/shop/crm/_system.yaml": "domain: shop\nsystem: crm\n"
            "contracts: [{path: bronze_a.yaml}, {path: silver_b.yaml}]\n",
            "contracts/shop/crm/bronze_a.yaml": CONTRACT,
            "contracts/shop/crm/silver_b.yaml": CONTRACT
            + "upstream: [bronze_a]\nlinks: [{name: prices, table: lake.elsewhere.prices}]\n"
            + f"extensions: {{com.lakelogic.upstream_freshness: {patience}}}\n",
        }
    )
    assert registry.errors == ()

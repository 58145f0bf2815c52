"""Contracts of a project, found by name and selected by words."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import NotFoundError, RequestError


def contract(table: str, domain: str | None = "sales", system: str | None = "till", **data: Any) -> Contract:
    place = data.pop("place", {})
    written = Contract.model_validate({"info": {"table_name": table}, **data})
    return written.with_place(Place(domain=domain, system=system, registered=True, **place))


def registry(*contracts: Contract) -> Registry:
    return Registry({each.key: each for each in contracts}, {})


ORDERS = contract(
    "bronze_till_orders",
    place={"entity": "orders", "layer": "bronze"},
    materialization={"target_path": "table:`lake`.raw.till_orders"},
)
CLEAN = contract("silver_till_orders", place={"entity": "orders", "layer": "silver"})


@pytest.mark.parametrize(
    ("words", "tables"),
    [
        (["silver_till_orders"], {"silver_till_orders"}),
        (["sales/silver_till_orders"], {"silver_till_orders"}),
        (["silver_till_orders.yaml"], {"silver_till_orders"}),
        (["*_orders"], {"bronze_till_orders", "silver_till_orders"}),
        (["sales/*"], {"bronze_till_orders", "silver_till_orders", "gold_sales"}),
        (["layer:gold"], {"gold_sales"}),
        (["domain:sales"], {"bronze_till_orders", "silver_till_orders", "gold_sales"}),
        (["system:t*"], {"bronze_till_orders", "silver_till_orders"}),
        (["+gold_sales"], {"bronze_till_orders", "silver_till_orders", "gold_sales"}),
        (["silver_till_orders+"], {"silver_till_orders", "gold_sales"}),
        (["layer:bronze", "gold_sales"], {"bronze_till_orders", "gold_sales"}),
    ],
)
def test_contracts_are_selected_by_words(words: list[str], tables: set[str]) -> None:
    clean = contract(
        "silver_till_orders", place={"entity": "orders", "layer": "silver"}, upstream=["bronze_till_orders"]
    )
    gold = contract("gold_sales", system="mart", upstream=["silver_till_orders"])
    assert {key[-1] for key in registry(ORDERS, clean, gold).select(words)} == tables


def test_to_ask_only_for_what_is_not_run_is_answered_with_the_reason() -> None:
    off = contract("gold_off", place={"enabled": False})
    loose = contract("gold_loose").with_place(Place(domain="sales", enabled=False))
    known = registry(ORDERS, off, loose)
    assert known.running([off.key, ORDERS.key]) == [ORDERS.key]
    assert known.running([]) == []
    with pytest.raises(RequestError, match=r"`sales/gold_off` is switched off by `enabled: false` in its index\."):
        known.running([off.key])
    with pytest.raises(
        RequestError, match=r"in no index of its system and not run: .* LAKELOGIC_INCLUDE_UNREGISTERED=1"
    ):
        known.running([loose.key])


def test_a_name_nobody_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        registry(ORDERS, CLEAN).find("silver_till_oders")
    assert caught.value.near == ("silver_till_orders",)
    with pytest.raises(NotFoundError, match=r"Nothing is selected by 'layer:platinum'\."):
        registry(ORDERS).select(["layer:platinum"])


def test_a_name_that_several_have_is_not_guessed() -> None:
    with pytest.raises(
        NotFoundError, match="may be several contracts: sales/bronze_till_orders, sales/silver_till_orders"
    ):
        registry(ORDERS, CLEAN).find("orders")

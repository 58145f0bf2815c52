"""Names that Dagster refuses become names that it takes, and none of them is lost on the way."""

from __future__ import annotations

import dagster as dg
import pytest

from lakelogic_assets.orchestration.naming import asset_key, distinct, safe_name, tag_value

HOSTILE = [
    "amount is not negative",
    "größe-unter-10",
    "a.b.c",
    "x" * 300,
    "context",
    "",
    "   ",
    "{weird}|chars",
    "née",
    "😀",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_becomes_one_that_dagster_accepts(name: str) -> None:
    safe = safe_name(name)
    assert dg.AssetCheckSpec(safe, asset="a").name == safe
    assert safe.replace("_", "").isalnum()
    assert len(safe) <= 90


def test_a_name_that_is_fine_stays_as_it_is() -> None:
    assert safe_name("customer_id_not_null") == "customer_id_not_null"


def test_names_that_would_collide_stay_apart() -> None:
    names = ["a-b", "a_b", "a b", "A_B", "a_b"]
    made = distinct(range(len(names)), names.__getitem__)
    assert len({name.casefold() for name in made.values()}) == len(names)


def test_the_same_name_is_always_mapped_to_the_same_one() -> None:
    assert safe_name("größe") == safe_name("größe") != safe_name("grösse")


def test_keys_of_tables_with_odd_names_are_distinct() -> None:
    assert asset_key(("shop", "orders-daily")) != asset_key(("shop", "orders_daily"))
    assert asset_key(("shop", "orders")) == dg.AssetKey(["shop", "orders"])


def test_a_tag_holds_what_dagster_allows() -> None:
    assert tag_value("Confidential / internal" + "x" * 90).startswith("Confidential_internal")
    assert len(tag_value("x" * 90)) == 63
    assert tag_value("///") == "none"

"""Which contract waits for which, whatever name is used for it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.contract.graph import Edge, Graph, Key, Names, build_graph
from lakelogic_assets.contract.registry import Registry


def contract(table: str, domain: str | None = "sales", system: str | None = "till", **data: Any) -> Contract:
    place = data.pop("place", {})
    written = Contract.model_validate({"info": {"table_name": table}, **data})
    return written.with_place(Place(domain=domain, system=system, registered=True, **place))


def registry(*contracts: Contract) -> Registry:
    return Registry({each.key: each for each in contracts}, {})


def chain(edges: dict[str, list[str]]) -> Graph:
    nodes = tuple((name,) for name in edges)
    return Graph(nodes, tuple(Edge((up,), (down,), "upstream") for down, ups in edges.items() for up in ups))


ORDERS = contract(
    "bronze_till_orders",
    place={"entity": "orders", "layer": "bronze"},
    materialization={"target_path": "table:`lake`.raw.till_orders"},
)
CLEAN = contract("silver_till_orders", place={"entity": "orders", "layer": "silver"})


@pytest.mark.parametrize(
    "name",
    [
        "bronze_till_orders",
        "BRONZE_TILL_ORDERS",
        "sales.bronze_till_orders",
        "sales/bronze_till_orders",
        "sales.till.bronze_till_orders",
        "any_catalog.sales.bronze_till_orders",
        "table:`any`.sales.bronze_till_orders",
        "lake.raw.till_orders",
    ],
)
def test_a_contract_is_found_by_every_name_people_use(name: str) -> None:
    assert Names({ORDERS.key: ORDERS, CLEAN.key: CLEAN}).find(name) == ORDERS.key


@pytest.mark.parametrize("name", ["till_orders", "hr.bronze_till_orders", "any.hr.bronze_till_orders", "", "sales"])
def test_other_names_are_not_guessed(name: str) -> None:
    assert Names({ORDERS.key: ORDERS, CLEAN.key: CLEAN}).find(name) is None


def test_an_entity_means_the_layer_below() -> None:
    gold = contract("gold_sales", place={"layer": "gold"})
    known = Names({each.key: each for each in (ORDERS, CLEAN, gold)})
    assert known.find("orders", near=CLEAN.key) == ORDERS.key
    assert known.find("orders", near=gold.key) == CLEAN.key
    assert known.find("orders") is None


def test_an_entity_means_a_neighbour_before_a_stranger() -> None:
    mine = contract("bronze_a", system="ads", place={"entity": "campaigns", "layer": "bronze"})
    other = contract("bronze_b", system="mail", place={"entity": "campaigns", "layer": "bronze"})
    foreign = contract("bronze_c", domain="hr", system="ads", place={"entity": "campaigns", "layer": "bronze"})
    near = contract("silver_a", system="ads", place={"entity": "campaigns", "layer": "silver"})
    known = Names({each.key: each for each in (mine, other, foreign, near)})
    assert known.find("campaigns", near=near.key) == mine.key


def test_of_several_namesakes_the_one_that_runs_is_meant() -> None:
    old = contract("bronze_a", place={"enabled": False})
    new = contract("bronze_a", domain="hr")
    assert Names({old.key: old, new.key: new}).find("bronze_a") == new.key


def test_dependencies_are_the_union_of_all_that_is_read() -> None:
    reader = contract(
        "gold_x",
        source={"type": "table", "path": "lake.sales.bronze_till_orders"},
        links=[{"name": "l", "table": "lake.sales.silver_till_orders"}, {"name": "f", "path": "data.csv"}],
        upstream=["bronze_till_orders"],
        upstream_contracts=[{"contract": "silver_till_orders"}],
    )
    graph = registry(ORDERS, CLEAN, reader).graph
    assert graph.upstream[reader.key] == (ORDERS.key, CLEAN.key)
    assert graph.downstream[ORDERS.key] == (reader.key,)
    assert {(edge.upstream, edge.via, edge.path) for edge in graph.edges} == {
        (ORDERS.key, "source", ("source", "path")),
        (CLEAN.key, "links", ("links", 0, "table")),
    }


def test_a_table_of_another_schema_is_external_and_one_of_a_known_domain_is_missing() -> None:
    reader = contract(
        "gold_x",
        links=[
            {"name": "a", "table": "lake.hr.people"},
            {"name": "b", "table": "lake.sales.bronze_till_oders"},
            {"name": "c", "table": "flat"},
        ],
    )
    graph = registry(ORDERS, reader).graph
    assert [edge.upstream for edge in graph.external] == [("lake.hr.people",), ("flat",)]
    assert [(each.reference.name, each.suggestion) for each in graph.unresolved if not each.external] == [
        ("lake.sales.bronze_till_oders", "bronze_till_orders")
    ]


def test_a_contract_does_not_wait_for_itself() -> None:
    own = contract("silver_x", source={"type": "table", "path": "lake.sales.silver_x"})
    assert registry(own).graph.edges == ()


def test_namesakes_without_a_domain_keep_their_own_edges() -> None:
    first, second = contract("a", domain=None, system=None), contract("a", domain=None, system=None, upstream=["b"])
    other = contract("b", domain=None, system=None, upstream=["c"])
    third = contract("c", domain=None, system=None)
    keys: dict[Key, Contract] = {("a",): first, ("a", "elsewhere"): second, ("b",): other, ("c",): third}
    graph = build_graph(keys)
    assert graph.upstream[("a",)] == ()
    assert graph.upstream["a", "elsewhere"] == (("b",),)


def test_levels_are_the_order_in_which_contracts_can_run() -> None:
    graph = chain({"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": []})
    assert graph.levels == ((("a",), ("e",)), (("b",), ("c",)), (("d",),))
    assert graph.cycles == ()


def test_every_circle_is_told_once_and_each_waits_for_the_next() -> None:
    graph = chain({"a": ["c"], "b": ["a"], "c": ["b"], "d": ["e"], "e": ["d"], "f": ["a"], "g": []})
    assert [set(circle) for circle in graph.cycles] == [{("a",), ("b",), ("c",)}, {("d",), ("e",)}]
    for circle in graph.cycles:
        for index, node in enumerate(circle):
            assert circle[(index + 1) % len(circle)] in graph.upstream[node]
    assert graph.levels == ((("g",),),)


def test_a_long_chain_is_ordered_quickly() -> None:
    graph = chain({str(i): [str(i - 1)] if i else [] for i in range(4000)})
    started = time.process_time()
    assert len(graph.levels) == 4000
    assert time.process_time() - started < 2
    ring = chain({str(i): [str((i + 1) % 4000)] for i in range(4000)})
    assert len(ring.cycles[0]) == 4000


def test_neighbours_are_taken_up_and_down() -> None:
    graph = chain({"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "x": []})
    assert graph.around([("c",)], up=True) == {("a",), ("b",), ("c",)}
    assert graph.around([("b",)], down=True) == {("b",), ("c",), ("d",)}
    assert graph.around([("b",)]) == {("b",)}


def test_a_part_of_a_mesh_may_wait_for_contracts_of_domains_that_are_not_here() -> None:
    mart = contract(
        "gold_mart",
        links=[{"name": "t", "table": "lake.marketplace.silver_rideflow_trips"}],
        upstream=["silver_rideflow_trips", "silver_rideflow_riders", "silver_till_oders", "silver_till_none", "riders"],
    )
    missing = [each.reference.name for each in registry(ORDERS, CLEAN, mart).graph.unresolved if not each.external]
    assert missing == ["silver_till_oders", "silver_till_none", "riders"]
    alone = contract("gold_mart", upstream=["silver_rideflow_trips"])
    assert [each.external for each in registry(ORDERS, alone).graph.unresolved] == [False]

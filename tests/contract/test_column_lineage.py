"""What each column is made of, told from a contract's steps and SQL; what cannot be told is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.column_lineage import column_lineage, resolved_column_lineage, table_columns
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from tests.contract.conftest import LoadText

SHIPPED = Path(__file__).parents[2]
VALID = sorted(path for path in (Path(__file__).parents[1] / "cases" / "contracts" / "valid").iterdir())
TABLES = {"lake.shop.orders": ["id", "a", "b", "c", "at"], "lake.shop.names": ["k", "v", "w"]}
MADE = ("x", "y", "z")


def contract(*steps: dict[str, Any], fields: Sequence[str] = MADE, **sections: Any) -> Contract:
    return Contract.model_validate(
        {
            "info": {"table_name": "t", "dataset": "t_rows"},
            "source": {"type": "table", "path": "lake.shop.orders"},
            "links": [
                {"name": "n", "table": "lake.shop.names"},
                {"name": "f", "path": "data/f.csv", "type": "csv"},
            ],
            "model": {"fields": [{"name": name, "type": "string"} for name in fields]},
            "schema_policy": {"unknown_fields": "drop"},
            "transformations": list(steps),
            **sections,
        }
    )


def declared(reference: str) -> Sequence[str]:
    return TABLES.get(reference, ())


def told(made: Contract, columns_of: Callable[[str], Sequence[str]] | None = declared) -> dict[str, str]:
    """`{"x": "a n.v"}`: columns of the source by their name, others behind the last word of their reference."""
    short = {"lake.shop.orders": "", "lake.shop.names": "n.", "f": "f."}
    return {
        name: " ".join(sorted(f"{short[each.reference]}{each.column}" for each in sources))
        for name, sources in column_lineage(made, columns_of).items()
    }


STEPS: dict[str, tuple[list[dict[str, Any]], dict[str, str]]] = {
    "rename": ([{"rename": {"from": "a", "to": "x"}}], {"x": "a"}),
    "names that are swapped": (
        [{"rename": {"mappings": {"a": "b", "b": "a"}}}, {"rename": {"mappings": {"a": "x", "b": "y"}}}],
        {"x": "b", "y": "a"},
    ),
    "a rename over another column": (
        [{"rename": {"from": "a", "to": "b"}}, {"derive": {"field": "x", "sql": "b"}}],
        {"x": "a"},
    ),
    "a renamed column is gone": ([{"rename": {"from": "a", "to": "q"}}, {"derive": {"field": "x", "sql": "a"}}], {}),
    "select": (
        [{"select": ["a"]}, {"derive": {"field": "x", "sql": "a"}}, {"derive": {"field": "y", "sql": "b"}}],
        {"x": "a"},
    ),
    "drop": (
        [{"drop": ["a"]}, {"derive": {"field": "x", "sql": "a"}}, {"derive": {"field": "y", "sql": "b"}}],
        {"y": "b"},
    ),
    "what rewrites in place": (
        [
            {"cast": {"columns": {"a": "int"}}},
            {"trim": ["a"]},
            {"lower": ["a"]},
            {"upper": ["a"]},
            {"derive": {"field": "x", "sql": "a"}},
        ],
        {"x": "a"},
    ),
    "coalesce": ([{"coalesce": {"field": "x", "sources": ["a", "b"], "default": 0}}], {"x": "a b"}),
    "coalesce to an output": ([{"coalesce": {"field": "a", "output": "x"}}], {"x": "a"}),
    "split and explode": ([{"split": {"field": "a", "output": "y"}}, {"explode": {"field": "y", "output": "x"}}], {"x": "a", "y": "a"}),
    "map_values": ([{"map_values": {"field": "a", "mapping": {"1": "one"}, "output": "x"}}], {"x": "a"}),
    "derive": ([{"derive": {"field": "x", "sql": "UPPER(a) || b || 'a'"}}], {"x": "a b"}),
    "derive from a part of a column": ([{"derive": {"field": "x", "sql": "a.city"}}], {"x": "a"}),
    "derive from nothing": ([{"derive": {"field": "x", "sql": "current_date()"}}], {}),
    "derive with a query": ([{"derive": {"field": "x", "sql": "a + (SELECT MAX(v) FROM n)"}}], {"x": "a n.v"}),
    "derive with a lambda": ([{"derive": {"field": "x", "sql": "transform(a, e -> e + b)"}}], {"x": "a b"}),
    "derive in steps": (
        [{"derive": {"field": "y", "sql": "a + b"}}, {"derive": {"field": "x", "sql": "y * c"}}],
        {"y": "a b", "x": "a b c"},
    ),
    "derive over itself": ([{"derive": {"field": "a", "sql": "a + b"}}, {"derive": {"field": "x", "sql": "a"}}], {"x": "a b"}),
    "lookup": ([{"lookup": {"field": "x", "reference": "n", "on": "a", "key": "k", "value": "v"}}], {"x": "n.v"}),
    "lookup in a file": ([{"lookup": {"field": "x", "reference": "f", "on": "a", "key": "k", "value": "v"}}], {"x": "f.v"}),
    "join": ([{"join": {"reference": "n", "on": "a", "key": "k", "fields": ["v", "w"], "prefix": "n_"}}, {"rename": {"mappings": {"n_v": "x", "n_w": "y"}}, "phase": "post"}], {"x": "n.v", "y": "n.w"}),
    "a full join fills the key": (
        [
            {"join": {"reference": "n", "on": "a", "key": "k", "fields": ["v"], "type": "full"}},
            {"derive": {"field": "x", "sql": "a"}},
        ],
        {"x": "a n.k"},
    ),
    "rollup": (
        [
            {"derive": {"field": "x", "sql": "a"}},
            {"rollup": {"group_by": ["x"], "aggregations": {"y": "SUM(b) / COUNT(DISTINCT c)", "z": "COUNT(*)"}}},
        ],
        {"x": "a", "y": "b c"},
    ),
    "rollup with keys": (
        [{"rollup": {"group_by": ["a"], "keys": ["id", "b"], "rollup_keys_column": "x", "rollup_keys_count_column": "y"}}],
        {"x": "b id", "y": "b id"},
    ),
    "rollup with an expression for its keys": (
        [{"rollup": {"group_by": ["a"], "key_expr": "CONCAT(id, c)", "rollup_keys_column": "x"}}],
        {"x": "c id"},
    ),
    "rollup of runs": (
        [{"rollup": {"group_by": ["a"], "upstream_run_id_column": "c", "upstream_run_ids_column": "x"}}],
        {"x": "c"},
    ),
    "pivot": (
        [
            {"pivot": {"id_vars": ["a"], "pivot_col": "b", "value_cols": ["c", "id"], "values": ["u", True]}},
            {"rename": {"mappings": {"c_u": "x", "id_true": "y", "c_v": "z"}}, "phase": "post"},
        ],
        {"x": "c", "y": "id"},
    ),
    "pivot with names of its own": (
        [{"pivot": {"pivot_col": "b", "value_col": "c", "values": ["u"], "value_aliases": {"u": "x"}, "name_template": "{pivot_alias}"}}],
        {"x": "c"},
    ),
    "unpivot": (
        [{"unpivot": {"id_vars": ["id"], "value_vars": ["a", "b"], "key_field": "y", "value_field": "x"}}],
        {"x": "a b"},
    ),
    "bucket": ([{"bucket": {"field": "x", "source": "a", "bins": [{"label": "low", "lt": 1}]}}], {"x": "a"}),
    "json_extract": ([{"json_extract": {"field": "x", "source": "a", "path": "$.b"}}], {"x": "a"}),
    "date_diff": ([{"date_diff": {"field": "x", "from_col": "a", "to_col": "at"}}], {"x": "a at"}),
    "date_range_explode": ([{"date_range_explode": {"output": "x", "start_col": "a", "end_col": "b"}}], {"x": "a b"}),
    "what chooses rows": (
        [
            {"filter": "b > 0"},
            {"deduplicate": {"on": ["id"], "sort_by": ["at"]}},
            {"deduplicate_by_latest": {"key_columns": ["id"], "timestamp_column": "at"}},
            {"derive": {"field": "x", "sql": "a"}},
        ],
        {"x": "a"},
    ),
    "pre steps run first, wherever they stand": (
        [{"derive": {"field": "x", "sql": "q"}}, {"rename": {"from": "a", "to": "q"}}],
        {"x": "a"},
    ),
    "names without their case": ([{"derive": {"field": "X", "sql": "A + Id"}}], {"x": "a id"}),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_step_passes_origins_on(name: str) -> None:
    steps, expected = STEPS[name]
    assert told(contract(*steps)) == expected


def test_columns_pass_through_by_their_name() -> None:
    assert told(contract(fields=("id", "a", "nope"))) == {"id": "id", "a": "a"}


def test_of_a_table_nobody_describes_every_declared_column_is_taken() -> None:
    assert told(contract(fields=("id", "nope")), None) == {"id": "id", "nope": "nope"}


@pytest.mark.parametrize("name", ["source", "t_rows", "t", "{dataset}"])
def test_sql_reads_the_rows_by_each_of_their_names(name: str) -> None:
    assert told(contract({"sql": f"SELECT a AS x, b || c AS y FROM {name}"})) == {"x": "a", "y": "b c"}


def test_a_query_sees_what_the_step_before_it_made() -> None:
    steps = [{"derive": {"field": "m", "sql": "a + b"}}, {"sql": "SELECT m AS x FROM source"}]
    assert told(contract(*steps)) == {"x": "a b"}


def test_a_query_that_does_not_parse_says_nothing() -> None:
    assert told(contract({"sql": "SELECT a AS x FROM"}), None) == {}


@pytest.mark.parametrize("depth", [10, 3_000])
def test_a_query_nested_too_deeply_says_nothing_wrong(depth: int) -> None:
    text = "SELECT a AS x FROM source"
    for _ in range(depth):
        text = f"SELECT x FROM ({text})"
    steps = [{"sql": text}, {"derive": {"field": "x", "sql": f"({text})"}}, {"sql": f"b AS q, ({text}) AS x"}]
    assert [told(contract(step)) for step in steps] == [{"x": "a"} if depth == 10 else {}] * 3


def test_a_select_list_adds_columns_and_keeps_the_others() -> None:
    made = contract({"sql": "LOWER(a) AS a, b + c AS x, (SELECT MAX(v) FROM n) AS y"}, fields=("id", "a", "x", "y"))
    assert told(made) == {"id": "id", "a": "a", "x": "b c", "y": "n.v"}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ({"columns": ["k", "v"]}, {"x": "n.v"}),
        ({"columns": ["k"]}, {}),
        ({"filter": "w > 0"}, {"x": "n.v", "y": "n.w"}),
        ({"query": "SELECT k, w AS v, v || w AS w FROM {link}"}, {"x": "n.w", "y": "n.v n.w"}),
        ({"query": "SELECT k, w AS v FROM {link}", "columns": ["k", "v"]}, {"x": "n.w"}),
    ],
)
def test_a_link_has_the_columns_it_leaves(link: dict[str, Any], expected: Mapping[str, str]) -> None:
    made = contract(
        {"sql": "SELECT n.v AS x, n.w AS y FROM source JOIN n ON TRUE"},
        links=[{"name": "n", "table": "lake.shop.names", **link}],
    )
    assert told(made) == expected


def test_what_the_engine_writes_is_not_made_of_columns() -> None:
    made = contract(
        fields=("id", "sk", "valid_from", "_lakelogic_run_id"),
        lineage={"enabled": True},
        primary_key=["id"],
        materialization={
            "strategy": "scd2",
            "scd2": {"surrogate_key": "sk", "effective_from_field": "valid_from"},
        },
    )
    assert told(made, None) == {"id": "id"}


def test_a_stamp_of_upstream_is_told_under_the_name_it_is_kept_by() -> None:
    lineage = {"enabled": True, "preserve_upstream": ["_lakelogic_run_id"]}
    made = contract(fields=("id", "_upstream_lakelogic_run_id"), lineage=lineage)
    assert told(made, None) == {"id": "id", "_upstream_lakelogic_run_id": "_lakelogic_run_id"}


def test_generated_columns_do_not_come_from_the_source() -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "a", "type": "string", "generated": True}]
    assert told(contract(model={"fields": fields})) == {"id": "id"}


def test_columns_that_are_kept_undeclared_are_told_as_well() -> None:
    made = contract({"rename": {"from": "a", "to": "q"}}, fields=("id",), schema_policy={"unknown_fields": "allow"})
    assert told(made) == {"id": "id", "q": "a", "b": "b", "c": "c", "at": "at"}


def test_extracted_columns_are_made_of_the_text() -> None:
    extraction = {"provider": "regex", "text_column": "a", "context_columns": ["b"], "patterns": {"x": "(\\d+)"}}
    assert told(contract(extraction=extraction)) == {"x": "a b"}


def test_code_of_its_own_may_make_anything() -> None:
    logic = {"type": "python", "path": "logic.py"}
    assert told(contract({"derive": {"field": "x", "sql": "a"}}, external_logic=logic)) == {}


def test_files_are_told_by_their_path() -> None:
    made = contract(fields=("id",), source={"type": "landing", "path": "data/in", "format": "csv"})
    assert [(each.reference, each.column) for each in column_lineage(made)["id"]] == [("data/in", "id")]


@pytest.mark.parametrize(
    "source",
    [None, {"type": "database", "query": "SELECT 1"}, {"type": "landing", "path": "in", "flatten_nested": True}],
)
def test_a_source_whose_columns_cannot_be_told_says_nothing(source: dict[str, Any] | None) -> None:
    assert told(contract(fields=("id",), source=source), None) == {}


SHOP = {
    "contracts/shop/_domain.yaml": "domain: shop\nlineage: {enabled: true}\n",
    "contracts/shop/crm/_system.yaml": "system: crm\ncontracts:\n"
    "  - {path: bronze_a.yaml, layer: bronze}\n  - {path: silver_b.yaml, layer: silver}\n",
    "contracts/shop/crm/bronze_a.yaml": "version: 1.0.0\nmodel: {fields: [{name: Id, type: long}, {name: raw, type: string}]}\n"
    "source: {type: landing, path: in, format: csv}\n",
    "contracts/shop/crm/silver_b.yaml": "version: 1.0.0\n"
    "source: {type: table, path: '{domain_catalog}.bronze_a'}\n"
    "links: [{name: rates, table: lake.elsewhere.rates}]\n"
    "transformations:\n"
    "  - derive: {field: clean, sql: TRIM(raw)}\n"
    "  - lookup: {field: rate, reference: rates, on: raw, key: code, value: rate}\n"
    "  - derive: {field: seen_at, sql: _lakelogic_processed_at}\n"
    "model: {fields: [{name: id, type: long}, {name: clean, type: string}, {name: rate, type: double},"
    " {name: nope, type: string}, {name: seen_at, type: timestamp}]}\n",
}  # fmt: skip


@pytest.fixture
def shop(load_tree: LoadText) -> Registry:
    registry = load_tree(SHOP)
    assert registry.errors == ()
    return registry


def test_references_become_the_keys_of_contracts(shop: Registry) -> None:
    found = resolved_column_lineage(shop.find("silver_b"), shop)
    bronze = ("shop", "bronze_a")
    assert found == {
        "id": ((bronze, "Id"),),
        "clean": ((bronze, "raw"),),
        "raw": ((bronze, "raw"),),
        "rate": ((("lake.elsewhere.rates",), "rate"),),
        "seen_at": ((bronze, "_lakelogic_processed_at"),),
    }


def test_files_are_no_contract(shop: Registry) -> None:
    assert resolved_column_lineage(shop.find("bronze_a"), shop) == {}


def test_a_table_has_what_its_contract_declares_and_what_the_engine_adds(shop: Registry) -> None:
    columns = table_columns(shop.find("bronze_a"))
    assert columns[:2] == ("Id", "raw")
    assert "_lakelogic_run_id" in columns
    assert table_columns(Contract()) == ()


@pytest.fixture(scope="module")
def shipped() -> Registry:
    return load_project(Project(SHIPPED), {})


def test_the_shipped_fact_is_followed_to_the_receipt(shipped: Registry) -> None:
    found = resolved_column_lineage(shipped.find("gold_fact_sales"), shipped)
    orders, customers = ("retail", "silver_pos_orders"), ("retail", "gold_dim_customers")
    assert found["sale_date"] == ((orders, "business_date"),)
    assert found["customer_segment"] == ((customers, "segment"),)
    assert found["category"] == ((("retail", "gold_dim_products"), "category"),)
    assert found["_lakelogic_rollup_keys"] == ((orders, "line_no"), (orders, "order_id"))
    assert found["_upstream_lakelogic_run_ids"] == ((orders, "_lakelogic_run_id"),)


def test_shipped_contracts_only_name_columns_that_are_there_and_upstreams_they_wait_for(shipped: Registry) -> None:
    told_of = 0
    for key, each in shipped.contracts.items():
        for name, sources in resolved_column_lineage(each, shipped).items():
            assert name in table_columns(each)
            for upstream, column in sources:
                assert upstream in shipped.graph.upstream[key]
                assert column in table_columns(shipped.contracts[upstream])
                told_of += 1
    assert told_of > 80


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.name)
def test_every_contract_can_be_asked(case: Path) -> None:
    registry = load_project(Project(case), {})
    for each in registry:
        found = resolved_column_lineage(each, registry)
        assert all(sources for sources in found.values())
        assert each.model.by_name.keys() >= found.keys() or each.policy.unknown_fields == "allow"


def test_it_is_quick_enough_for_every_load_of_a_location(shipped: Registry) -> None:
    for each in shipped:
        resolved_column_lineage(each, shipped)
    start = process_time()
    for each in shipped:
        resolved_column_lineage(each, shipped)
    assert (process_time() - start) / len(shipped) < 0.02

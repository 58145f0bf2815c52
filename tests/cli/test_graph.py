from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]


TEXT = """\
bronze
  retail/bronze_crm_customers
  retail/bronze_erp_products
  retail/bronze_pos_orders
silver
  retail/silver_crm_customers  <- bronze_crm_customers
  retail/silver_erp_products   <- bronze_erp_products
  retail/silver_pos_orders     <- bronze_pos_orders
gold
  retail/gold_dim_customers    <- silver_crm_customers
  retail/gold_dim_products     <- silver_erp_products
  retail/gold_fact_sales       <- gold_dim_customers, gold_dim_products, silver_pos_orders
9 contracts, 8 edges, 4 levels
"""


@pytest.fixture(autouse=True)
def in_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_every_contract_has_a_line_with_what_it_waits_for(call: Call) -> None:
    said = call("graph", "+gold_fact_sales")
    assert (said.code, said.out) == (0, TEXT)


def test_everything_is_drawn_when_nothing_is_selected(call: Call) -> None:
    assert call("graph").lines[-1].startswith("19 contracts, ")


def test_a_contract_that_is_not_run_says_so(call: Call) -> None:
    assert "  insurance/bronze_policy_admin_agents (not run)" in call("graph").lines


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gold_fact_sales"], ["gold_fact_sales"]),
        (["*_products"], ["bronze_erp_products", "silver_erp_products", "gold_dim_products"]),
        (["system:erp"], ["bronze_erp_products", "silver_erp_products"]),
        (["silver_erp_products+"], ["silver_erp_products", "gold_dim_products", "gold_fact_sales"]),
        (["domain:retail", "--layer", "silver"], ["silver_crm_customers", "silver_erp_products", "silver_pos_orders"]),
    ],
)
def test_contracts_can_be_selected(call: Call, words: list[str], expected: list[str]) -> None:
    found = json.loads(call("graph", *words, "--format", "json").out)
    assert [node["table"] for node in found["contracts"]] == expected


def test_json_has_files_levels_and_edges(call: Call) -> None:
    found = json.loads(call("graph", "silver_erp_products+", "--json").out)
    assert found["contracts"][0] == {
        "key": "retail/silver_erp_products",
        "table": "silver_erp_products",
        "domain": "retail",
        "layer": "silver",
        "enabled": True,
        "level": 1,
        "file": "contracts/retail/erp/silver_erp_products.yaml",
    }
    assert found["edges"][-1] == {
        "upstream": "retail/silver_erp_products",
        "downstream": "retail/gold_dim_products",
        "via": "source",
        "external": False,
    }


def test_mermaid_groups_by_layer(call: Call) -> None:
    said = call("graph", "silver_erp_products", "gold_dim_products", "--format", "mermaid")
    assert said.out == (
        "flowchart LR\n"
        "  subgraph n_silver[silver]\n"
        "    n_retail_silver_erp_products[silver_erp_products]\n"
        "  end\n"
        "  subgraph n_gold[gold]\n"
        "    n_retail_gold_dim_products[gold_dim_products]\n"
        "  end\n"
        "  n_retail_silver_erp_products --> n_retail_gold_dim_products\n"
    )


def test_graphviz_gets_clusters(call: Call) -> None:
    said = call("graph", "silver_erp_products", "gold_dim_products", "--format", "dot")
    assert '  subgraph "cluster_silver" {' in said.lines
    assert '  "retail/silver_erp_products" -> "retail/gold_dim_products";' in said.lines
    assert said.lines[-1] == "}"


def test_a_table_from_elsewhere_is_drawn_beside_the_contracts(shop: Path, orders: Path, call: Call) -> None:
    orders.write_text(orders.read_text() + "source: {type: table, path: 'table:other.sales.orders'}\n")
    assert "  silver_orders  <- (other.sales.orders)" in call("graph", "--project", shop).lines
    assert (
        "  n_other_sales_orders([other.sales.orders])" in call("graph", "--project", shop, "--format", "mermaid").lines
    )


@pytest.mark.usefixtures("broken")
def test_a_project_with_errors_is_drawn_and_ends_with_1(shop: Path, call: Call) -> None:
    said = call("graph", "--project", shop)
    assert said.code == 1
    assert said.err == "2 errors; see `lakelogic validate`.\n"


def test_a_selection_of_nothing_is_said(call: Call) -> None:
    assert call("graph", "gold_fact_sails").err == (
        "error: There is no contract called 'gold_fact_sails'. Did you mean gold_fact_sales?\n"
    )
    assert call("graph", "--layer", "platin").err == "error: No contract is in layer platin.\n"

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakelogic_assets.cli.yaml_lines import yaml_lines
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.reading import read_text
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def in_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_inherited_values_name_the_line_they_came_from(call: Call) -> None:
    lines = call("show", "silver_crm_customers").lines
    inherited = {line.split("#")[0].strip(): line.split("# ")[1] for line in lines if "  # " in line}
    assert inherited["capture_domain: false"].startswith("contracts/retail/_domain.yaml:")
    assert inherited["run_log_backend: spark"].startswith("contracts/retail/crm/_system.yaml:")
    assert inherited["tier: standard"].startswith("contracts/policy_packs/baseline_silver.yaml:")
    file, _, line = inherited["capture_domain: false"].partition(":")
    assert (ROOT / file).read_text().splitlines()[int(line) - 1].strip() == "capture_domain: false"


def test_what_the_contract_says_itself_has_no_note(call: Call) -> None:
    assert "  title: Customers, cleaned" in call("show", "silver_crm_customers").lines


def test_rules_that_follow_from_fields_are_listed_with_phase_and_severity(call: Call) -> None:
    lines = [re.sub(r" +", " ", line) for line in call("show", "silver_pos_orders").lines]
    assert "# rule on phase severity test" in lines
    assert "# line_no_required row pre error line_no is not null" in lines
    assert "# net_not_above_gross row post error net_amount <= gross_amount" in lines
    assert "# quantity_range row pre error quantity is between 1 and 999" in lines
    assert "# order_id_line_no_unique dataset post error order_id, line_no is unique" in lines


def test_every_contract_of_the_example_reads_back_as_what_it_is(call: Call) -> None:
    registry = load_project(Project(ROOT))
    for key, contract in registry.contracts.items():
        shown = read_text(call("show", "/".join(key)).out).data
        assert shown == registry.merged[contract.key].data


def test_json_has_the_contract_the_origins_and_the_rules(call: Call) -> None:
    found = json.loads(call("show", "gold_fact_sales", "--json").out)
    assert found["key"] == "retail/gold_fact_sales"
    assert found["file"] == "contracts/retail/warehouse/gold_fact_sales.yaml"
    assert found["contract"]["info"]["title"] == "Sales by day"
    assert found["inherited"]["materialization.format"].startswith("contracts/retail/_domain.yaml:")
    assert re.fullmatch(r"[0-9a-f]{64}", found["fingerprint"])
    assert {"name", "kind", "phase", "severity", "category", "test", "place"} == set(found["rules"][0])


def test_a_contract_is_found_by_its_file(call: Call) -> None:
    assert "/silver_crm_customers," in call("show", "contracts/retail/crm/silver_crm_customers.yaml").lines[0]


def test_a_file_outside_of_the_project_can_be_shown(call: Call, orders: Path) -> None:
    said = call("show", orders, "--project", ROOT)
    assert said.code == 0
    assert "info: {title: Orders, table_name: silver_orders, target_layer: silver}" in said.lines


@pytest.mark.usefixtures("broken")
def test_a_broken_contract_is_explained(call: Call, shop: Path) -> None:
    said = call("show", "silver_orders", "--project", shop)
    assert said.code == 1
    assert "error LL101" in said.out
    found = json.loads(call("show", "silver_orders", "--project", shop, "--json").out)
    assert [problem["code"] for problem in found["problems"]] == ["LL106", "LL101"]


def test_a_name_nobody_has_is_answered_with_the_nearest(call: Call) -> None:
    assert call("show", "gold_fact_sale").err == (
        "error: There is no contract called 'gold_fact_sale'. Did you mean gold_fact_sales?\n"
    )


def test_secrets_are_shown_as_they_are_written(
    call: Call, shop: Path, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cr3t")
    monkeypatch.setenv("SHOP_FOLDER", "orders")
    source = "source: {type: dlt, path: '${SHOP_FOLDER}', dlt: {source: shop, credentials: {api_key: '${SHOP_KEY}'}}}\n"
    orders.write_text(orders.read_text() + source)
    said = call("show", "silver_orders", "--project", shop)
    assert "credentials: {api_key: '${SHOP_KEY}'}" in said.out
    assert "path: orders" in said.out
    assert "s3cr3t" not in said.out


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_- :#{}", min_size=1), inner, max_size=4),
    max_leaves=12,
)
TEXTS = st.text("ab \n:#'\"-|>{}%\t", max_size=20)


@given(st.dictionaries(st.sampled_from(["a", "on", "12:30", "010", "x y"]), VALUES | TEXTS, min_size=1, max_size=4))
def test_whatever_a_contract_holds_reads_back(data: dict[str, object]) -> None:
    text = "".join(f"{line.text}\n" for line in yaml_lines(data, {}))
    assert read_text(text).data == data

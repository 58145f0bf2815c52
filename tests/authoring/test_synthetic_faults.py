"""Broken rows: each in one way, each noticed by somebody."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakelogic_assets.authoring.landing import make_landing_data
from lakelogic_assets.authoring.landing_report import LandedFile, LandingReport
from lakelogic_assets.authoring.synthetic.faults import plan_breaker
from lakelogic_assets.authoring.synthetic.feeds import plan_feeds
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.project import Project, shipped_example
from tests.spark.mesh_files import write_mesh

DAYS = [date(2026, 2, 1) + timedelta(days=day) for day in range(14)]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_project(Project(shipped_example()), {})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> LandingReport:
    lake = tmp_path_factory.mktemp("lake")
    project = Project(shipped_example(), values={"storage_root": str(lake)})
    return make_landing_data(load_project(project, {}), project, storage_root=lake, days=DAYS, rows=100, invalid=0.05)


def faults_of(registry: Registry, table: str, *, typed: bool = False) -> set[str]:
    contract = registry.find(table)
    feed = plan_feeds(registry, [contract])[contract.key]
    return {str(fault) for fault in plan_breaker(registry, feed, typed=typed).faults}


def rows_of(file: LandedFile) -> list[dict[str, Any]]:
    text = file.path.read_text()
    if file.path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()]


def parses(parse: Callable[[str], object], value: object) -> bool:
    try:
        parse(str(value))
    except ValueError:
        return False
    return True


def is_good_order(row: dict[str, Any]) -> bool:
    return (
        bool(row["order_id"] and row["product_id"])
        and all(parses(float, row[name]) for name in ("line_no", "quantity", "unit_price", "discount_pct"))
        and 1 <= float(row["quantity"]) <= 999
        and float(row["unit_price"]) >= 0
        and 0 <= float(row["discount_pct"]) <= 100
        and row["store_id"] in ("S001", "S002", "S003", "S004")
        and parses(datetime.fromisoformat, row["order_ts"])
        and parses(date.fromisoformat, row["business_date"])
        and row["order_ts"][:10] >= row["business_date"]
    )


def is_good_customer(row: dict[str, Any]) -> bool:
    return (
        re.fullmatch(r"C\d{6}", row["cust_id"]) is not None
        and re.search(r"^[^@ ]+@[^@ ]+[.][a-z]+$", row["email"]) is not None
        and row["segment"] in ("consumer", "business", "vip")
        and row["country"] in ("DE", "AT", "CH", "NL", "FR")
        and parses(date.fromisoformat, row["signup_date"])
        and parses(datetime.fromisoformat, row["updated_at"])
        and row["updated_at"] > "2000"
        and "2006" < row["signup_date"] <= row["updated_at"][:10]
    )


@pytest.mark.parametrize(
    ("table", "is_good"), [("bronze_pos_orders", is_good_order), ("bronze_crm_customers", is_good_customer)]
)
def test_as_many_rows_are_broken_as_the_report_says(
    report: LandingReport, table: str, is_good: Callable[[dict[str, Any]], bool]
) -> None:
    for file in report.of(table):
        rows = rows_of(file)
        copies = sum(count - 1 for count in Counter(json.dumps(row) for row in rows).values())
        assert sum(not is_good(row) for row in rows) + copies == file.broken == 5
        assert copies == file.faults.get("duplicate row", 0)


def test_broken_rows_pass_the_filters_on_their_way_to_the_rules(report: LandingReport) -> None:
    broken = [row for file in report.of("bronze_pos_orders") for row in rows_of(file) if not is_good_order(row)]
    assert len(broken) > 50
    assert {row["till_mode"] for row in broken} == {"live"}
    assert {row["status"] for row in broken} == {"paid"}


def test_a_broken_row_is_about_something_that_no_other_row_is_about(report: LandingReport) -> None:
    rows = [row for file in report.of("bronze_crm_customers") for row in rows_of(file)]
    broken = [row["email"] for row in rows if not is_good_customer(row) and "@" in row["email"]]
    assert all(Counter(row["email"] for row in rows)[email] == 1 for email in broken)


def test_over_the_days_every_fault_has_its_turn(report: LandingReport, registry: Registry) -> None:
    for table in ("bronze_crm_customers", "bronze_pos_orders", "bronze_policy_admin_policies"):
        seen = {fault for file in report.of(table) for fault in file.faults}
        assert seen == faults_of(registry, table)


def test_faults_come_from_the_rules_of_the_tables_downstream(registry: Registry) -> None:
    assert faults_of(registry, "bronze_crm_customers") == {
        "cust_id: missing (silver_crm_customers: customer_id_required)",
        "cust_id: malformed (silver_crm_customers: customer_id_regex_match)",
        "cust_id: too long (silver_crm_customers: customer_id_max_length)",
        "email: malformed (silver_crm_customers: email_regex_match)",
        "country: missing (silver_crm_customers: country_required)",
        "country: unknown value (silver_crm_customers: country_accepted_values)",
        "segment: unknown value (silver_crm_customers: segment_accepted_values)",
        "signup_date: unparsable (silver_crm_customers: Type Mismatch)",
        "updated_at: out of range (silver_crm_customers: updated_at_plausible)",
        "email: missing (silver_crm_customers: email_not_null)",
        "signup_date: out of range (silver_crm_customers: signup_date_lifecycle_window)",
        "signup_date: out of range (silver_crm_customers: signup_not_after_change)",
        "updated_at: missing (silver_crm_customers: updated_at_required)",
        "duplicate row",
    }


def test_a_copy_is_made_only_where_it_does_not_stop_the_whole_table(tmp_path: Path) -> None:
    text = """
version: 1.0.0
info: {title: Things, table_name: silver_things}
model: {fields: [{name: thing_id, type: string, required: true}]}
source: {type: landing, path: lake/things, format: csv}
quality: {dataset_rules: [{unique: thing_id}]}
"""
    (tmp_path / "silver_things.yaml").write_text(text)
    registry = load_project(Project(tmp_path), {})
    assert not {fault for fault in faults_of(registry, "silver_things") if fault.startswith("duplicate")}
    (feed,) = plan_feeds(registry, list(registry)).values()
    (why,) = plan_breaker(registry, feed, typed=False).unbroken.values()
    assert why == "two rows of one key would keep the whole table from being published"

    reported = text.replace("quality: {", "quality: {fail_pipeline_on_dataset_error: false, ")
    (tmp_path / "silver_things.yaml").write_text(reported)
    registry = load_project(Project(tmp_path), {})
    assert "duplicate row (silver_things: thing_id_unique)" in faults_of(registry, "silver_things")


def test_a_warning_is_broken_with_what_no_error_objects_to(tmp_path: Path) -> None:
    (tmp_path / "silver_things.yaml").write_text("""
version: 1.0.0
info: {title: Things, table_name: silver_things}
model: {fields: [{name: thing_id, type: string, required: true}, {name: size, type: int}, {name: made, type: date}]}
source: {type: landing, path: lake/things, format: csv}
quality:
  row_rules:
    - {name: small, sql: size <= 10, severity: warning}
    - {name: not_huge, sql: size < 30}
    - {name: there, sql: thing_id IS NOT NULL, severity: info}
    - {name: new, sql: year(made) > 2019, severity: info}
""")
    registry = load_project(Project(tmp_path), {})
    (feed,) = plan_feeds(registry, list(registry)).values()
    breaker = plan_breaker(registry, feed, typed=False)
    changes = {name: fault.changes[0].values for fault in breaker.faults for name in fault.noticed_by}
    assert [int(value) for value in changes["silver_things: small"]] == [11]
    assert changes["silver_things: new"] == ("2019-12-31", "2019-11-22")
    assert breaker.unbroken == {"silver_things: there": "an error would hold such rows back"}


def test_a_contract_that_reads_files_itself_is_its_own_judge(registry: Registry) -> None:
    faults = faults_of(registry, "silver_reference_policyholders")
    assert "national_id: malformed (silver_reference_policyholders: national_id_regex_match)" in faults
    assert "risk_class: missing (silver_reference_policyholders: risk_class_not_null)" in faults


def test_a_missing_value_that_a_step_fills_is_no_fault(registry: Registry) -> None:
    assert not {fault for fault in faults_of(registry, "bronze_pos_orders") if fault.startswith("customer_id")}


def test_columns_that_steer_loading_are_never_broken(registry: Registry) -> None:
    orders = {fault.split(":")[0] for fault in faults_of(registry, "bronze_pos_orders")}
    claims = {fault.split(":")[0] for fault in faults_of(registry, "bronze_claims_system_claims")}
    assert not orders & {"delivered_on", "till_mode", "status"}
    assert not claims & {"changed_at", "delivered_on"}


def test_sql_is_broken_where_it_can_be_understood(registry: Registry) -> None:
    faults = faults_of(registry, "bronze_erp_products", typed=True)
    assert "product_name: unknown value (silver_erp_products: product_name_is_real)" in faults


def test_typed_files_hold_no_text_for_a_number(registry: Registry) -> None:
    assert not {fault for fault in faults_of(registry, "bronze_erp_products", typed=True) if "unparsable" in fault}


def test_without_anybody_downstream_faults_are_of_the_general_kind(tmp_path: Path) -> None:
    (tmp_path / "bronze_things.yaml").write_text("""
version: 1.0.0
info: {title: Things, table_name: bronze_things}
model:
  fields:
    - {name: thing_id, type: string}
    - {name: weight, type: int, min: 5, max: 9}
    - {name: colour, type: string, accepted_values: [red, blue]}
source: {type: landing, path: lake/things, format: csv}
server: {mode: ingest, cast_to_string: true}
""")
    registry = load_project(Project(tmp_path), {})
    assert faults_of(registry, "bronze_things") == {
        "thing_id: missing", "weight: out of range", "weight: unparsable", "colour: unknown value", "duplicate row",
    }  # fmt: skip


def test_a_copy_breaks_no_rule_about_rows_that_a_program_makes(tmp_path: Path) -> None:
    mesh = load_project(Project(write_mesh(tmp_path), "local_spark"), {})
    assert not any("date_key_unique" in fault for fault in faults_of(mesh, "gold_calendar_dim_date"))


def test_text_where_a_flag_belongs_is_a_type_mismatch(tmp_path: Path) -> None:
    (tmp_path / "silver_things.yaml").write_text("""
version: 1.0.0
info: {title: Things, table_name: silver_things}
model: {fields: [{name: thing_id, type: string}, {name: is_sold, type: boolean}]}
source: {type: landing, path: lake/things, format: csv}
""")
    registry = load_project(Project(tmp_path), {})
    assert "is_sold: unparsable (silver_things: Type Mismatch)" in faults_of(registry, "silver_things")

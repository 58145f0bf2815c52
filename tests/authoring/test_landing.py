"""Landing data of the shipped example."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from lakelogic_assets.authoring.landing import LandingPlan, Request, make_landing_data
from lakelogic_assets.authoring.landing_report import LandingReport
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.project import Project, shipped_example

DAYS = [date(2026, 2, day) for day in (2, 3, 4)]
Rows = list[dict[str, Any]]


def landed(lake: Path, **options: Any) -> LandingReport:
    project = Project(shipped_example(), values={"storage_root": str(lake)})
    registry = load_project(project, {})
    return make_landing_data(registry, project, storage_root=lake, **{"days": DAYS, **options})


def planned(lake: Path) -> str:
    """A digest of the SQL that makes all rows of the example."""
    project = Project(shipped_example(), values={"storage_root": str(lake)})
    plan = LandingPlan(load_project(project, {}), project, lake, Request(DAYS))
    return sha256("\n".join(plan.explained()).encode()).hexdigest()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def report(lake: Path) -> LandingReport:
    return landed(lake)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> LandingReport:
    return landed(tmp_path_factory.mktemp("sound"), invalid=0.0)


def rows_of(path: Path) -> Rows:
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    text = path.read_text()
    if path.suffix == ".csv":
        delimiter = ";" if text.startswith("policy_no;") else ","
        return list(csv.DictReader(text.splitlines(), delimiter=delimiter))
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def by_day(report: LandingReport, table: str) -> dict[date, Rows]:
    return {file.day: rows_of(file.path) for file in report.of(table)}


def all_rows(report: LandingReport, table: str) -> Rows:
    return [row for rows in by_day(report, table).values() for row in rows]


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "_lakelogic" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_the_same_seed_gives_the_same_bytes(report: LandingReport, lake: Path, tmp_path: Path) -> None:
    landed(tmp_path)
    assert report.written == len(report.files)
    assert content(tmp_path) == content(lake)


def test_another_process_plans_the_same_rows(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "import test_landing; print(test_landing.planned(Path(sys.argv[2])))\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)]
    said = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        for seed in ("7", "8")
    ]
    assert said[0].stdout == said[1].stdout == f"{planned(tmp_path)}\n"


def test_another_seed_gives_other_rows(report: LandingReport, lake: Path, tmp_path: Path) -> None:
    landed(tmp_path, seed=43)
    ours, others = content(lake), content(tmp_path)
    assert report.files
    assert ours.keys() == others.keys()
    assert all(ours[name] != others[name] for name in ours)


def test_a_day_is_the_same_whichever_days_are_made_with_it(report: LandingReport, lake: Path, tmp_path: Path) -> None:
    landed(tmp_path, days=[DAYS[1]])
    alone, together = content(tmp_path), content(lake)
    assert len(alone) == len(report.files) // len(DAYS)
    assert all(together[name] == alone[name] for name in alone)


def test_made_again_nothing_is_touched(tmp_path: Path) -> None:
    first = landed(tmp_path, rows=20)
    for file in first.files:
        os.utime(file.path, (1_000_000_000, 1_000_000_000))
    again = landed(tmp_path, rows=20)
    assert {file.state for file in again.files} == {"unchanged"}
    assert {file.path.stat().st_mtime for file in again.files} == {1_000_000_000}


def test_what_others_brought_or_changed_is_kept_and_what_was_made_here_is_not(tmp_path: Path) -> None:
    brought = tmp_path / "landing/retail/crm/customers/2026/02/03/customers_1.csv"
    brought.parent.mkdir(parents=True)
    brought.write_text("customer_id\n1\n")
    first = landed(tmp_path, days=[DAYS[1]], rows=20)
    assert first.kept == (brought,)
    assert first.rows == sum(file.rows for file in first.files if file.path != brought)
    changed = first.of("bronze_pos_orders")[0].path
    changed.write_text("scribble")
    # Other rows take the place of those that were made here, and of nothing else.
    again = landed(tmp_path, days=[DAYS[1]], rows=21)
    assert set(again.kept) == {brought, changed}
    assert {file.state for file in again.files if file.path not in again.kept} == {"written"}
    assert (brought.read_text(), changed.read_text()) == ("customer_id\n1\n", "scribble")
    asked = landed(tmp_path, days=[DAYS[1]], rows=21, overwrite=True)
    assert {file.path for file in asked.files if file.state == "written"} == {changed, brought}
    assert asked.kept == ()
    assert changed.read_text() != "scribble"


def test_what_a_run_has_archived_does_not_land_again(tmp_path: Path) -> None:
    landing, archive = (tmp_path / each / "insurance/reference/policyholders" for each in ("landing", "archive"))
    landed(tmp_path, rows=20)
    archive.parent.mkdir(parents=True)
    landing.rename(archive)
    assert {file.state for file in landed(tmp_path, rows=20).of("silver_reference_policyholders")} == {"archived"}
    assert not landing.exists()


def test_archived_files_of_other_rows_do_not_stand_for_these(tmp_path: Path) -> None:
    landing, archive = (tmp_path / each / "insurance/reference/policyholders" for each in ("landing", "archive"))
    landed(tmp_path, rows=20)
    archive.parent.mkdir(parents=True)
    landing.rename(archive)
    assert {file.state for file in landed(tmp_path, rows=21).of("silver_reference_policyholders")} == {"written"}


def test_files_lie_where_the_sources_look_for_them(report: LandingReport, lake: Path) -> None:
    places = {str(file.path.relative_to(lake / "landing")) for file in report.files if file.day == date(2026, 2, 3)}
    assert places == {
        "retail/crm/customers/2026/02/03/customers_1.csv",
        "retail/erp/products/products_2026-02-03.parquet",
        "retail/pos/orders/y_2026/m_02/d_03/orders_1.jsonl",
        "insurance/policy_admin/policies/2026-02-03/policies_1.csv",
        "insurance/claims_system/claims/2026/02/03/claims_cdc_1.jsonl",
        "insurance/reference/policyholders/policyholders_2026-02-03.json",
    }
    assert set(content(lake)) == {str(file.path.relative_to(lake)) for file in report.files}


def test_shipped_files_are_left_alone(report: LandingReport) -> None:
    assert [(each.contract[-1], each.why) for each in report.skipped] == [
        ("silver_reference_coverage_codes", "coverage_codes.csv is shipped beside the contract")
    ]


def test_nothing_is_written_outside_of_the_storage_root(tmp_path: Path) -> None:
    project = Project(shipped_example(), values={"storage_root": str(tmp_path / "lake")})
    made = make_landing_data(load_project(project, {}), project, storage_root=tmp_path / "elsewhere", days=DAYS)
    assert made.files == ()
    assert list(tmp_path.iterdir()) == []


def test_days_that_a_source_does_not_read_get_no_file(tmp_path: Path) -> None:
    made = landed(tmp_path, rows=5, days=[date(2025, 12, 31), date(2026, 1, 1)])
    assert [file.day for file in made.of("bronze_pos_orders")] == [date(2026, 1, 1)]
    assert [each.day for each in made.skipped if each.contract[-1] == "bronze_pos_orders"] == [date(2025, 12, 31)]
    assert len(made.of("bronze_crm_customers")) == 2


def test_the_report_counts_what_the_files_hold(report: LandingReport) -> None:
    assert [len(rows_of(file.path)) for file in report.files] == [file.rows for file in report.files]
    assert {file.rows for file in report.files} == {200}
    assert {file.broken for file in report.files} == {4}
    assert (report.rows, report.broken) == (200 * 18, 4 * 18)


@pytest.mark.parametrize("options", [{"rows": 0}, {"invalid": 1.0}, {"invalid": -0.1}])
def test_a_request_that_makes_no_sense_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ProjectError):
        landed(tmp_path, **options)


def test_foreign_keys_lead_to_rows_of_the_same_day(report: LandingReport) -> None:
    customers, products = by_day(report, "bronze_crm_customers"), by_day(report, "bronze_erp_products")
    for day, orders in by_day(report, "bronze_pos_orders").items():
        assert {row["customer_id"] for row in orders} - {None} <= {row["cust_id"] for row in customers[day]}
        assert {row["product_id"] for row in orders} - {None} <= {row["sku"] for row in products[day]}


def test_foreign_keys_reach_through_a_table_to_its_file(report: LandingReport) -> None:
    holders = by_day(report, "silver_reference_policyholders")
    for day, policies in by_day(report, "bronze_policy_admin_policies").items():
        known = {row["policyholder_id"] for row in holders[day]}
        assert {row["policyholder_id"] for row in policies} - {"", "UNKNOWN"} <= known


def test_a_claim_keeps_its_policy(report: LandingReport) -> None:
    policies = {row["policy_no"] for row in all_rows(report, "bronze_policy_admin_policies")}
    of_claim: dict[str, set[str]] = defaultdict(set)
    for row in all_rows(report, "bronze_claims_system_claims"):
        if row["policy_no"] and row["claim_id"]:
            of_claim[row["claim_id"]].add(row["policy_no"])
    assert set().union(*of_claim.values()) <= policies
    assert {len(each) for each in of_claim.values()} == {1}


def test_a_value_that_is_listed_more_often_comes_more_often(tmp_path: Path) -> None:
    made = landed(tmp_path, rows=2000, days=DAYS[:1], invalid=0.0)
    segments = Counter(row["segment"] for row in all_rows(made, "bronze_crm_customers"))
    modes = Counter(row["till_mode"] for row in all_rows(made, "bronze_pos_orders"))
    assert segments["consumer"] / 2000 == pytest.approx(0.6, abs=0.05)
    assert segments["vip"] / 2000 == pytest.approx(0.2, abs=0.05)
    assert modes["training"] / 2000 == pytest.approx(0.2, abs=0.05)


def test_customers_look_like_their_contract_says(sound: LandingReport) -> None:
    for row in all_rows(sound, "bronze_crm_customers"):
        assert re.fullmatch(r"C\d{6}", row["cust_id"])
        assert re.fullmatch(r"[a-z]+\.[a-z]+\d+@example\.(com|org|net)", row["email"])
        assert re.fullmatch(r"\+49 \d{3} \d{7}", row["phone"])
        assert 1940 <= date.fromisoformat(row["birth_date"]).year <= 2008
        assert 2015 <= date.fromisoformat(row["signup_date"]).year <= 2025
        assert row["country"] in ("DE", "AT", "CH", "NL", "FR")
        assert datetime.fromisoformat(row["updated_at"]).date() == date.fromisoformat(row["extract_date"])


def test_numbers_stay_within_their_bounds(sound: LandingReport) -> None:
    for row in all_rows(sound, "bronze_pos_orders"):
        assert 1 <= row["quantity"] <= 12
        assert 1 <= row["unit_price"] <= 400
        assert 0 <= row["discount_pct"] <= 30
        assert json.loads(row["payment"])["installments"] in (1, 3)


def test_parquet_files_hold_the_types_of_the_contract(sound: LandingReport) -> None:
    for row in all_rows(sound, "bronze_erp_products"):
        assert isinstance(row["list_price"], Decimal)
        assert Decimal(20) <= row["list_price"] <= Decimal(400)
        assert row["updated_at"].tzinfo is not None
        assert "weight_g" in json.loads(row["attributes"])


def test_the_day_of_delivery_is_the_day_of_the_file(sound: LandingReport) -> None:
    for table in ("bronze_pos_orders", "bronze_claims_system_claims", "bronze_policy_admin_policies"):
        for day, rows in by_day(sound, table).items():
            assert {row["delivered_on"] for row in rows} == {day.isoformat()}


def test_keys_are_unique_on_a_day(sound: LandingReport) -> None:
    keys = {
        "bronze_crm_customers": ["cust_id"],
        "bronze_erp_products": ["sku"],
        "bronze_pos_orders": ["order_id", "line_no"],
        "bronze_policy_admin_policies": ["policy_no"],
        "bronze_claims_system_claims": ["claim_id"],
        "silver_reference_policyholders": ["policyholder_id"],
    }
    for table, key in keys.items():
        for rows in by_day(sound, table).values():
            assert len({tuple(row[name] for name in key) for row in rows}) == len(rows)


def test_customers_come_back_with_some_attributes_changed(sound: LandingReport) -> None:
    first, *later = [{row["cust_id"]: row for row in rows} for rows in by_day(sound, "bronze_crm_customers").values()]
    for day in later:
        assert day.keys() == first.keys()
        assert all(day[key][name] == first[key][name] for key in first for name in ("full_name", "email", "birth_date"))
    changed = [key for key in first if any(day[key]["segment"] != first[key]["segment"] for day in later)]
    assert 0 < len(changed) < len(first) / 2


def test_prices_change_and_products_stay(sound: LandingReport) -> None:
    first, _, last = [{row["sku"]: row for row in rows} for rows in by_day(sound, "bronze_erp_products").values()]
    assert first.keys() == last.keys()
    changed = [key for key in first if first[key]["list_price"] != last[key]["list_price"]]
    assert 0 < len(changed) < len(first) / 2


def test_order_lines_are_new_every_day(sound: LandingReport) -> None:
    days = [{row["order_id"] for row in rows} for rows in by_day(sound, "bronze_pos_orders").values()]
    assert sum(map(len, days)) == len(set().union(*days))


def test_the_lines_of_a_receipt_belong_together(sound: LandingReport) -> None:
    receipts: dict[str, Rows] = defaultdict(list)
    for row in all_rows(sound, "bronze_pos_orders"):
        receipts[row["order_id"]].append(row)
    for lines in receipts.values():
        assert [row["line_no"] for row in lines] == list(range(1, len(lines) + 1))
        assert len({(row["store_id"], row["customer_id"], row["order_ts"]) for row in lines}) == 1
    assert {len(lines) for lines in receipts.values()} == {1, 2, 3, 4, 5}


def test_some_tills_deliver_up_to_three_days_late(sound: LandingReport) -> None:
    late = Counter[int]()
    for row in all_rows(sound, "bronze_pos_orders"):
        sold = date.fromisoformat(row["business_date"])
        assert datetime.fromisoformat(row["order_ts"]).astimezone(UTC).date() == sold
        late[(date.fromisoformat(row["delivered_on"]) - sold).days] += 1
    assert set(late) == {0, 1, 2, 3}
    assert late[0] > late.total() * 0.8


def test_what_may_be_empty_sometimes_is(sound: LandingReport) -> None:
    orders = all_rows(sound, "bronze_pos_orders")
    assert 0.1 < sum(row["customer_id"] is None for row in orders) / len(orders) < 0.3
    policies = all_rows(sound, "bronze_policy_admin_policies")
    assert 0.1 < sum(row["agreed_premium"] == "" for row in policies) / len(policies) < 0.3
    assert all(row["list_premium"] for row in policies)


def test_a_claim_is_inserted_then_updated_then_deleted(tmp_path: Path) -> None:
    made = landed(tmp_path, days=[date(2026, 2, 1) + timedelta(days=day) for day in range(10)], invalid=0.0)
    claims: dict[str, Rows] = defaultdict(list)
    for row in all_rows(made, "bronze_claims_system_claims"):
        claims[row["claim_id"]].append(row)
    lives = {"".join(row["op"] for row in changes) for changes in claims.values()}
    assert "IUUUD" in lives
    assert all(life in "IUUUD" for life in lives)
    for changes in claims.values():
        assert [row["changed_at"] for row in changes] == sorted({row["changed_at"] for row in changes})
    operations = Counter(row["op"] for changes in claims.values() for row in changes)
    assert operations["U"] / operations.total() == pytest.approx(0.6, abs=0.05)


def test_the_state_of_a_claim_only_moves_forward(sound: LandingReport) -> None:
    claims: dict[str, list[int]] = defaultdict(list)
    for row in all_rows(sound, "bronze_claims_system_claims"):
        if row["status_code"]:
            claims[row["claim_id"]].append("OASR".index(row["status_code"]))
    assert all(states == sorted(states) for states in claims.values())
    assert any(len(set(states)) > 1 for states in claims.values())


def test_some_deletes_carry_the_key_alone(sound: LandingReport) -> None:
    deletes = [row for row in all_rows(sound, "bronze_claims_system_claims") if row["op"] == "D"]
    bare = [row for row in deletes if row["policy_no"] is None]
    assert 0 < len(bare) < len(deletes) / 2
    assert all(row["claim_id"] and row["changed_at"] and row["delivered_on"] for row in bare)


def test_importing_it_starts_no_spark() -> None:
    code = "import sys, lakelogic_assets.authoring.landing; print({'pyspark', 'delta', 'dagster'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"

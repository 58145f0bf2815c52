"""What people see in Dagster's UI, looked at with a headless browser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.orchestration.conftest import BAD_DAY, DAYS
from tests.orchestration.live import BRONZE, LOCATION, REASON, SILVER, TOTALS, Backfilled, backfilled, live

__all__ = ["backfilled", "live"]

SCREENSHOTS_VARIABLE = "LAKELOGIC_SCREENSHOTS"
_PATIENCE = 180_000
Shoot = Callable[[Page, str], None]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1440, "height": 1000})
    opened.set_default_timeout(_PATIENCE)
    expect.set_options(timeout=_PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def shoot(tmp_path: Path) -> Shoot:
    """Keep a picture, where somebody asked for one."""
    folder = Path(os.environ.get(SCREENSHOTS_VARIABLE) or tmp_path)

    def taken(page: Page, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Status dots and plots come after the words they belong to.
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1_000)
        page.screenshot(path=folder / f"{name}.png")

    return taken


def metadata_row(page: Page, label: str) -> Locator:
    return page.locator("tr").filter(has=page.get_by_text(label, exact=True)).first


def test_the_lineage_of_everything_shows_a_group_for_each_domain(
    backfilled: Backfilled, page: Page, shoot: Shoot
) -> None:
    page.goto(f"{backfilled.live.url}/asset-groups")
    for group in ("shop", "depot", "lakelogic"):
        expect(page.get_by_text(group, exact=True).first).to_be_visible()
    shoot(page, "lineage_of_everything")


def test_the_graph_of_a_domain_leads_from_the_landing_folder_to_gold(
    backfilled: Backfilled, page: Page, shoot: Shoot
) -> None:
    page.set_viewport_size({"width": 2000, "height": 700})
    page.goto(f"{backfilled.live.url}/locations/{LOCATION}/asset-groups/shop")
    nodes = [page.get_by_text(table, exact=True).last for table in (BRONZE, SILVER, TOTALS, "gold_till_overview")]
    for node in nodes:
        expect(node).to_be_visible()
    boxes = [node.bounding_box() for node in nodes]
    lefts = [box["x"] for box in boxes if box]
    assert len(lefts) == 4
    assert lefts == sorted(lefts)
    shoot(page, "graph")


def test_the_page_of_a_table_says_what_it_holds_who_owns_it_and_what_was_quarantined(
    backfilled: Backfilled, page: Page, shoot: Shoot
) -> None:
    page.goto(f"{backfilled.live.url}/assets/shop/{SILVER}?view=overview")
    columns = page.locator("tr").filter(has_text="Number on the receipt.").first
    expect(columns).to_contain_text("order_id")
    expect(columns).to_contain_text("non-nullable")
    for shown in ("silver@example.com", "shop_data", "Delta Lake", "Silver", "Spark", "lake.shop.silver_till_orders"):
        expect(page.get_by_text(shown, exact=True).first).to_be_visible()
    contract = (backfilled.live.shop.root / f"contracts/shop/till/{SILVER}.yaml").read_text().splitlines()
    rules = page.get_by_role("link", name="Open rules")
    expect(rules).to_have_attribute("href", re.compile(rf"/{SILVER}\.yaml:{contract.index('quality:') + 1}$"))
    expect(metadata_row(page, "rows_quarantined")).to_contain_text(re.compile(r"1\s*$"))
    shoot(page, "asset")
    table = metadata_row(page, "quarantine_by_rule")
    table.scroll_into_view_if_needed()
    expect(table).to_contain_text("amount is not negative")
    expect(table).to_contain_text("33.33%")
    shoot(page, "asset_quarantine")


def test_the_partitions_of_a_table_show_the_day_that_was_not_published(
    backfilled: Backfilled, page: Page, shoot: Shoot
) -> None:
    page.goto(f"{backfilled.live.url}/assets/shop/{SILVER}?view=partitions")
    expect(page.get_by_text(re.compile(r"Materialized \([6-9]\)"))).to_be_visible()
    expect(page.get_by_text(BAD_DAY, exact=True).first).to_be_visible()
    shoot(page, "partitions")


def test_the_checks_of_a_table_have_a_bar_by_day(backfilled: Backfilled, page: Page, shoot: Shoot) -> None:
    live = backfilled.live
    page.goto(f"{live.url}/assets/shop/{SILVER}?view=checks&checkDetail={REASON}")
    expect(page.get_by_text("Checks (10)")).to_be_visible()
    for check in (REASON, "reconciliation", "quarantine_ratio", "volume", "data_freshness", "schema"):
        expect(page.get_by_text(check, exact=True).first).to_be_visible()
    shoot(page, "checks")
    page.get_by_text("Partitions", exact=True).last.click()
    days = live.check_days(SILVER, REASON)
    failed = sum(status == "FAILED" for status in days.values())
    expect(page.get_by_text(f"Failed ({failed})", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(rf"Passed \([{len(days) - failed}-9]\)"))).to_be_visible()
    shoot(page, "checks_by_day")


def test_the_page_of_a_backfill_counts_the_days_of_each_table(backfilled: Backfilled, page: Page, shoot: Shoot) -> None:
    page.goto(f"{backfilled.live.url}/runs/b/{backfilled.id}?tab=overview")
    expect(page.get_by_text("Failed", exact=True).first).to_be_visible()
    expect(page.get_by_text(f"{DAYS[0]}...{DAYS[-1]}")).to_be_visible()
    for table in (BRONZE, SILVER, TOTALS):
        expect(page.get_by_text(f"shop / {table}").first).to_be_visible()
    shoot(page, "backfill")


def test_the_page_of_a_broken_contract_says_where_and_why(backfilled: Backfilled, page: Page, shoot: Shoot) -> None:
    page.goto(f"{backfilled.live.url}/assets/depot/silver_stock")
    expect(page.get_by_text("this contract has errors and cannot run").first).to_be_visible()
    expect(page.get_by_text("silver_stock.yaml:3").first).to_be_visible()
    shoot(page, "left_out")

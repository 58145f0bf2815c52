"""The quality dashboard as a page and as markdown."""

import re
import time
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest

from lakelogic_assets.report.dashboard import Product, as_html, as_markdown, summarise
from lakelogic_assets.report.dashboard_text import percent, period

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
EVIL = "<script>alert('x')</script>\"|`*&"
VOID = {"meta", "input"}


def run(
    key: str, day: datetime, status: str = "success", *, bad: int = 5, rules: int = 1, **report: Any
) -> dict[str, Any]:
    start = day.replace(hour=0, minute=0)
    told = {
        "window": {
            "key": f"{start:%Y-%m-%d}",
            "start": f"{start:%Y-%m-%dT%H:%M}+00:00",
            "end": (start + timedelta(days=1)).isoformat(),
        },
        "row_rules": [
            {
                "name": f"rule_{n}",
                "severity": "error",
                "category": "validity",
                "phase": "pre",
                "failed": bad if n == 0 else 0,
            }
            for n in range(rules)
        ],
        "dataset_rules": [
            {
                "name": "unique",
                "severity": "error",
                "category": "uniqueness",
                "passed": status == "success",
                "value": 0.5,
                "bounds": "must be 1",
            }
        ],
        "timings": {"read": 1.0, "judge": 2.0, "publish": 3.0},
        "reasons": [] if status == "success" else ["dataset rule unique failed"],
    }
    return {
        "contract": key,
        "run_id": f"{key}{day}",
        "status": status,
        "end_time": day + timedelta(hours=27),
        "run_duration_seconds": 7.0,
        "counts_good": 95,
        "counts_quarantined": bad,
        "report": told | report,
    }


DAYS = [datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 29, tzinfo=UTC)]
PRODUCTS = [
    Product("retail/silver_sales", "retail", "silver", "Sales", "team-retail", 3600.0, 3),
    Product("retail/bronze_sales", "retail", "bronze", "Raw sales"),
    Product("insurance/gold_claims", "insurance", "gold", "Claims"),
]
RUNS = [
    run("retail/silver_sales", DAYS[0]),
    run("retail/silver_sales", DAYS[1], "blocked"),
    run("retail/bronze_sales", DAYS[1], bad=0),
]
EVIL_PRODUCT = Product(EVIL, EVIL, EVIL, EVIL, EVIL, 3600.0)
EVIL_RULES: dict[str, Any] = {
    "row_rules": [{"name": EVIL, "severity": EVIL, "category": EVIL, "phase": EVIL, "failed": 5}],
    "dataset_rules": [
        {"name": EVIL, "severity": EVIL, "category": EVIL, "passed": False, "value": EVIL, "bounds": EVIL}
    ],
    "reasons": [EVIL],
    "sample": [{"name": "Ada Lovelace"}],
}
EVIL_RUNS = [
    run(EVIL, DAYS[0], "blocked", **EVIL_RULES, error=EVIL),
    run(EVIL, DAYS[1], EVIL, **(EVIL_RULES | {"window": {"key": EVIL, "start": None, "end": None}})),
    run(f"gone {EVIL}", DAYS[1], **EVIL_RULES),
]


class Outline(HTMLParser):
    """Tags that are opened and closed in order, and what a reader finds between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.seen if tag == name]


@pytest.mark.parametrize(
    ("runs", "products"),
    [([], []), ([], PRODUCTS), (RUNS, PRODUCTS), (EVIL_RUNS, [EVIL_PRODUCT]), (RUNS[2:], PRODUCTS[1:2])],
    ids=["nothing", "never ran", "some", "hostile", "all well"],
)
def test_the_page_is_well_formed_and_every_id_is_used_once(runs: list[dict[str, Any]], products: list[Product]) -> None:
    outline = Outline(as_html(summarise(runs, products, NOW)))
    ids = [attributes["id"] for _, attributes in outline.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {
        str(attributes["aria-labelledby"]) for _, attributes in outline.seen if "aria-labelledby" in attributes
    } <= set(ids)


def test_nothing_on_the_page_comes_from_anywhere_else() -> None:
    page = as_html(summarise(RUNS, PRODUCTS, NOW))
    assert re.search(r"https?:|url\(|@import|src=|href=|<link", page) is None
    policy = next(a["content"] for a in Outline(page).tags("meta") if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_no_text_from_outside_becomes_markup() -> None:
    summary = summarise(EVIL_RUNS, [EVIL_PRODUCT], NOW)
    assert summary.row_rules
    assert summary.setbacks
    assert summary.undeclared
    page = as_html(summary)
    outline = Outline(page)
    assert len(outline.tags("script")) == 1
    assert page.count(EVIL) == 0
    assert not [name for _, attributes in outline.seen for name in attributes if name.startswith("on")]
    assert any(EVIL in part for part in outline.text)


def test_rows_that_a_report_carries_are_never_shown() -> None:
    summary = summarise(EVIL_RUNS, [EVIL_PRODUCT], NOW)
    assert "Lovelace" not in as_html(summary) + as_markdown(summary)


def test_the_page_tells_the_figures_without_scripts_and_without_colour() -> None:
    page = as_html(summarise(RUNS, PRODUCTS, NOW))
    outline = Outline(page)
    text = " ".join(outline.text)
    for told in (
        "96.61%",
        "1 of 2",
        "dataset rule unique failed",
        "never ran",
        "declared, and no run in the log",
        "stale",
    ):
        assert told in text
    labels = [str(a["aria-label"]) for a in outline.tags("span") if a.get("role") == "img"]
    assert len(labels) == len(PRODUCTS)
    assert any("blocked on 29 Mar" in label for label in labels)
    titles = {str(a["title"]) for a in outline.tags("i") if "title" in a}
    assert {
        "28 Mar: published, 95.00% good, 5 quarantined",
        "29 Mar: blocked, 95.00% good, 5 quarantined",
        "27 Mar: no run",
    } <= titles
    assert all("aria-label" in a for a in outline.tags("svg"))
    assert all(a.get("scope") in ("row", "col") for a in outline.tags("th"))
    assert [a for a in outline.tags("form") if "hidden" in a]


def test_the_page_has_light_dark_and_print() -> None:
    page = as_html(summarise(RUNS, PRODUCTS, NOW))
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_a_large_project_is_one_page_of_less_than_two_megabytes_in_less_than_two_seconds() -> None:
    products = [
        Product(f"domain_{n % 8}/silver_table_{n}", f"domain_{n % 8}", "silver", f"Table {n}", "team", 86400.0)
        for n in range(200)
    ]
    runs = [run(each.key, NOW - timedelta(days=back), rules=10) for each in products for back in range(1, 31)]
    begun = time.process_time()
    page = as_html(summarise(runs, products, NOW))
    assert time.process_time() - begun < 2
    assert len(page.encode()) < 2_000_000
    assert page.count("<i ") > 200 * 30


def test_markdown_puts_first_what_needs_attention() -> None:
    lines = as_markdown(summarise(RUNS, PRODUCTS, NOW)).splitlines()
    assert lines[0] == "**1 of 3 products passing** · 0 failed · 1 blocked or held · 1 stale · 1 never ran"
    assert lines[2].startswith("96.61% of the rows are good, 10 are in quarantine")
    cells = [line.split(" | ") for line in lines if line.startswith("| ")]
    assert [row[0] for row in cells] == [
        "| Product",
        "| ---",
        r"| retail/silver\_sales",
        r"| insurance/gold\_claims",
        "| Rule",
        "| ---",
        r"| rule\_0",
    ]
    assert cells[-1][1:4] == [r"retail/silver\_sales", "10", "5.00%"]


def test_markdown_keeps_hostile_text_in_its_cell() -> None:
    text = as_markdown(summarise(EVIL_RUNS, [EVIL_PRODUCT], NOW))
    assert "<" not in text
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (6, 7) for line in text.splitlines() if line.startswith("|"))


def test_markdown_of_nothing_says_so() -> None:
    assert "No product is declared." in as_markdown(summarise([], [], NOW))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1, "100%"), (0.999999, ">99.99%"), (0.5, "50.00%"), (0.0000001, "<0.01%"), (0, "0.00%"), (None, "–")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(value: float | None, shown: str) -> None:
    assert percent(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (59, "59 s"),
        (3600, "1 h"),
        (3725, "1 h 2 min"),
        (273600, "3 d 4 h"),
        (None, "–"),
    ],
)
def test_a_period_reads_in_its_two_largest_units(seconds: float | None, shown: str) -> None:
    assert period(seconds) == shown

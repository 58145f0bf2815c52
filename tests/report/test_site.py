"""The documentation site: every contract has its page, every link leads somewhere, every text stays text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from lakelogic_assets.report.site import pages_of
from lakelogic_assets.report.site_layout import HEIGHT, WIDTH, Box, arrange
from lakelogic_assets.report.site_links import links_of, mail, outward
from lakelogic_assets.report.site_records import Site
from tests.report.site_pages import LAYERS, broken_links, contract, read, small_site

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(pages_of(small_site()))


def poisoned(value: Any) -> Any:
    """The same facts, with something that would run in every text, if it were ever read as HTML."""
    if isinstance(value, str):
        return f"{value}{EVIL}"
    if isinstance(value, tuple):
        return tuple(map(poisoned, value))
    if is_dataclass(value):
        texts = {each.name: poisoned(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **texts)  # type: ignore[type-var]
    return value


def words(page: str) -> str:
    return " ".join(" ".join(read(page).words).split())


def test_there_is_a_page_for_each_contract_and_domain_an_index_and_a_map(pages: dict[str, str]) -> None:
    site = small_site()
    assert len(pages) == 2 + len(site.contracts) + len(site.domains)
    assert {"index.html", "map.html", "domains/money.html", "contracts/rides.silver_trips.html"} <= set(pages)


def test_no_link_is_broken_and_no_id_stands_twice(pages: dict[str, str]) -> None:
    assert broken_links(pages) == []
    twice = {name: [each for each, found in read(text).ids.items() if found > 1] for name, text in pages.items()}
    assert {name: ids for name, ids in twice.items() if ids} == {}


def test_pages_ask_for_nothing_besides_themselves(pages: dict[str, str]) -> None:
    for text in pages.values():
        page = read(text)
        assert page.loads == []
        assert page.tags["link"] == page.tags["iframe"] == 0
        assert page.tags["script"] == 1
        assert "default-src 'none'" in text


def test_a_page_tells_all_that_is_known_of_a_contract(pages: dict[str, str]) -> None:
    told = words(pages["contracts/rides.silver_trips.html"])
    for expected in (
        "Every trip, once.", "Rides team", "rides@example.com", "#rides", "masked: hash", "one of PAR, LON", "positive_fare",
        "3 rows", "holds", "at most 2 h", "lake.rides.bronze_trips", "on: trip_id", "partner.trips", "Board", "published",
        "[pre] Rule failed: positive_fare (fare >= 0)", "warning LL410", "elsewhere.code",
    ):  # fmt: skip
        assert expected in told, expected


def test_the_lineage_of_a_contract_leads_to_its_neighbours(pages: dict[str, str]) -> None:
    links = read(pages["contracts/rides.silver_trips.html"]).links
    assert {"../contracts/rides.bronze_trips.html", "../contracts/money.gold_revenue.html"} <= set(links)


def test_the_map_has_a_box_for_every_contract_and_a_line_for_every_edge(pages: dict[str, str]) -> None:
    site = small_site()
    assert pages["map.html"].count("data-n=") == len(site.contracts)
    assert pages["map.html"].count("data-e=") == len(site.edges)
    assert pages["map.html"].count('class="line cross"') == 2


def test_what_was_left_out_is_named_with_its_reason(pages: dict[str, str]) -> None:
    assert "rides/bronze_bad" in words(pages["index.html"])
    assert "YAML cannot be read here" in words(pages["index.html"])


def test_a_contract_that_is_not_run_says_so(pages: dict[str, str]) -> None:
    assert "it is in no index" in words(pages["contracts/rides.gold_riders.html"])


def test_the_search_knows_fields_rules_and_people(pages: dict[str, str]) -> None:
    row = next(line for line in pages["index.html"].split("<tr") if "rides/silver_trips" in line and "data-t" in line)
    assert all(word in row for word in ("rider_id", "positive_fare", "rides@example.com", "every"))


def test_whatever_a_contract_says_stays_text() -> None:
    site: Site = poisoned(small_site())
    plain = {name: read(text) for name, text in pages_of(small_site())}
    tags = {tag for page in plain.values() for tag in page.tags}
    for name, text in pages_of(site):
        page = read(text)
        assert set(page.tags) <= tags, name
        assert page.tags["script"] == 1
        assert not {each for each in page.attributes if each.startswith("on")}, name
    assert broken_links(dict(pages_of(site))) == []


def test_names_that_differ_only_in_what_files_cannot_tell_have_pages_of_their_own() -> None:
    links = links_of(["a/b", "a.b", "A/B", "a b", "ä", "../../etc", "x" * 300], ["d"])
    assert len({path.casefold() for path in links.contracts.values()}) == 7
    assert all(path.startswith("contracts/") and ".." not in path for path in links.contracts.values())


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "http://[", "", None])
def test_only_links_to_the_web_are_links(url: str | None) -> None:
    assert outward(url, "Board") == "Board"


def test_only_an_address_is_written_to() -> None:
    assert 'href="mailto:a@example.com"' in mail("a@example.com")
    assert "href" not in mail("a@example.com?bcc=b@example.com")
    assert "href" not in mail("call us")


def test_boxes_and_passing_lines_never_lie_upon_each_other() -> None:
    boxes = [Box(f"{layer}_{number}", layer, f"d{number % 2}") for layer in LAYERS for number in range(6)]
    edges = [(f"bronze_{n}", f"gold_{m}") for n in range(6) for m in range(6)] + [("silver_0", "silver_1")]
    layout = arrange(boxes, edges, LAYERS, in_bands=True)
    corners = sorted(layout.places.values())
    for x, y in corners:
        assert not [1 for a, b in corners if a == x and 0 < b - y < HEIGHT]
        assert 0 <= x <= layout.width - WIDTH
        assert 0 <= y <= layout.height - HEIGHT
    for points in layout.ways.values():
        assert all(not (x == a and b < y < b + HEIGHT) for x, y in points for a, b in corners)


def test_a_circle_of_contracts_is_drawn_all_the_same() -> None:
    site = replace(
        small_site(),
        contracts=(contract("d/silver_a", "silver"), contract("d/silver_b", "silver")),
        edges=(("d/silver_a", "d/silver_b"), ("d/silver_b", "d/silver_a")),
    )
    assert dict(pages_of(site))["map.html"].count("data-e=") == 2


def test_a_project_without_contracts_has_a_site_as_well() -> None:
    empty = replace(small_site(), contracts=(), domains=(), edges=(), layers=())
    found = dict(pages_of(empty))
    assert set(found) == {"index.html", "map.html"}
    assert broken_links(found) == []

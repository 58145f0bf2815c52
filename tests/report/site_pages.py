"""A site to look at, and a way to follow all of its links."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from lakelogic_assets.report.site_records import (
    Consumer,
    Contact,
    ContractFacts,
    DomainFacts,
    FieldFacts,
    LeftOutFacts,
    RuleFacts,
    RunFacts,
    Site,
    Step,
)

NOW = datetime(2026, 2, 3, 12, tzinfo=UTC)
LAYERS = ("bronze", "silver", "gold")


@dataclass
class Page(HTMLParser):
    """What of a page leads somewhere, can be led to, or might run."""

    ids: Counter[str] = field(default_factory=Counter)
    links: list[str] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)
    attributes: set[str] = field(default_factory=set)
    loads: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids[value or ""] += 1
            elif name in ("href", "action"):
                self.links.append(value or "")
            elif name in ("src", "srcset", "data", "xlink:href", "poster"):
                self.loads.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def broken_links(pages: Mapping[str, str]) -> list[str]:
    """Every link that leads to no page, or to no place on it."""
    known = {name: read(text) for name, text in pages.items()}
    broken = []
    for name, page in known.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            to = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
            )
            if parts.scheme or to not in known or (parts.fragment and not known[to].ids[parts.fragment]):
                broken.append(f"{name} -> {link}")
    return broken


def contract(key: str, layer: str, **more: object) -> ContractFacts:
    domain, table = key.split("/")
    said = {"key": key, "table": table, "title": table.title(), "domain": domain, "layer": layer, "system": "till"}
    return ContractFacts(**{**said, **more})  # type: ignore[arg-type]


def small_site() -> Site:
    """Two domains, one line across them, and something on every part of a page."""
    trips = contract(
        "rides/silver_trips",
        "silver",
        description="Every trip, once.",
        owner="Rides team",
        contacts=(Contact("On call", "oncall", "rides@example.com", "#rides"),),
        chips=("merge", "v1.0.0"),
        fields=(
            FieldFacts("trip_id", "string", "The trip", required=True, is_key=True),
            FieldFacts(
                "rider_id", "string", None, marks=("personal", "masked: hash"), reference=("rides/gold_riders", "id")
            ),
            FieldFacts("city", "string", limits=("one of PAR, LON",), reference=("elsewhere", "code")),
        ),
        rules=(
            RuleFacts("positive_fare", "row", "pre", "error", "correctness", "fare >= 0", failed=3),
            RuleFacts("trip_id_unique", "dataset", "post", "error", "uniqueness", "trip_id is unique", passed=True),
        ),
        promises=(("Freshness", "at most 2 h"),),
        made=(("Reads", "lake.rides.bronze_trips"),),
        steps=(Step("pre", "deduplicate", "on: trip_id"),),
        external=("partner.trips",),
        consumers=(Consumer("dashboard", "Board", url="https://example.com/board"),),
        runs=(RunFacts(NOW, "success", "full", 10, 7, 3, 1.5),),
        quarantined=3,
        quarantine_by_reason=(("[pre] Rule failed: positive_fare (fare >= 0)", 3),),
        notes=("silver_trips.yaml:3:1: warning LL410",),
    )
    return Site(
        name="Mesh",
        environment="local",
        made_at=NOW,
        contracts=(
            contract("rides/bronze_trips", "bronze"),
            trips,
            contract("rides/gold_riders", "gold", enabled=False, idle_because="Not run: it is in no index."),
            contract("money/gold_revenue", "gold"),
        ),
        domains=(
            DomainFacts("money", "Finance"),
            DomainFacts(
                "rides", "Rides", "rides", (Contact(email="rides@example.com"),), ("till",), (("Good rows", "all"),)
            ),
        ),
        edges=(
            ("rides/bronze_trips", "rides/silver_trips"),
            ("rides/silver_trips", "money/gold_revenue"),
            ("rides/bronze_trips", "money/gold_revenue"),
        ),
        left_out=(LeftOutFacts("rides/bronze_bad", ("bronze_bad.yaml:1:1: error LL004: YAML cannot be read here.",)),),
        layers=LAYERS,
    )

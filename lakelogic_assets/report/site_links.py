"""Where every page of the site is, seen from any other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from urllib.parse import urlsplit

from lakelogic_assets.report.dashboard_text import NOTHING

INDEX, MAP = "index.html", "map.html"
_NOT_SAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 80


@dataclass(frozen=True)
class Links:
    """Links from one page; `here` leads from it to the root of the site."""

    contracts: dict[str, str]
    domains: dict[str, str]
    here: str = ""

    def inside(self) -> Links:
        """The same links from a page one folder down."""
        return Links(self.contracts, self.domains, "../")

    def index(self) -> str:
        return f"{self.here}{INDEX}"

    def map(self) -> str:
        return f"{self.here}{MAP}"

    def contract(self, key: str) -> str | None:
        path = self.contracts.get(key)
        return f"{self.here}{path}" if path else None

    def domain(self, name: str) -> str | None:
        path = self.domains.get(name)
        return f"{self.here}{path}" if path else None


def links_of(contracts: Iterable[str], domains: Iterable[str]) -> Links:
    return Links(_paths("contracts", contracts), _paths("domains", domains))


def _paths(folder: str, names: Iterable[str]) -> dict[str, str]:
    """A file for each name: readable, and distinct also where the case of letters counts for nothing."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _NOT_SAFE.sub(".", name).strip(".")[:_LONGEST] or "unnamed"
        if plain.casefold() in taken or plain != name.replace("/", "."):
            plain = f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        taken.add(plain.casefold())
        found[name] = f"{folder}/{plain}.html"
    return found


def link(href: str | None, words: str | None, css: str = "") -> str:
    """Words as a link where it leads anywhere; the words are escaped here."""
    shown = escape(words) if words else NOTHING
    name = f' class="{css}"' if css else ""
    return f'<a{name} href="{escape(href)}">{shown}</a>' if href else shown


def outward(url: str | None, words: str) -> str:
    """A link that a contract gives; only to the web, since other schemes may run something."""
    try:
        scheme = urlsplit(url or "").scheme.lower()
    except ValueError:
        scheme = ""
    if scheme not in ("http", "https"):
        return escape(words)
    return f'<a href="{escape(url or "")}" rel="noopener noreferrer">{escape(words)}</a>'


def mail(address: str | None) -> str:
    if not address:
        return NOTHING
    is_one = re.fullmatch(r"[^@\s<>\"?&]+@[^@\s<>\"?&]+", address)
    return f'<a href="mailto:{escape(address)}">{escape(address)}</a>' if is_one else escape(address)

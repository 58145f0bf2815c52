"""The map of a mesh and the lineage of a contract as inline SVG: every box a link, every line told in words as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lakelogic_assets.names import LAYERS
from lakelogic_assets.report.dashboard_text import counted, state_word
from lakelogic_assets.report.site_layout import HEIGHT, WIDTH, Band, Box, Layout, Point, arrange
from lakelogic_assets.report.site_links import Links
from lakelogic_assets.report.site_records import ContractFacts, Site

_LETTERS = 29
OFF = "not run"


def mesh_map(site: Site, links: Links, keys: Sequence[str] | None = None) -> str:
    """All contracts, or some, in a band for each domain."""
    shown = [site.by_key[key] for key in keys] if keys is not None else list(site.contracts)
    boxes = [Box(each.key, each.layer, each.domain) for each in shown]
    layout = arrange(boxes, site.edges, site.layers, in_bands=True)
    bands = "".join(_band(band, layout, links) for band in layout.bands)
    domains = counted(len(layout.bands), "domain")
    return _drawing(site, shown, layout, links, f"{counted(len(shown), 'contract')} of {domains}", bands)


def lineage(site: Site, key: str, links: Links) -> str:
    """What a contract is made of, and what is made of it."""
    shown = [site.by_key[each] for each in site.around(key)]
    layout = arrange([Box(each.key, each.layer) for each in shown], site.edges, site.layers, in_bands=False)
    own = site.by_key[key]
    words = f"{own.title} reads from {_named(site.upstream[key])} and is read by {_named(site.downstream[key])}"
    return _drawing(site, shown, layout, links, words, own=key)


def _named(keys: Sequence[str]) -> str:
    return ", ".join(keys) if keys else "no other contract"


def _drawing(
    site: Site, shown: Sequence[ContractFacts], layout: Layout, links: Links, words: str, under: str = "", own: str = ""
) -> str:
    number = {each.key: index for index, each in enumerate(shown)}
    heads = "".join(
        f'<text class="head" x="{x:.0f}" y="24">{escape(layer or "no layer")}</text>' for layer, x in layout.heads
    )
    drawn = [(up, down) for up, down in site.edges if up in number and down in number]
    lines = "".join(_line(site, up, down, layout, number) for up, down in drawn)
    boxes = "".join(_box(each, layout, links, number[each.key], is_own=each.key == own) for each in shown)
    return (
        f'<div class="graph" tabindex="0" role="region" aria-label="{escape(words)}">'
        f'<svg viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" width="{layout.width:.0f}" '
        f'height="{layout.height:.0f}" style="min-width:min(46rem,{layout.width:.0f}px)" role="group" '
        f'aria-label="{escape(words)}">'
        f"{under}{heads}<g>{lines}</g>{boxes}</svg></div>"
    )


def _band(band: Band, layout: Layout, links: Links) -> str:
    name = f'<text class="band-name" x="14" y="{band.top + 17:.0f}">{escape(band.name or "no domain")}</text>'
    href = links.domain(band.name)
    label = f'<a href="{escape(href)}">{name}</a>' if href else name
    size = f'width="{layout.width - 4:.0f}" height="{band.height:.0f}"'
    return f'<rect class="band" x="2" y="{band.top:.0f}" {size} rx="6"/>{label}'


def _line(site: Site, up: str, down: str, layout: Layout, number: dict[str, int]) -> str:
    (x1, y1), (x2, y2) = layout.places[up], layout.places[down]
    path, at = f"M{x1 + WIDTH:.0f} {y1 + HEIGHT / 2:.0f}", (x1 + WIDTH, y1 + HEIGHT / 2)
    for x, y in layout.ways.get((up, down), ()):
        path += f"{_curve(at, (x, y))}H{x + WIDTH:.0f}"
        at = (x + WIDTH, y)
    path += _curve(at, (x2, y2 + HEIGHT / 2))
    css = "line" if site.by_key[up].domain == site.by_key[down].domain else "line cross"
    return f'<path class="{css}" data-e="{number[up]} {number[down]}" d="{path}"/>'


def _curve(start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    bend = max(36.0, (x2 - x1) / 2)
    return f"C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _box(each: ContractFacts, layout: Layout, links: Links, number: int, *, is_own: bool) -> str:
    x, y = layout.places[each.key]
    state = OFF if each.state == "off" else state_word(each.state)
    told = f"{each.title} ({each.key}), {each.layer or 'no layer'}, {state}"
    css = " ".join(
        ["box", *([each.layer] if each.layer in LAYERS else []), f"is-{each.state}", *(["own"] if is_own else [])]
    )
    return (
        f'<a href="{escape(links.contract(each.key) or "")}" class="{css}" data-n="{number}">'
        f"<title>{escape(told)}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        f'<path class="layer" d="M{x + 3:.0f} {y + 5:.0f}v{HEIGHT - 10}"/>'
        f'<text x="{x + 12:.0f}" y="{y + 18:.0f}">{escape(_label(each))}</text>'
        f'<circle cx="{x + WIDTH - 12:.0f}" cy="{y + HEIGHT / 2:.0f}" r="4"/></a>'
    )


def _label(each: ContractFacts) -> str:
    """The table without its layer, which its place and its colour tell."""
    name = each.table.removeprefix(f"{each.layer}_")
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def legend(states: Iterable[str]) -> str:
    """The marks of the boxes in words."""
    order = ("passing", "failed", "blocked", "held", "never", "off")
    items = (
        f'<span><svg width="12" height="12" aria-hidden="true"><g class="box is-{state}">'
        f'<circle cx="6" cy="6" r="4"/></g></svg>{OFF if state == "off" else state_word(state)}</span>'
        for state in order
        if state in set(states)
    )
    return f'<span class="legend">{"".join(items)}</span>'

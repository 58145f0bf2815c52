"""The documentation site: a page a contract, a page a domain, a map, and a search over all of them, as plain files."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lakelogic_assets.report.dashboard_records import share
from lakelogic_assets.report.dashboard_text import count, counted, percent
from lakelogic_assets.report.html import section, tiles
from lakelogic_assets.report.site_contract import contract_page
from lakelogic_assets.report.site_graph import legend, mesh_map
from lakelogic_assets.report.site_links import INDEX, MAP, Links, link, links_of
from lakelogic_assets.report.site_parts import contract_table, facts, layer_chip, listed, people, site_page
from lakelogic_assets.report.site_records import ContractFacts, DomainFacts, Site

_WRONG = ("failed", "blocked", "held")


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """Path and text of every page; they lie in one folder and need nothing besides."""
    links = links_of((each.key for each in site.contracts), (each.name for each in site.domains))
    yield INDEX, _index(site, links)
    yield MAP, _map(site, links)
    for domain in site.domains:
        yield links.domains[domain.name], _domain(site, domain, links.inside())
    for each in site.contracts:
        yield links.contracts[each.key], contract_page(site, each, links.inside())


def _index(site: Site, links: Links) -> str:
    cards = "".join(_card(site, domain, links) for domain in site.domains)
    body = (
        f'<div class="intro"><h1>{escape(site.name)}</h1><p class="lead">{_summary(site)}</p></div>',
        _tiles(site.contracts),
        section("domains", "Domains", "", f'<div class="cards">{cards}</div>') if cards else "",
        _left_out(site),
        section("contracts", "Contracts", _search(site), _contracts(site, links)),
        section("map", "Map of the mesh", _map_note(site, links), mesh_map(site, links)) if site.contracts else "",
    )
    return site_page(site, links, "Contracts", [], "".join(body))


def _summary(site: Site) -> str:
    fields = sum(len(each.fields) for each in site.contracts)
    rules = sum(len(each.rules) for each in site.contracts)
    return (
        f"{counted(len(site.contracts), 'data contract')} in {counted(len(site.domains), 'domain')}: "
        f"{counted(fields, 'field')}, {counted(rules, 'rule')}, {counted(len(site.edges), 'link')} between them."
    )


def _tiles(contracts: tuple[ContractFacts, ...]) -> str:
    running = [each for each in contracts if each.enabled]
    wrong = sum(each.state in _WRONG for each in running)
    never = sum(each.state == "never" for each in running)
    judged = [each.quality for each in running if each.quality and each.quality.last_run]
    good, bad = sum(each.good for each in judged), sum(each.quarantined for each in judged)
    stale = sum(each.freshness.is_stale for each in judged)
    held = sum(each.quarantined for each in contracts)
    off = len(contracts) - len(running)
    return tiles(
        (
            (count(len(contracts)), "contracts", f"{count(off)} not run" if off else "all of them run", ""),
            (count(sum(each.state == "passing" for each in running)), "passing", f"{count(never)} never ran", ""),
            (count(wrong), "failed or held", "in their newest window", "bad" if wrong else ""),
            (count(stale), "stale", "older than promised", "warn" if stale else ""),
            (count(held), "rows in quarantine", counted(sum(bool(e.quarantined) for e in contracts), "contract"), ""),
            (percent(share(good, good + bad)), "good rows", f"of {count(good + bad)} judged", ""),
        )
    )


def _card(site: Site, domain: DomainFacts, links: Links) -> str:
    own = site.of_domain(domain.name)
    layers = [(layer, sum(each.layer == layer for each in own)) for layer in site.layers]
    made = "".join(layer_chip(layer, f"{count(found)} {layer}") for layer, found in layers if found)
    wrong = sum(each.state in _WRONG for each in own)
    state = f'<span class="mark failed">{count(wrong)} to look at</span>' if wrong else ""
    return (
        f"<div><h3>{link(links.domain(domain.name), domain.name)}</h3><p>{made}</p>"
        f'<p class="quiet">{escape(domain.owner or domain.team or "")}</p>{state}</div>'
    )


def _left_out(site: Site) -> str:
    if not site.left_out:
        return ""
    told = "".join(f"<h3>{escape(each.name)}</h3>{listed(each.reasons)}" for each in site.left_out)
    return section("left-out", "Left out", "These have errors and cannot run; the others are not touched by it.", told)


def _search(site: Site) -> str:
    domains = "".join(f"<option>{escape(each.name)}</option>" for each in site.domains)
    layers = "".join(f"<option>{escape(layer)}</option>" for layer in site.layers)
    return (
        '<span class="filter" id="filter" hidden><label>Domain <select id="d"><option value="">all</option>'
        f'{domains}</select></label><label>Layer <select id="l"><option value="">all</option>{layers}</select></label>'
        '<output id="shown"></output></span>'
    )


def _contracts(site: Site, links: Links) -> str:
    if not site.contracts:
        return '<p class="empty">No contract yet. Add one and this page fills itself.</p>'
    return contract_table("contracts", site.contracts, links, with_domain=True, searched=True)


def _map_note(site: Site, links: Links) -> str:
    alone = link(links.map(), "The map on a page of its own")
    return f"{legend({each.state for each in site.contracts})} Dashed lines cross domains. {alone}."


def _map(site: Site, links: Links) -> str:
    note = f"{legend({each.state for each in site.contracts})} Every box leads to its contract."
    body = section("map", "Map of the mesh", note, mesh_map(site, links) if site.contracts else "")
    return site_page(site, links, "Map of the mesh", [(None, "map")], f'<div class="wide">{body}</div>')


def _domain(site: Site, domain: DomainFacts, links: Links) -> str:
    own = site.of_domain(domain.name)
    keys = {each.key for each in own}
    near = [up if down in keys else down for up, down in site.edges if (up in keys) != (down in keys)]
    shown = list(dict.fromkeys([*(each.key for each in own), *near]))
    systems = ", ".join(domain.systems)
    body = (
        f'<div class="intro"><h1>{escape(domain.name)}</h1><p class="lead">{counted(len(own), "contract")}'
        f"{f' from {escape(systems)}' if systems else ''}.</p></div>",
        _tiles(own),
        '<div class="pair-of">',
        section("owners", "Owners", "", people(domain.owner, domain.team, domain.contacts)),
        section("promises", "Service levels", "", facts(domain.promises) or '<p class="empty">None declared.</p>'),
        "</div>",
        section("contracts", "Contracts", "", contract_table("contracts", own, links, with_domain=False)),
        section("map", "Map", "The domain, and what it exchanges with others.", mesh_map(site, links, shown))
        if own
        else "",
        section("governance", "Governance", "", facts(domain.governance)) if domain.governance else "",
    )
    return site_page(site, links, domain.name, [(None, domain.name)], "".join(body))

"""The parts that pages of the site share: their frame, lists of contracts, people and facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lakelogic_assets.names import LAYERS
from lakelogic_assets.report.dashboard_records import ProductQuality
from lakelogic_assets.report.dashboard_tables import strip
from lakelogic_assets.report.dashboard_text import NOTHING, count, moment, percent
from lakelogic_assets.report.html import cell, mark, page, table, text
from lakelogic_assets.report.site_graph import OFF
from lakelogic_assets.report.site_links import Links, link, mail
from lakelogic_assets.report.site_records import Contact, ContractFacts, Pairs, Site


def site_page(site: Site, links: Links, title: str, trail: Sequence[tuple[str | None, str]], body: str) -> str:
    """A page with the way to it, a search box, and what the figures are of."""
    way = "".join(f"<li>{link(href, words)}</li>" for href, words in [(links.index(), site.name), *trail])
    header = (
        f'<header><nav aria-label="You are here"><ol class="trail">{way}</ol></nav>'
        f'<nav aria-label="Site">{link(links.map(), "Map of the mesh")}</nav>'
        f'<form action="{links.index()}" method="get" role="search"><label>Find '
        '<input type="search" name="q" placeholder="contract, field, owner" autocomplete="off"></label></form></header>'
    )
    footer = (
        f"<footer><p>Made {moment(site.made_at)} {site.made_at.year} UTC from the contracts and the run logs of the "
        f"environment {escape(site.environment)}. All times are UTC.</p></footer>"
    )
    whole = f"{header}<main>{body}</main>{footer}"
    return page(f"{title} · {site.name}", whole, ("page.css", "site.css"), ("tables.js", "site.js"))


def state_mark(state: str) -> str:
    return f'<span class="mark off">{OFF}</span>' if state == "off" else mark(state)


def layer_chip(layer: str, words: str | None = None) -> str:
    known = f" {layer}" if layer in LAYERS else ""
    return f'<span class="chip{known}">{escape(words or layer)}</span>' if layer else ""


def contract_table(
    name: str, contracts: Sequence[ContractFacts], links: Links, *, with_domain: bool, searched: bool = False
) -> str:
    columns = ("Contract", *(["Domain"] if with_domain else []), "Layer", "State", "Last run#", "Good rows#")
    rows = [_contract_row(each, links, with_domain=with_domain, searched=searched) for each in contracts]
    return table(name, (*columns, "In quarantine#", "30 days-"), rows)


def _contract_row(each: ContractFacts, links: Links, *, with_domain: bool, searched: bool) -> str:
    quality = each.quality
    found = f' data-t="{escape(_searched(each))}"' if searched else ""
    domain = [cell(link(links.domain(each.domain), each.domain))] if with_domain else []
    cells = [
        f'<th scope="row">{link(links.contract(each.key), each.title)}<small>{escape(each.key)}</small></th>',
        *domain,
        cell(layer_chip(each.layer)),
        cell(state_mark(each.state)),
        _last_run(quality),
        _good_rows(quality),
        cell(count(each.quarantined), "n", each.quarantined),
        cell(strip(quality.days) if quality and quality.last_run else NOTHING, "days"),
    ]
    return f'<tr data-d="{escape(each.domain)}" data-l="{escape(each.layer)}"{found}>{"".join(cells)}</tr>'


def _last_run(quality: ProductQuality | None) -> str:
    at = quality.last_run if quality else None
    return cell(moment(at), "n", at.timestamp() if at else 0)


def _good_rows(quality: ProductQuality | None) -> str:
    share = quality.good_share if quality else None
    return cell(percent(share), "n", share if share is not None else -1)


def _searched(each: ContractFacts) -> str:
    """All words by which somebody may look for a contract, once each."""
    people = [each.owner, *(part for contact in each.contacts for part in (contact.name, contact.email))]
    said = [each.key, each.title, each.system, each.layer, each.description, *people, *each.chips]
    said += [field.name for field in each.fields] + [rule.name for rule in each.rules]
    words = " ".join(part for part in said if part).casefold().split()
    return " ".join(dict.fromkeys(words))


def facts(pairs: Pairs) -> str:
    """What a thing is called, and what is said about it."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def people(owner: str | None, team: str | None, contacts: Iterable[Contact]) -> str:
    said = [("Owner", text(owner))] if owner else []
    said += [("Team", text(team))] if team else []
    said += [(contact.role or "Contact", _reached(contact)) for contact in contacts]
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{html}</dd></div>" for name, html in said)
    return f'<dl class="facts">{rows}</dl>' if rows else '<p class="empty">Nobody is named.</p>'


def _reached(contact: Contact) -> str:
    parts = [text(contact.name)] if contact.name else []
    parts += [mail(contact.email)] if contact.email else []
    parts += [text(contact.slack)] if contact.slack else []
    return " · ".join(parts) or NOTHING


def listed(items: Iterable[str]) -> str:
    """Texts of others, one a line."""
    lines = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<ul class="lines">{lines}</ul>' if lines else ""

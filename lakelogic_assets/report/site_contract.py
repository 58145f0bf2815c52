"""The page of one contract: what the table is, what is promised of it, where it comes from and how it fares."""

from __future__ import annotations

from html import escape

from lakelogic_assets.report.dashboard_tables import strip
from lakelogic_assets.report.dashboard_text import NOTHING, count, counted, moment, percent, period, why
from lakelogic_assets.report.html import cell, section, table, text, tiles
from lakelogic_assets.report.site_graph import lineage
from lakelogic_assets.report.site_links import Links, link, outward
from lakelogic_assets.report.site_parts import facts, layer_chip, listed, people, site_page, state_mark
from lakelogic_assets.report.site_records import ContractFacts, FieldFacts, RuleFacts, RunFacts, Site

_PROBLEMS = ("failed", "blocked", "held")


def contract_page(site: Site, each: ContractFacts, links: Links) -> str:
    parts = (
        _intro(each, links),
        _tiles(each),
        _lineage(site, each, links),
        section("fields", "Fields", _fields_note(each), _fields(site, each, links)),
        section("rules", "Rules", "What must be true of every row, and of the table as a whole.", _rules(each)),
        '<div class="pair-of">',
        section("owners", "Owners", "", people(each.owner, None, each.contacts)),
        section("promises", "Service levels", "", facts(each.promises) or _empty("Nothing is promised.")),
        "</div>",
        section("runs", "Last runs", "The newest first.", _runs(each)),
        section("quarantine", "Quarantine by rule", _quarantine_note(each), _quarantine(each)),
        section("made", "How it is made", "", _made(each)),
        _consumers(each),
        section("notes", "Notes of the validator", "", listed(each.notes)) if each.notes else "",
    )
    trail = [(links.domain(each.domain), each.domain)] if each.domain else []
    return site_page(site, links, each.title, [*trail, (None, each.table)], "".join(parts))


def _empty(words: str) -> str:
    return f'<p class="empty">{words}</p>'


def _intro(each: ContractFacts, links: Links) -> str:
    chips = "".join(f'<span class="chip">{escape(chip)}</span>' for chip in each.chips)
    domain = link(links.domain(each.domain), each.domain) if each.domain else ""
    where = " · ".join(part for part in (domain, escape(each.system)) if part)
    idle = f'<p class="warning">{escape(each.idle_because)}</p>' if each.idle_because else ""
    told = f'<p class="lead">{escape(each.description)}</p>' if each.description else ""
    return (
        f'<div class="intro"><h1>{escape(each.title)}</h1><p><code>{escape(each.key)}</code> '
        f'{layer_chip(each.layer)}{chips} <span class="quiet">{where}</span></p>{told}{idle}{_trouble(each)}</div>'
    )


def _trouble(each: ContractFacts) -> str:
    quality = each.quality
    if quality is None or not each.enabled or quality.state == "never" or not quality.needs_attention:
        return ""
    return f'<p class="warning">{state_mark(quality.state)}: {text(why(quality))}</p>'


def _tiles(each: ContractFacts) -> str:
    quality = each.quality
    ran = quality is not None and quality.last_run is not None
    share = percent(quality.good_share) if quality and ran else NOTHING
    checks = f"{quality.checks_passed} of {quality.checks_judged}" if quality and quality.checks_judged else NOTHING
    age = quality.freshness.age_seconds if quality else None
    allowed = quality.freshness.objective_seconds if quality else None
    late = "warn" if quality and quality.freshness.is_stale else ""
    bad = "bad" if each.state in _PROBLEMS else ""
    last = moment(quality.last_run) if quality and ran else "no run in the log"
    return tiles(
        (
            (state_mark(each.state), "state", last, bad),
            (share, "good rows", f"{count(quality.good)} in 30 days" if quality and ran else "nothing judged yet", ""),
            (count(each.quarantined), "rows in quarantine", counted(len(each.quarantine_by_reason), "reason"), ""),
            (checks, "checks passed", counted(len(each.rules), "rule"), ""),
            (period(age), "age of the data", f"{period(allowed)} allowed" if allowed else "nothing promised", late),
            (count(len(each.fields)), "fields", _of_fields(each), ""),
        )
    )


def _of_fields(each: ContractFacts) -> str:
    required = sum(field.required for field in each.fields)
    return f"{count(required)} required"


def _lineage(site: Site, each: ContractFacts, links: Links) -> str:
    outside = "".join(f'<span class="chip">{escape(name)}</span>' for name in each.external)
    note = "A click leads to the contract; dashed lines cross domains."
    beyond = f'<p class="note">From outside of the project: {outside}</p>' if outside else ""
    shown = len(site.around(each.key)) > 1
    picture = lineage(site, each.key, links) if shown else _empty("No other contract reads or feeds it.")
    days = each.quality.days if each.quality and each.quality.last_run else ()
    past = f'<p class="note">The last 30 days: {strip(days)}</p>' if days else ""
    return section("lineage", "Lineage", note if shown else "", f"{picture}{beyond}{past}")


def _fields_note(each: ContractFacts) -> str:
    keys = [field.name for field in each.fields if field.is_key]
    return f"Key: {', '.join(f'<code>{escape(key)}</code>' for key in keys)}." if keys else ""


def _fields(site: Site, each: ContractFacts, links: Links) -> str:
    if not each.fields:
        return _empty("The contract declares no field: whatever the source brings is the table.")
    rows = [_field(site, field, links) for field in each.fields]
    return table("fields", ("Field", "Type", "Description", "Marks", "Limits"), rows)


def _field(site: Site, field: FieldFacts, links: Links) -> str:
    marks = [*(["key"] if field.is_key else []), *(["required"] if field.required else []), *field.marks]
    chips = "".join(f'<span class="chip{_loud(mark)}">{escape(mark)}</span>' for mark in marks)
    limits = [escape(limit) for limit in field.limits]
    if field.reference:
        key, column = field.reference
        known = site.by_key.get(key)
        to = f"{known.table if known else key}.{column}"
        limits.append(f"refers to {link(links.contract(key), to)}")
    name = f'<th scope="row"><code>{escape(field.name)}</code></th>'
    cells = (
        cell(f"<code>{escape(field.type)}</code>"),
        cell(text(field.description), "why"),
        cell(chips or NOTHING),
        cell("<br>".join(limits) or NOTHING, "why"),
    )
    return f"<tr>{name}{''.join(cells)}</tr>"


def _loud(mark: str) -> str:
    return " loud" if mark.startswith("personal") or mark in ("key", "required") else ""


def _rules(each: ContractFacts) -> str:
    if not each.rules:
        return _empty("No rule.")
    rows = [_rule(rule) for rule in each.rules]
    return table("rules", ("Rule", "On", "Test-", "Severity", "Category", "Phase", "Latest run#"), rows)


def _rule(rule: RuleFacts) -> str:
    return (
        f'<tr><th scope="row">{escape(rule.name)}</th>{cell(escape(rule.on))}'
        f"{cell(f'<code>{escape(rule.test)}</code>', 'why')}{cell(escape(rule.severity))}{cell(escape(rule.category))}"
        f"{cell(escape(rule.phase))}{cell(*_outcome(rule))}</tr>"
    )


def _outcome(rule: RuleFacts) -> tuple[str, str, float]:
    if rule.failed:
        return f'<b class="lost">{counted(rule.failed, "row")}</b>', "n", float(rule.failed)
    if rule.passed is None and rule.failed is None:
        return NOTHING, "n", -1.0
    if rule.passed is False:
        return '<b class="lost">fails</b>', "n", 1.0
    return "holds", "n", 0.0


def _runs(each: ContractFacts) -> str:
    if not each.runs:
        return _empty("The run log knows no run of this contract.")
    columns = ("When#", "Status", "Window", "Read#", "Good#", "Quarantined#", "Took#", "Note-")
    return table("runs", columns, [_run(run) for run in each.runs])


def _run(run: RunFacts) -> str:
    state = "passing" if run.status in ("success", "unchanged", "no_new_data") else run.status
    words = f'<span class="mark {escape(state)}">{escape(_STATUS.get(run.status, run.status))}</span>'
    cells = (
        cell(moment(run.at), "n", run.at.timestamp() if run.at else 0),
        cell(words),
        cell(escape(run.window), "key"),
        cell(count(run.read), "n", run.read),
        cell(count(run.good), "n", run.good),
        cell(count(run.quarantined), "n", run.quarantined),
        cell(period(run.seconds), "n", run.seconds),
        cell(text(run.note), "why"),
    )
    return f"<tr>{''.join(cells)}</tr>"


_STATUS = {"success": "published", "no_new_data": "nothing new"}


def _quarantine_note(each: ContractFacts) -> str:
    if not each.quarantined:
        return ""
    return f"{counted(each.quarantined, 'row')} wait there; a row that breaks two rules counts for both."


def _quarantine(each: ContractFacts) -> str:
    if not each.quarantined:
        return _empty("Nothing is in quarantine.")
    most = max((rows for _, rows in each.quarantine_by_reason), default=1)
    rows = [
        f'<tr><th scope="row" class="reason">{escape(reason)}</th>'
        f"{cell(count(found), 'n data', found, found / most)}</tr>"
        for reason, found in each.quarantine_by_reason
    ]
    return table("quarantine", ("Reason", "Rows#"), rows)


def _made(each: ContractFacts) -> str:
    steps = "".join(
        f'<li><span class="chip">{escape(step.phase)}</span> <b>{escape(step.kind)}</b>'
        f"<pre>{escape(step.text)}</pre></li>"
        for step in each.steps
    )
    return facts(each.made) + (f'<h3>Transformations</h3><ol class="steps">{steps}</ol>' if steps else "")


def _consumers(each: ContractFacts) -> str:
    if not each.consumers:
        return ""
    rows = [
        f'<tr><th scope="row">{outward(one.url, one.name)}</th>{cell(escape(one.type))}{cell(text(one.owner))}'
        f"{cell(text(one.description), 'why')}</tr>"
        for one in each.consumers
    ]
    body = table("consumers", ("Name", "Kind", "Owner", "Description"), rows)
    return section("consumers", "Who uses it", "Beyond the contracts of this project.", body)

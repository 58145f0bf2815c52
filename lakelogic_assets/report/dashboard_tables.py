"""The tables of the page; every text that comes from outside goes through `text`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lakelogic_assets.report.dashboard_records import (
    OTHER_STEP,
    STEPS,
    Day,
    Product,
    ProductQuality,
    QualitySummary,
    TimeCost,
)
from lakelogic_assets.report.dashboard_svg import sparkline
from lakelogic_assets.report.dashboard_text import (
    NOTHING,
    count,
    counted,
    day,
    moment,
    percent,
    period,
    points,
    state_word,
    why,
)
from lakelogic_assets.report.html import cell, mark, table, text

_MOST_RULES, _MOST_SETBACKS, _RULES_NAMED = 100, 100, 3
_BANDS = ((0.0, "q0"), (0.01, "q1"), (0.05, "q2"), (0.2, "q3"))
_CELLS = {"failed": "f", "blocked": "b", "held": "h", "no_new_data": "n", "unchanged": "n"}
_CLOCKS = {
    "data": "newest row",
    "watermark": "watermark",
    "window": "window end",
    "file": "source file",
    "run": "last good run",
}


def attention_table(summary: QualitySummary) -> str:
    rows = [
        _row(
            each,
            _product(each.product),
            _state(each),
            cell(moment(each.last_good), "n", each.last_good.timestamp() if each.last_good else 0),
            cell(text(why(each)), "why"),
        )
        for each in summary.attention
    ]
    return table("attention", ("Product", "State", "Last good run#", "Why"), rows)


def product_table(summary: QualitySummary) -> str:
    head = f'30 days<span class="axis"><b>{day(summary.first_day)}</b><b>{day(summary.last_day)}</b></span>'
    columns = ("Product", "Layer", "State", "Last run#", "Checks#", "Good rows#", "Week, points#", "Quarantined#")
    rows = [_product_row(each) for each in summary.products]
    return table("products", columns, rows, last=f'<th scope="col" class="days">{head}</th>')


def _product_row(each: ProductQuality) -> str:
    checks = f"{each.checks_passed} of {each.checks_judged}" if each.checks_judged else f"0 of {each.product.checks}"
    change = "" if not each.trend or abs(each.trend) < 0.00005 else "up" if each.trend > 0 else "down"
    return _row(
        each,
        _product(each.product, owner=True),
        cell(text(each.product.layer)),
        _state(each),
        cell(moment(each.last_run), "n", each.last_run.timestamp() if each.last_run else 0),
        cell(checks, "n", each.checks_judged - each.checks_passed),
        cell(percent(each.good_share), "n", each.good_share if each.good_share is not None else -1),
        cell(points(each.trend), f"n {change}", each.trend or 0),
        cell(count(each.quarantined), "n", each.quarantined),
        f'<td class="days">{strip(each.days)}</td>',
    )


def strip(days: Sequence[Day]) -> str:
    """A cell a day; the same in words for those who do not see it."""
    cells = "".join(f'<i class="{_cell_class(one)}" title="{_cell_words(one)}"></i>' for one in days)
    return f'<span class="strip" role="img" aria-label="{_strip_words(days)}">{cells}</span>'


def _cell_class(one: Day) -> str:
    if one.status is None:
        return "e"
    plain = _CELLS.get(one.status)
    lost = one.quarantined / (one.good + one.quarantined) if one.quarantined else 0.0
    kind = plain or next((name for limit, name in _BANDS if lost <= limit), "q4")
    return f"{kind} r" if one.setbacks and plain in (None, "n") else kind


def _cell_words(one: Day) -> str:
    if one.status is None:
        return f"{day(one.day)}: no run"
    said = [state_word(one.status)]
    if one.good_share is not None:
        said.append(f"{percent(one.good_share)} good")
    if one.quarantined:
        said.append(f"{count(one.quarantined)} quarantined")
    if one.setbacks and one.status not in ("failed", "blocked", "held"):
        said.append(f"after {counted(one.setbacks, 'setback')}")
    return escape(f"{day(one.day)}: {', '.join(said)}")


def _strip_words(days: Sequence[Day]) -> str:
    told = [one for one in days if one.status]
    bad = [f"{state_word(one.status)} on {day(one.day)}" for one in told if one.status in ("failed", "blocked", "held")]
    judged = [one for one in told if one.good_share is not None]
    said = [f"{len(told)} of {len(days)} days with runs", *bad]
    if judged:
        lowest = min(judged, key=lambda one: one.good_share or 0.0)
        said.append(f"lowest {percent(lowest.good_share)} good on {day(lowest.day)}")
    return escape("; ".join(said))


def row_rule_table(summary: QualitySummary) -> str:
    rows = [
        _row(
            rule.product,
            _name_cell(rule.name),
            _product(rule.product),
            cell(count(rule.failed), "n", rule.failed),
            cell(percent(rule.failed_share), "n", rule.failed_share),
            cell(sparkline(rule.daily, summary.first_day, "share of rows a day")),
            cell(text(rule.category)),
            _severity(rule.severity),
        )
        for rule in summary.row_rules[:_MOST_RULES]
    ]
    return table("rules", ("Rule", "Product", "Rows failed#", "Share#", "30 days-", "Category", "Severity"), rows)


def dataset_rule_table(summary: QualitySummary) -> str:
    rows = [
        _row(
            rule.product,
            _name_cell(rule.name),
            _product(rule.product),
            cell(f"{rule.failed} of {rule.judged}", "n", rule.failed),
            cell(_now(rule.holds_now, rule.value, rule.bounds), "why"),
            cell(sparkline(rule.daily, summary.first_day, "share of windows a day")),
            cell(text(rule.category)),
            _severity(rule.severity),
        )
        for rule in summary.dataset_rules[:_MOST_RULES]
    ]
    columns = ("Rule", "Product", "Windows failed#", "Newest window", "30 days-", "Category", "Severity")
    return table("dataset", columns, rows)


def _now(holds: bool | None, value: float | None, bounds: str | None) -> str:
    said = "holds" if holds else "fails"
    measured = f", {value:,.6g}" if value is not None else ""
    return f"{said}{measured}{f' ({escape(bounds)})' if bounds else ''}"


def freshness_table(summary: QualitySummary) -> str:
    promised = [each for each in summary.products if each.freshness.objective_seconds]
    ordered = sorted(promised, key=lambda each: (each.freshness.age_seconds is None, -each.freshness.used_share))
    rows = [
        _row(
            each,
            _product(each.product),
            cell(period(each.freshness.age_seconds), "n", each.freshness.age_seconds or 0),
            cell(period(each.freshness.objective_seconds), "n", each.freshness.objective_seconds or 0),
            cell(_gauge(each), "meter", each.freshness.used_share),
            cell(_CLOCKS.get(each.freshness.basis or "", "no good run yet"), "quiet"),
        )
        for each in ordered
    ]
    return table("freshness", ("Product", "Age#", "Allowed#", "Used#", "Measured by"), rows)


def _gauge(each: ProductQuality) -> str:
    if each.freshness.age_seconds is None:
        return NOTHING
    used = each.freshness.used_share
    css = "gauge late" if each.freshness.is_stale else "gauge"
    label = f"{used:.0%}{', late' if each.freshness.is_stale else ''}"
    return f'<span class="{css}"><s style="width:{min(used, 2) * 50:.0f}%"></s></span><span class="used">{label}</span>'


def quarantine_table(summary: QualitySummary) -> str:
    held = sorted((each for each in summary.products if each.quarantined), key=lambda each: -each.quarantined)
    most = held[0].quarantined if held else 1
    rows = [
        _row(
            each,
            _product(each.product),
            cell(count(each.quarantined), "n data", each.quarantined, each.quarantined / most),
            cell(percent(1 - (each.good_share or 0.0)), "n", 1 - (each.good_share or 0.0)),
            cell(_by_rule(each.quarantine_by_rule), "why"),
        )
        for each in held
    ]
    return table("quarantine", ("Product", "Rows#", "Share#", "By rule"), rows)


def _by_rule(found: Sequence[tuple[str, int]]) -> str:
    named = [f'<span class="pair">{escape(name)} <b>{count(rows)}</b></span>' for name, rows in found[:_RULES_NAMED]]
    more = len(found) - _RULES_NAMED
    return " ".join([*named, *([f'<span class="quiet">and {more} more</span>'] if more > 0 else [])]) or NOTHING


def time_table(summary: QualitySummary) -> str:
    ran = sorted((each for each in summary.products if each.cost.runs), key=lambda each: -each.cost.seconds)
    steps = (*STEPS, OTHER_STEP)
    total = TimeCost(
        sum(each.cost.runs for each in ran),
        sum(each.cost.seconds for each in ran),
        {step: sum((each.cost.steps or {}).get(step, 0.0) for each in ran) for step in steps},
    )
    rows = [_row(each, _product(each.product), *_time_cells(each.cost, total.seconds)) for each in ran]
    everything = f'<th scope="row">All products</th>{"".join(_time_cells(total, total.seconds))}'
    columns = ("Product", "Runs#", "Time#", "Of all#", "A run#", *(f"{step.capitalize()}#" for step in steps))
    return table("time", columns, rows, top=f'<tr class="total">{everything}</tr>' if len(ran) > 1 else "")


def _time_cells(cost: TimeCost, whole: float) -> list[str]:
    part = cost.seconds / whole if whole else 0.0
    mean = cost.seconds / cost.runs if cost.runs else 0.0
    shares = [(step, cost.step_share(step) or 0.0) for step in (*STEPS, OTHER_STEP)]
    return [
        cell(count(cost.runs), "n", cost.runs),
        cell(period(cost.seconds), "n", cost.seconds),
        cell(f"{part:.0%}", "n", part),
        cell(period(mean), "n", mean),
        *(cell(f"{found:.0%}", "n data", found, found) for _, found in shares),
    ]


def setback_table(summary: QualitySummary) -> str:
    rows = [
        _row(
            each.product,
            cell(moment(each.at), "n", each.at.timestamp()),
            _product(each.product),
            cell(text(each.window), "key"),
            cell(mark(each.status)),
            cell("open" if each.is_open else "repaired since", "" if each.is_open else "quiet"),
            cell(text(each.reason), "why"),
        )
        for each in summary.setbacks[:_MOST_SETBACKS]
    ]
    return table("setbacks", ("When#", "Product", "Window", "Status", "Now", "Reason"), rows)


def _row(about: Product | ProductQuality, *cells: str) -> str:
    product = about.product if isinstance(about, ProductQuality) else about
    waits = isinstance(about, ProductQuality) and about.needs_attention
    return (
        f'<tr data-d="{escape(product.domain)}" data-l="{escape(product.layer)}"{" data-a" if waits else ""}>'
        f"{''.join(cells)}</tr>"
    )


def _product(product: Product, *, owner: bool = False) -> str:
    who = f'<span class="owner"> · {escape(product.owner)}</span>' if owner and product.owner else ""
    key = escape(product.key)
    return f'<th scope="row">{text(product.title)}<small data-k="{key}">{key}{who}</small></th>'


def _name_cell(name: str) -> str:
    return cell(text(name), "name")


def _severity(severity: str) -> str:
    return cell(f"<b>{escape(severity)}</b>" if severity == "error" else text(severity))


def _state(each: ProductQuality) -> str:
    stale = " <span class='mark stale'>stale</span>" if each.freshness.is_stale else ""
    shown = "" if each.state == "passing" and stale else mark(each.state)
    return cell(f"{shown}{stale}".strip())

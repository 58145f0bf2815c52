"""The page: one file that opens from disk, reads without scripts, and asks no network for anything."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lakelogic_assets.report import dashboard_tables as tables
from lakelogic_assets.report.dashboard_records import DAYS, QualitySummary, Series
from lakelogic_assets.report.dashboard_svg import floor_of, share_chart
from lakelogic_assets.report.dashboard_text import count, counted, day, moment, percent
from lakelogic_assets.report.html import page, section, tiles

_LEGEND = (
    ("q0", "all rows good"),
    ("q1", "up to 1% quarantined"),
    ("q2", "up to 5%"),
    ("q3", "up to 20%"),
    ("q4", "more"),
    ("q0 r", "good after a setback"),
    ("n", "nothing new"),
    ("f", "failed"),
    ("b", "blocked"),
    ("h", "held"),
    ("e", "no run"),
)


def as_html(summary: QualitySummary) -> str:
    """The whole page."""
    body = f"{_header(summary)}<main>{_body(summary)}</main>{_footer(summary)}"
    return page("Data quality", body, ("page.css", "dashboard.css"), ("tables.js", "dashboard.js"))


def _header(summary: QualitySummary) -> str:
    domains = _options(sorted({each.product.domain for each in summary.products}))
    layers = _options([each.name for each in summary.layers])
    return (
        f"<header><h1>Data quality</h1><p>{day(summary.first_day)} to {day(summary.last_day)} "
        f"{summary.last_day.year} · as of {moment(summary.now)} UTC</p>"
        '<form id="filter" hidden aria-label="Filter">'
        f'<label>Domain <select name="d"><option value="">all</option>{domains}</select></label>'
        f'<label>Layer <select name="l"><option value="">all</option>{layers}</select></label>'
        '<label>Find <input type="search" name="t" placeholder="product, rule, owner"></label>'
        '<label><input type="checkbox" name="a"> needs attention</label>'
        '<output name="shown"></output></form></header>'
    )


def _options(values: Sequence[str]) -> str:
    return "".join(f"<option>{escape(value)}</option>" for value in values)


def _body(summary: QualitySummary) -> str:
    if not summary.products:
        return '<p class="empty">No product is declared. Add a contract and this page fills itself.</p>'
    attention = (
        tables.attention_table(summary)
        if summary.attention
        else '<p class="empty">Every product is published and on time.</p>'
    )
    return "".join(
        (
            _tiles(summary),
            section("attention", "Needs attention", "What is broken, then what is late.", attention),
            _charts(summary),
            section("products", "Products", _legend(), tables.product_table(summary)),
            _rules(summary),
            '<div class="pair-of">',
            _freshness(summary),
            _quarantine(summary),
            "</div>",
            section(
                "time",
                "Cost of time",
                "Seconds of all runs of the period, failed and repeated ones too, and the share of each step.",
                tables.time_table(summary),
            ),
            _setbacks(summary),
        )
    )


def _tiles(summary: QualitySummary) -> str:
    total, never = len(summary.products), summary.counted("never")
    failed, held = summary.counted("failed"), summary.counted("blocked", "held")
    with_rows = sum(1 for each in summary.products if each.quarantined)
    waiting = f"{counted(failed, 'product')} failed" if failed else "none failed"
    late = sum(1 for each in summary.products if each.freshness.objective_seconds)
    shown = (
        (count(total), "products", f"{never} never ran" if never else counted(len(summary.domains), "domain"), ""),
        (count(summary.counted("passing")), "passing", f"{count(summary.clean)} with every check clean", ""),
        (count(held), "blocked or held", waiting, "bad" if held or failed else ""),
        (count(summary.stale), "stale", f"of {late} with a freshness objective", "warn" if summary.stale else ""),
        (count(summary.quarantined), "rows in quarantine", f"in {counted(with_rows, 'product')}", ""),
        (percent(summary.good_share), "good rows", f"of {count(summary.good + summary.quarantined)} judged", ""),
    )
    return tiles(shown)


def _charts(summary: QualitySummary) -> str:
    floor = floor_of((*summary.layers, *summary.domains))
    note = (
        f"Share of good rows a day, all charts from {floor:.0%} to 100%, filled where rows were quarantined; "
        "the figure is the last week's."
    )
    layers = "".join(_figure(each, floor, "l") for each in summary.layers)
    domains = "".join(_figure(each, floor, "d") for each in summary.domains)
    return section(
        "over-time",
        "Quality over time",
        note,
        f'<h3>By layer</h3><div class="charts">{layers}</div><h3>By domain</h3><div class="charts">{domains}</div>',
    )


def _figure(series: Series, floor: float, kind: str) -> str:
    return (
        f'<figure data-{kind}="{escape(series.name)}"><figcaption><b>{escape(series.name)}</b> '
        f"<small>{counted(series.products, 'product')}</small><span>{percent(series.last_week)}</span></figcaption>"
        f"{share_chart(series, floor)}</figure>"
    )


def _legend() -> str:
    return (
        '<span class="legend">'
        + "".join(f'<span><i class="{css}"></i>{words}</span>' for css, words in _LEGEND)
        + "</span>"
    )


def _rules(summary: QualitySummary) -> str:
    rows = (
        tables.row_rule_table(summary)
        if summary.row_rules
        else '<p class="empty">No row of the period broke a rule.</p>'
    )
    whole = (
        section(
            "dataset",
            "Dataset rules that failed",
            "Rules about a whole table; those that fail in the newest window come first.",
            tables.dataset_rule_table(summary),
        )
        if summary.dataset_rules
        else ""
    )
    return section("rules", "Worst rules", "By rows that broke them; bars are each rule's share a day.", rows) + whole


def _freshness(summary: QualitySummary) -> str:
    promised = any(each.freshness.objective_seconds for each in summary.products)
    body = tables.freshness_table(summary) if promised else '<p class="empty">No contract promises freshness.</p>'
    return section("freshness", "Freshness", "Age of the newest published data; the mark is what is allowed.", body)


def _quarantine(summary: QualitySummary) -> str:
    body = tables.quarantine_table(summary) if summary.quarantined else '<p class="empty">Nothing is in quarantine.</p>'
    return section("quarantine", "Quarantine", "A row that breaks two rules is one row and counts for both.", body)


def _setbacks(summary: QualitySummary) -> str:
    body = tables.setback_table(summary) if summary.setbacks else '<p class="empty">No run failed or was blocked.</p>'
    return section("setbacks", "Recent failures", "Attempts that did not publish, the newest first.", body)


def _footer(summary: QualitySummary) -> str:
    gone = ""
    if summary.undeclared:
        named = ", ".join(map(escape, summary.undeclared[:10]))
        more = f" and {len(summary.undeclared) - 10} more" if len(summary.undeclared) > 10 else ""
        gone = f"<p>In the run log, but not declared: {named}{more}.</p>"
    return (
        f"<footer><p>Figures cover {DAYS} days. Rows count once per window, from its latest run that judged them; a "
        "product without a window in the period shows its latest one. A window is shown under its own day, a run "
        "without a window under the day it ran. The week's points are the share of good rows of the last seven days "
        f"less that of the seven before. All times are UTC.</p>{gone}</footer>"
    )

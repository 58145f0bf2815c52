"""The short form, for places that show markdown: what to look at first, and the worst rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lakelogic_assets.report.dashboard_records import QualitySummary
from lakelogic_assets.report.dashboard_text import count, counted, moment, percent, points, state_word, why

_ATTENTION, _RULES = 20, 10
_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def as_markdown(summary: QualitySummary) -> str:
    """Headline figures, the products that need attention, and the ten worst rules."""
    held = summary.counted("blocked", "held")
    lines = [
        f"**{count(summary.counted('passing'))} of {counted(len(summary.products), 'product')} passing** · "
        f"{summary.counted('failed')} failed · {held} blocked or held · {summary.stale} stale · "
        f"{summary.counted('never')} never ran",
        "",
        f"{percent(summary.good_share)} of the rows are good, {count(summary.quarantined)} are in quarantine "
        f"(the 30 days to {moment(summary.now)} UTC, the latest run of each window).",
        "",
        *_attention(summary),
        "",
        *_rules(summary),
    ]
    return "\n".join(lines) + "\n"


def _attention(summary: QualitySummary) -> list[str]:
    waiting = summary.attention
    if not waiting:
        return ["### Needs attention", "", "Nothing." if summary.products else "No product is declared."]
    rows = [
        (
            _text(each.product.key),
            "stale" if each.state == "passing" else state_word(each.state),
            moment(each.last_good),
            percent(each.good_share),
            points(each.trend),
            _text(why(each)),
        )
        for each in waiting[:_ATTENTION]
    ]
    more = len(waiting) - len(rows)
    table = _table(("Product", "State", "Last good run", "Good rows", "Week, points", "Why"), rows)
    return ["### Needs attention", "", *table, *([f"\nand {counted(more, 'more product')}."] if more else [])]


def _rules(summary: QualitySummary) -> list[str]:
    rows = [
        (
            _text(rule.name),
            _text(rule.product.key),
            count(rule.failed),
            percent(rule.failed_share),
            _text(rule.severity),
        )
        for rule in summary.row_rules[:_RULES]
    ]
    if not rows:
        return ["### Worst rules", "", "No row broke a rule."]
    return ["### Worst rules", "", *_table(("Rule", "Product", "Rows failed", "Share", "Severity"), rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(head), _line(["---"] * len(head)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(value: str) -> str:
    """Text that is neither markup nor HTML, and stays in its cell."""
    plain = " ".join(value.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)

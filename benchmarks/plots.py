"""`python -m benchmarks.plots`: the kept results as drawings for docs/benchmarks.md, and the table in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.measurement import RESULTS

IMAGES = ROOT / "docs" / "images" / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"

_WIDTH, _LABEL, _ROW, _TOP = 760, 300, 30, 48
_SPAN = _WIDTH - _LABEL - 110
# Readable on a light page and on a dark one, which an image cannot ask about.
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#6b7280}.title{font-weight:600;font-size:14px}"
    ".ours{fill:#2563eb}.other{fill:#9ca3af}.missed{fill:#dc2626}.cpu{opacity:.45}.bar{stroke:#dc2626;stroke-width:2}"
)


def main() -> None:
    kept = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    measured = [result for result in kept if "jobs" in result and "bars" in result]
    IMAGES.mkdir(parents=True, exist_ok=True)
    for result in measured:
        (IMAGES / f"{result['benchmark']}.svg").write_text(jobs_chart(result))
    (IMAGES / "ratios.svg").write_text(ratios_chart(measured))
    write_page(PAGE, measured)


def jobs_chart(result: dict[str, Any]) -> str:
    """A bar a job, as long as the least of its rounds; the paler one below it is user time of all processors."""
    jobs = result["jobs"]
    clocks = ("memory_mb",) if _judges_memory(result) else ("wall", "cpu")
    longest = max(job[clock]["min"] for job in jobs.values() for clock in clocks if clock in job) or 1.0
    judged = {bar["job"] for bar in result["bars"]} | {claim["job"] for claim in result["claims"]}
    rows = []
    for number, (name, job) in enumerate(jobs.items()):
        y = _TOP + number * _ROW
        kind = "ours" if name in judged else "other"
        rows.append(_label(name, y))
        for place, clock in enumerate(clock for clock in clocks if clock in job):
            width = max(1.0, job[clock]["min"] / longest * _SPAN)
            paler = " cpu" if clock == "cpu" else ""
            rows.append(
                f'<rect class="{kind}{paler}" x="{_LABEL}" y="{y + place * 11}" width="{width:.1f}" height="9"/>'
            )
        rows.append(_figure(_amount(job, clocks[0]), _LABEL + job[clocks[0]]["min"] / longest * _SPAN, y))
    title = f"{result['benchmark']}: {result['title']}"
    return _drawing(title, "".join(rows), len(jobs))


def ratios_chart(results: list[dict[str, Any]]) -> str:
    """All bars at once: how much of what is allowed was needed; the red line is all of it."""
    bars = [(result["benchmark"], bar) for result in results for bar in result["bars"]]
    most = max([1.25, *(bar["ratio"] / bar["limit"] for _, bar in bars)])
    rows = []
    for number, (name, bar) in enumerate(bars):
        y = _TOP + number * _ROW
        share = bar["ratio"] / bar["limit"]
        kind = "ours" if bar["met"] else "missed"
        rows.append(_label(f"{name}: {bar['job']}", y))
        rows.append(f'<rect class="{kind}" x="{_LABEL}" y="{y}" width="{share / most * _SPAN:.1f}" height="14"/>')
        rows.append(_figure(f"{bar['ratio']:.2f} of {bar['limit']:.2f}", _LABEL + share / most * _SPAN, y))
    x = _LABEL + _SPAN / most
    rows.append(f'<path class="bar" d="M{x:.1f} {_TOP - 8}V{_TOP + len(bars) * _ROW}"/>')
    return _drawing("What was needed of what each bar allows", "".join(rows), len(bars))


def write_page(page: Path, results: list[dict[str, Any]]) -> None:
    """The part of the page between the two marks is made of the results; the rest is written by people."""
    fill(page, "".join(_sections(results)))


def fill(page: Path, text: str) -> None:
    """Put a text between the two marks of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


def _sections(results: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n![How much of each bar was needed](images/benchmarks/ratios.svg)\n"
    yield "\n| measured | against | ratio | bar | by user time | rows | load | met |\n"
    yield "|---|---|---:|---:|---:|---:|---:|---|\n"
    for result in results:
        yield from _table_lines(result)
    for result in results:
        name = result["benchmark"]
        yield f"\n### {name}\n\n{result['title']}.\n\n![{name}](images/benchmarks/{name}.svg)\n"
    yield "\n"


def _table_lines(result: dict[str, Any]) -> Iterator[str]:
    load = f"{result['load']['before']:.0f}"
    for bar in result["bars"]:
        clock = {"wall": "", "cpu": " (user time)", "memory_mb": " (memory)"}[bar["clock"]]
        yield (
            f"| {result['benchmark']}: {bar['job']}{clock} | {bar['against']} | {bar['ratio']:.2f} | "
            f"{bar['limit']:.2f} | {bar['cpu_ratio']:.2f} | {result['rows']:,} | {load} | {_met(bar)} |\n"
        )
    for claim in result["claims"]:
        yield (
            f"| {result['benchmark']}: {claim['job']} | {claim['fact']} | {claim['found']:g} | {claim['at_most']:g} | "
            f"| {result['rows']:,} | {load} | {_met(claim)} |\n"
        )


def _met(judged: dict[str, Any]) -> str:
    return "yes" if judged["met"] else "**no**"


def _judges_memory(result: dict[str, Any]) -> bool:
    return any(bar["clock"] == "memory_mb" for bar in result["bars"])


def _amount(job: dict[str, Any], clock: str) -> str:
    return f"{job[clock]['min']:,.0f} MB" if clock == "memory_mb" else f"{job[clock]['min']:.2f} s"


def _label(text: str, y: float) -> str:
    short = text if len(text) <= 42 else text[:41] + "…"
    return f'<text x="{_LABEL - 8}" y="{y + 12}" text-anchor="end">{escape(short)}</text>'


def _figure(text: str, x: float, y: float) -> str:
    return f'<text x="{x + 6:.1f}" y="{y + 12}">{escape(text)}</text>'


def _drawing(title: str, inside: str, rows: int) -> str:
    height = _TOP + rows * _ROW + 8
    short = title if len(title) <= 100 else title[:99] + "…"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<text class="title" x="8" y="24">{escape(short)}</text>{inside}</svg>\n'
    )


if __name__ == "__main__":
    main()

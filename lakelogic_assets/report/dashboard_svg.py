"""Small charts as inline SVG: drawn by the page's own stylesheet, told in words to those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape

from lakelogic_assets.report.dashboard_records import Day, Series
from lakelogic_assets.report.dashboard_text import count, day, percent

_WIDTH, _HEIGHT = 300, 72
_TOP, _BOTTOM = 5, 66
_FLOORS = (0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.92, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.0)
_SPARK_STEP, _SPARK_HEIGHT = 4, 20


def floor_of(groups: Sequence[Series]) -> float:
    """The lowest share that the charts of a page must show; one for all, so that they can be compared."""
    lowest = min((s for each in groups for one in each.days if (s := one.good_share) is not None), default=1.0)
    return next(floor for floor in _FLOORS if floor <= lowest)


def share_chart(series: Series, floor: float) -> str:
    """Good rows day by day; what is missing to 100 % is filled."""
    step = _WIDTH / len(series.days)
    dots = [
        (round((index + 0.5) * step, 1), _height(one.good_share, floor))
        for index, one in enumerate(series.days)
        if one.good_share is not None
    ]
    line = "M" + "L".join(f"{x} {y}" for x, y in dots) if dots else ""
    area = f"{line}L{dots[-1][0]} {_TOP}L{dots[0][0]} {_TOP}Z" if len(dots) > 1 else ""
    end = f'<circle cx="{dots[-1][0]}" cy="{dots[-1][1]}" r="2.5"/>' if dots else ""
    hovers = "".join(_hover(one, index * step, step) for index, one in enumerate(series.days))
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(_in_words(series))}">'
        f'<path class="grid" d="M0 {_TOP}H{_WIDTH}M0 {_BOTTOM}H{_WIDTH}"/>'
        f'<path class="lost" d="{area}"/><path class="line" d="{line}"/>{end}{hovers}</svg>'
    )


def _height(value: float, floor: float) -> float:
    return round(_TOP + (1 - value) / (1 - floor) * (_BOTTOM - _TOP), 1)


def _hover(one: Day, x: float, width: float) -> str:
    if one.good_share is None:
        return ""
    text = f"{day(one.day)}: {percent(one.good_share)} good, {count(one.quarantined)} quarantined"
    return f'<rect class="hover" x="{x:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}"><title>{text}</title></rect>'


def _in_words(series: Series) -> str:
    told = [one for one in series.days if one.good_share is not None]
    if not told:
        return f"{series.name}: no rows judged in this period"
    lowest = min(told, key=lambda one: one.good_share or 0.0)
    return (
        f"{series.name}: {percent(told[-1].good_share)} good rows on {day(told[-1].day)}, "
        f"lowest {percent(lowest.good_share)} on {day(lowest.day)}"
    )


def sparkline(daily: Sequence[float | None], first: date, what: str) -> str:
    """A bar a day, as high as the day's share against the highest of its own; a zero is a tick, no run is a gap."""
    told = [(index, value) for index, value in enumerate(daily) if value is not None]
    highest = max((value for _, value in told), default=0.0)
    ticks, bars = [], []
    for index, value in told:
        x = index * _SPARK_STEP + 2
        if value:
            bars.append(f"M{x} {_SPARK_HEIGHT}V{_SPARK_HEIGHT - max(2.0, value / highest * 18):.0f}")
        else:
            ticks.append(f"M{x} {_SPARK_HEIGHT}v-1")
    width = len(daily) * _SPARK_STEP
    words = _spark_words(told, first, what)
    return (
        f'<svg class="spark" width="{width}" height="{_SPARK_HEIGHT}" role="img" aria-label="{words}">'
        f'<title>{words}</title><path class="tick" d="{"".join(ticks)}"/><path class="bar" d="{"".join(bars)}"/></svg>'
    )


def _spark_words(told: Sequence[tuple[int, float]], first: date, what: str) -> str:
    if not told:
        return "no run in this period"
    at, highest = max(told, key=lambda point: point[1])
    peak = day(date.fromordinal(first.toordinal() + at))
    return f"{what}: highest {percent(highest)} on {peak}, latest {percent(told[-1][1])}"

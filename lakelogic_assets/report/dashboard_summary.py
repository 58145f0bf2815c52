"""From the run log to today's figures: pure, the clock is an argument."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.report.dashboard_records import (
    DAYS,
    OTHER_STEP,
    STEPS,
    WEEK,
    Day,
    Freshness,
    Product,
    ProductQuality,
    QualitySummary,
    Series,
    Setback,
    State,
    TimeCost,
    good_share_of,
)
from lakelogic_assets.report.dashboard_rules import dataset_rules, row_rules
from lakelogic_assets.report.dashboard_runs import (
    DATA_CLOCK,
    PUBLISHED,
    Attempt,
    attempt_of,
    latest_per_day,
    latest_per_window,
)

_WORST_FIRST = ("failed", "blocked", "held", "success", "unchanged", "no_new_data")


@dataclass(frozen=True, slots=True)
class _History:
    """The attempts of one product, in the three ways in which they are looked at."""

    attempts: list[Attempt]
    figures: list[Attempt]
    standing: list[Attempt]
    daily: list[Attempt]
    days: tuple[date, ...]

    @property
    def open(self) -> list[Attempt]:
        """Windows whose last word is a setback, the newest at the end."""
        recent = [each for each in self.standing if each.is_setback and each.ended.date() >= self.days[0]]
        return sorted(recent, key=lambda each: each.ended)


def summarise(runs: Iterable[Mapping[str, Any]], products: Sequence[Product], now: datetime) -> QualitySummary:
    """Today's state of every product and the last 30 days behind it.

    Rows are counted once per window, from its latest run that judged them; blocked and failed attempts stay in the
    history. Runs after `now` are left out, runs of contracts that are not declared are only named.
    """
    now = now.astimezone(UTC)
    days = tuple(now.date() - timedelta(days=back) for back in range(DAYS - 1, -1, -1))
    by_contract: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in sorted(map(attempt_of, runs), key=lambda each: each.ended):
        if attempt.ended <= now:
            by_contract[attempt.contract].append(attempt)
    ordered = sorted(products, key=lambda each: (each.domain, _layer_rank(each.layer), each.key))
    pairs = [(each, _history(by_contract.get(each.key, []), each, days)) for each in ordered]
    qualities = tuple(_quality(product, history, now) for product, history in pairs)
    rows = [rule for product, each in pairs for rule in row_rules(product, each.figures, each.daily, days)]
    whole = [rule for product, each in pairs for rule in dataset_rules(product, each.figures, each.daily, days)]
    setbacks = [item for product, each in pairs for item in _setbacks(product, each)]
    return QualitySummary(
        now=now,
        first_day=days[0],
        last_day=days[-1],
        products=qualities,
        layers=_series(qualities, "layer"),
        domains=_series(qualities, "domain"),
        row_rules=tuple(sorted(rows, key=lambda rule: (-rule.failed, -rule.failed_share, rule.name))),
        dataset_rules=tuple(sorted(whole, key=lambda rule: (rule.holds_now is not False, -rule.failed, rule.name))),
        setbacks=tuple(sorted(setbacks, key=lambda item: item.at, reverse=True)),
        undeclared=tuple(sorted(by_contract.keys() - {each.key for each in products})),
    )


def _layer_rank(layer: str) -> tuple[int, str]:
    known = names.LAYERS
    return (known.index(layer) if layer in known else len(known), layer)


def _history(attempts: list[Attempt], product: Product, days: tuple[date, ...]) -> _History:
    incremental = product.incremental
    judged = [each for each in attempts if each.is_judged]
    figures = latest_per_window(judged, incremental=incremental)
    recent = [each for each in figures if each.last >= days[0]]
    return _History(
        attempts=attempts,
        figures=recent or sorted(figures, key=lambda each: each.ended)[-1:],
        standing=latest_per_window(attempts, incremental=incremental),
        daily=latest_per_day((each for each in attempts if each.last >= days[0]), incremental=incremental),
        days=days,
    )


def _quality(product: Product, history: _History, now: datetime) -> ProductQuality:
    attempts, unresolved = history.attempts, history.open
    good = [each for each in attempts if each.status == PUBLISHED]
    newest = max((each for each in attempts if each.is_judged), key=lambda each: (each.last, each.ended), default=None)
    passed, judged = _checks(newest)
    days = _strip(history)
    by_rule: Counter[str] = Counter()
    for each in history.figures:
        if each.quarantined:
            by_rule.update({str(rule["name"]): int(rule.get("failed") or 0) for rule in each.row_rules})
    return ProductQuality(
        product=product,
        state=_state(attempts, unresolved),
        last_status=attempts[-1].status if attempts else None,
        last_run=attempts[-1].ended if attempts else None,
        last_good=good[-1].ended if good else None,
        good=sum(each.good for each in history.figures),
        quarantined=sum(each.quarantined for each in history.figures),
        checks_passed=passed,
        checks_judged=judged,
        trend=_trend(days),
        freshness=_freshness(good, product, now),
        open_windows=tuple(each.window.key for each in unresolved),
        reason=unresolved[-1].reason if unresolved else None,
        days=days,
        quarantine_by_rule=tuple((name, rows) for name, rows in by_rule.most_common() if rows),
        cost=_cost(each for each in attempts if each.ended.date() >= history.days[0]),
    )


def _state(attempts: Sequence[Attempt], unresolved: Sequence[Attempt]) -> State:
    if not attempts:
        return "never"
    worst = {each.status for each in unresolved}
    states: tuple[State, ...] = ("failed", "blocked", "held")
    return next((state for state in states if state in worst), "passing")


def _checks(newest: Attempt | None) -> tuple[int, int]:
    """Checks that held, and checks that could be judged, in the run of the newest data."""
    if newest is None:
        return 0, 0
    held = [not rule.get("failed") for rule in newest.row_rules if not rule.get("note")]
    held += [bool(rule["passed"]) for rule in newest.dataset_rules if rule.get("passed") is not None]
    return sum(held), len(held)


def _freshness(good: Sequence[Attempt], product: Product, now: datetime) -> Freshness:
    """By the rows' own clock where any run knows it: an empty day is then no news."""
    told = [each for each in good if each.data_clock == DATA_CLOCK]
    newest = max(told or good, key=lambda each: each.data_time, default=None)
    if newest is None:
        return Freshness(None, product.freshness_seconds)
    return Freshness((now - newest.data_time).total_seconds(), product.freshness_seconds, newest.data_clock)


def _strip(history: _History) -> tuple[Day, ...]:
    """Every day of the period; a window of several days colours all of them and is counted on its last."""
    shown: defaultdict[date, list[Attempt]] = defaultdict(list)
    for each in history.daily:
        for back in range(min((each.last - each.first).days, DAYS) + 1):
            shown[each.last - timedelta(days=back)].append(each)
    tried: Counter[date] = Counter(each.last for each in history.attempts)
    setbacks: Counter[date] = Counter(each.last for each in history.attempts if each.is_setback)
    return tuple(_day(day, shown.get(day, ()), tried[day], setbacks[day]) for day in history.days)


def _day(day: date, shown: Sequence[Attempt], attempts: int, setbacks: int) -> Day:
    statuses = {each.status for each in shown}
    counted = [each for each in shown if each.is_judged and each.last == day]
    return Day(
        day=day,
        status=next((status for status in _WORST_FIRST if status in statuses), None),
        good=sum(each.good for each in counted),
        quarantined=sum(each.quarantined for each in counted),
        attempts=attempts,
        setbacks=setbacks,
    )


def _trend(days: Sequence[Day]) -> float | None:
    """The last week's share of good rows less that of the week before."""
    now, then = good_share_of(days[-WEEK:]), good_share_of(days[-2 * WEEK : -WEEK])
    return now - then if now is not None and then is not None else None


def _cost(attempts: Iterable[Attempt]) -> TimeCost:
    steps = dict.fromkeys(STEPS, 0.0)
    runs, seconds = 0, 0.0
    for each in attempts:
        runs, seconds = runs + 1, seconds + each.seconds
        for step in STEPS:
            steps[step] += float(each.steps.get(step) or 0)
    return TimeCost(runs, seconds, {**steps, OTHER_STEP: max(0.0, seconds - sum(steps.values()))})


def _series(qualities: Sequence[ProductQuality], group: str) -> tuple[Series, ...]:
    groups: dict[str, list[ProductQuality]] = {}
    for each in qualities:
        groups.setdefault(getattr(each.product, group), []).append(each)
    key = _layer_rank if group == "layer" else str
    return tuple(
        Series(name, len(groups[name]), tuple(map(_together, zip(*(each.days for each in groups[name]), strict=True))))
        for name in sorted(groups, key=key)
    )


def _together(days: Sequence[Day]) -> Day:
    return Day(
        day=days[0].day,
        good=sum(each.good for each in days),
        quarantined=sum(each.quarantined for each in days),
        attempts=sum(each.attempts for each in days),
        setbacks=sum(each.setbacks for each in days),
    )


def _setbacks(product: Product, history: _History) -> list[Setback]:
    standing = {id(each) for each in history.standing}
    return [
        Setback(product, each.window.key, each.status, each.ended, each.reason, id(each) in standing)
        for each in history.attempts
        if each.is_setback and each.ended.date() >= history.days[0]
    ]

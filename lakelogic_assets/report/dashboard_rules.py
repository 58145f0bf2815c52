"""What each rule found over the period: the rows or tables that broke it, and on which days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from lakelogic_assets.report.dashboard_records import DatasetRuleQuality, Product, RowRuleQuality, share
from lakelogic_assets.report.dashboard_runs import Attempt, number

Rule = Mapping[str, Any]


def row_rules(
    product: Product, figures: Sequence[Attempt], daily: Sequence[Attempt], days: Sequence[date]
) -> list[RowRuleQuality]:
    """The rules of a product that any row broke."""
    failed, rows, latest = _totals((rule, each, _failed(rule), each.rows) for rule, each in _row_findings(figures))
    broken = {name for name, count in failed.items() if count}
    points = _daily((rule, each, _failed(rule), each.rows) for rule, each in _row_findings(daily, broken))
    return [
        RowRuleQuality(
            name=name,
            product=product,
            category=str(latest[name].get("category") or ""),
            severity=str(latest[name].get("severity") or ""),
            failed=failed[name],
            rows=rows[name],
            daily=tuple(points.get((name, day)) for day in days),
        )
        for name in broken
    ]


def dataset_rules(
    product: Product, figures: Sequence[Attempt], daily: Sequence[Attempt], days: Sequence[date]
) -> list[DatasetRuleQuality]:
    """The rules about whole tables that did not hold for some window."""
    failed, judged, latest = _totals((rule, each, _broken(rule), 1) for rule, each in _table_findings(figures))
    broken = {name for name, count in failed.items() if count}
    points = _daily((rule, each, _broken(rule), 1) for rule, each in _table_findings(daily) if _name(rule) in broken)
    return [
        DatasetRuleQuality(
            name=name,
            product=product,
            category=str(latest[name].get("category") or ""),
            severity=str(latest[name].get("severity") or ""),
            failed=failed[name],
            judged=judged[name],
            holds_now=latest[name].get("passed"),
            value=number(latest[name].get("value")),
            bounds=latest[name].get("bounds"),
            daily=tuple(points.get((name, day)) for day in days),
        )
        for name in broken
    ]


Finding = tuple[Rule, Attempt, int, int]


def _totals(findings: Iterable[Finding]) -> tuple[Counter[str], Counter[str], dict[str, Rule]]:
    """By rule: what failed, of how much, and the outcome in the newest window."""
    failed: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    newest: dict[str, tuple[tuple[Any, ...], Rule]] = {}
    for rule, attempt, part, total in findings:
        name, age = _name(rule), (attempt.last, attempt.ended)
        failed[name] += part
        whole[name] += total
        if name not in newest or age >= newest[name][0]:
            newest[name] = (age, rule)
    return failed, whole, {name: rule for name, (_, rule) in newest.items()}


def _daily(findings: Iterable[Finding]) -> dict[tuple[str, date], float]:
    failed: Counter[tuple[str, date]] = Counter()
    whole: Counter[tuple[str, date]] = Counter()
    for rule, attempt, part, total in findings:
        failed[_name(rule), attempt.last] += part
        whole[_name(rule), attempt.last] += total
    return {key: found for key in whole if (found := share(failed[key], whole[key])) is not None}


def _row_findings(attempts: Sequence[Attempt], among: set[str] | None = None) -> Iterator[tuple[Rule, Attempt]]:
    """What was evaluated; the schema's own findings are listed only where there are any, so silence is a zero."""
    judged = [each for each in attempts if each.is_judged]
    quiet = {_name(rule): {**rule, "failed": 0} for each in judged for rule in each.row_rules if _is_schema(rule)}
    for each in judged:
        silent = quiet.keys() - {_name(rule) for rule in each.row_rules} if quiet else ()
        for rule in (*each.row_rules, *(quiet[name] for name in silent)):
            if not rule.get("note") and (among is None or _name(rule) in among):
                yield rule, each


def _is_schema(rule: Rule) -> bool:
    return rule.get("category") == "schema"


def _table_findings(attempts: Sequence[Attempt]) -> Iterator[tuple[Rule, Attempt]]:
    for each in attempts:
        for rule in each.dataset_rules:
            if each.is_judged and rule.get("passed") is not None:
                yield rule, each


def _name(rule: Rule) -> str:
    return str(rule.get("name") or "")


def _failed(rule: Rule) -> int:
    return int(rule.get("failed") or 0)


def _broken(rule: Rule) -> int:
    return int(rule.get("passed") is False)

"""Rules of contracts as comparisons: what they ask for, and the ways to break them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lakelogic_assets.authoring.synthetic.comparisons import NOW, Comparison, Sign, Ways, demands, ways
from lakelogic_assets.authoring.synthetic.tracing import judges, traces_to_file
from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import AcceptedLength, Hint, RowRule, row_rules

NOWHERE = "nowhere"
"""Stands for a value that the table which a rule looks into does not have."""


def asked_by(rule: RowRule) -> tuple[Comparison, ...]:
    """What a rule asks of columns, as far as it is understood."""
    if isinstance(rule.test, str):
        return demands(rule.test) if rule.bounds is None else tuple(_bounds(rule))
    return tuple(_shorthand(rule))


def broken_by(rule: RowRule) -> Ways:
    """Conditions under each of which a rule fails."""
    if isinstance(rule.test, str) and rule.bounds is None:
        return ways(rule.test, holding=False)
    if isinstance(rule.test, forms.ReferentialIntegrity):
        return ((Comparison(rule.columns[0], "not in", (NOWHERE,)),),)
    if isinstance(rule.test, forms.LifecycleWindow):
        # Long ago is before any window, and before the life of whatever the event belongs to.
        field = rule.test.field if rule.test.window else rule.test.event_ts
        return ((Comparison(field, "<", (NOW,)),),) if field else ()
    return tuple((each.negated(),) for each in asked_by(rule))


def _shorthand(rule: RowRule) -> Iterator[Comparison]:
    name = rule.columns[0] if rule.columns else ""
    match rule.test:
        case forms.NotNull():
            yield Comparison(name, "not null")
        case forms.Range() | Hint(values=None):
            inclusive = rule.test.inclusive if isinstance(rule.test, forms.Range) else True
            signs: tuple[Sign, Sign] = (">=", "<=") if inclusive else (">", "<")
            for sign, bound in zip(signs, (rule.test.min, rule.test.max), strict=True):
                if bound is not None:
                    yield Comparison(name, sign, (_plain(bound),))
        case forms.AcceptedValues() | Hint():
            yield Comparison(name, "in", tuple(map(_plain, rule.test.values or ())))
        case forms.RegexMatch(pattern=pattern):
            yield Comparison(name, "regex", (str(pattern),))
        case AcceptedLength(max_length):
            yield Comparison(name, "<=", (Decimal(max_length),), of_length=True)
        case _:
            return


def _bounds(rule: RowRule) -> Iterator[Comparison]:
    """A number that must lie between bounds, where it is a column's own or its length."""
    bounds = rule.bounds
    subject = next(iter(demands(f"({rule.test}) = 0")), None)
    if bounds is None or subject is None or subject.other:
        return
    low, high = bounds.must_be_between or (None, None)
    pairs: tuple[tuple[Sign, float | None], ...] = (
        (">=", low), ("<=", high), ("<", bounds.must_be_less_than), (">", bounds.must_be_greater_than),
    )  # fmt: skip
    for sign, bound in pairs:
        if bound is not None:
            yield replace(subject, sign=sign, values=(_plain(bound),))


def _plain(value: Any) -> Any:
    """Numbers as they are compared; a flag is a word."""
    if isinstance(value, bool):
        return str(value).lower()
    return Decimal(str(value)) if isinstance(value, int | float) else value


def demands_on_file(registry: Registry, contract: Contract) -> tuple[Comparison, ...]:
    """What all rules that will judge a file's rows ask of its own columns; warnings count as well."""
    found: dict[Comparison, None] = {}
    for judge in judges(registry, contract):
        for rule in row_rules(judge):
            for asked in asked_by(rule):
                for each in _in_file(judge, contract, asked, rule):
                    found[each] = None
    return tuple(found)


def always_filled(registry: Registry, contract: Contract) -> Iterator[str]:
    """Columns of the file that a rule needs without asking whether they are there: NULL passes no comparison."""
    for judge in judges(registry, contract):
        for rule in row_rules(judge):
            if rule.null_passes or not isinstance(rule.test, str):
                continue
            held = ways(rule.test, holding=True)
            for name in rule.columns:
                if not any(all(each.column != name or each.sign == "null" for each in way) for way in held):
                    yield from (each.column for each in traces_to_file(judge, contract, name) if each.is_plain)


def _in_file(judge: Contract, contract: Contract, asked: Comparison, rule: RowRule) -> Iterator[Comparison]:
    traces = [each for each in traces_to_file(judge, contract, asked.column, rule.phase) if each.is_plain]
    if asked.other is None:
        # Of several columns of which the first that is filled counts, one being empty breaks nothing.
        if len(traces) == 1 or asked.sign != "not null":
            yield from (replace(asked, column=each.column) for each in traces)
        return
    others = [each for each in traces_to_file(judge, contract, asked.other, rule.phase) if each.is_plain]
    if len(traces) == len(others) == 1:
        yield replace(asked, column=traces[0].column, other=others[0].column)

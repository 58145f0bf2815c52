"""Ways to break a row that somebody downstream notices: taken from the rules that will judge it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from lakelogic_assets.authoring.synthetic.comparisons import UNKNOWN, Comparison, Sign, comparisons
from lakelogic_assets.authoring.synthetic.feeds import Feed
from lakelogic_assets.authoring.synthetic.hints import TIMES, is_number
from lakelogic_assets.authoring.synthetic.rows import Row
from lakelogic_assets.authoring.synthetic.strategies import Choice, ColumnPlan, Number, Serial
from lakelogic_assets.authoring.synthetic.tracing import Trace, judges, trace_to_file
from lakelogic_assets.authoring.synthetic.values import fitted
from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import AcceptedLength, Hint, RowRule, row_rules
from lakelogic_assets.contract.sql import expression_facts

How = Literal["missing", "out of range", "unknown value", "malformed", "too long", "unparsable", "duplicate row"]

_BAD_TEXTS: Final = ("not valid", "someone.example.com", "?", "-")
_BAD_NUMBERS: Final = ("n/a", "12,5 EUR", "many")
_BAD_DAYS: Final = ("2026-13-45", "not a date", "00.00.0000")
_SCHEMA: Final = "Type Mismatch"


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to break a row: a value of a column, or the whole row once more."""

    how: How
    column: str | None = None
    values: tuple[Any, ...] = ()
    noticed_by: str | None = None
    """The contract and the rule that will object; None for what is wrong without a rule."""

    def __str__(self) -> str:
        what = f"{self.column}: {self.how}" if self.column else self.how
        return f"{what} ({self.noticed_by})" if self.noticed_by else what

    def apply(self, row: Row, turn: int) -> Row:
        return {**row, self.column: self.values[turn % len(self.values)]} if self.column else row


@dataclass(frozen=True)
class Breaker:
    """All faults of one feed, and what a row must hold to be judged at all."""

    feed: Feed
    faults: tuple[Fault, ...]
    demands: tuple[Comparison, ...] = ()

    def broken(self, odd: Sequence[Row], sound: Sequence[Row], turn: int) -> tuple[list[Row], list[Fault]]:
        """Each odd row broken in one way; over the days every way has its turn."""
        rows: list[Row] = []
        used: list[Fault] = []
        for index, row in enumerate(odd):
            number = turn * len(odd) + index
            fault = self.faults[number % len(self.faults)] if self.faults else Fault("duplicate row")
            source = sound[number % len(sound)] if fault.column is None and sound else row
            admitted = source if fault.column is None else self._admitted(source)
            rows.append(fault.apply(admitted, number // max(len(self.faults), 1)))
            used.append(fault)
        return rows, used

    def _admitted(self, row: Row) -> Row:
        """The row as no filter downstream drops it: what is dropped silently is noticed by nobody."""
        changed = dict(row)
        for demand in self.demands:
            column = self.feed.by_name.get(demand.column)
            if column is None or demand.holds(changed[demand.column]):
                continue
            known = column.strategy.values if isinstance(column.strategy, Choice) else ()
            wanted = [*known, *(demand.values if demand.sign in ("=", "in") else ())]
            value = next((each for each in wanted if demand.holds(each)), changed[demand.column])
            changed[demand.column] = fitted(value, column.type)
        return changed


def plan_breaker(registry: Registry, feed: Feed, *, typed: bool) -> Breaker:
    """How rows of a feed can be broken; `typed` files cannot hold text where a number belongs."""
    contract = feed.contract
    protected = frozenset(_protected(registry, contract))
    found: list[Fault] = []
    for judge in judges(registry, contract):
        found += _of_rules(judge, feed, typed=typed)
        found += [] if typed else _of_types(judge, feed)
    if not found:
        found = list(_generic(feed, typed=typed))
    kept = [fault for fault in found if fault.column not in protected and fault.values]
    if feed.key:
        kept.append(Fault("duplicate row"))
    # Two rules may object to one value; it is broken once, in the name of the first.
    unique = {(fault.column, fault.how, fault.values): fault for fault in reversed(kept)}
    return Breaker(feed, tuple(reversed(unique.values())), tuple(_demands(registry, contract)))


def _of_rules(judge: Contract, feed: Feed, *, typed: bool) -> Iterator[Fault]:
    """A fault for every rule that quarantines and can be understood."""
    for rule in row_rules(judge):
        if rule.severity != "error":
            continue
        for fault in _of_rule(rule):
            traced = trace_to_file(judge, feed.contract, fault.column or "", rule.phase)
            column = feed.by_name.get(traced.column) if traced else None
            if traced and column and _reaches(fault.how, traced):
                values = tuple(_written(fault.values, column, typed=typed))
                yield Fault(fault.how, column.name, values, f"{judge.table}: {rule.name}")


def _reaches(how: How, traced: Trace) -> bool:
    """Whether the steps on the way leave the fault as it is."""
    if how == "missing":
        return not {"coalesce", "map_values"} & traced.steps
    return not {"map_values", "split", "explode"} & traced.steps


def _of_rule(rule: RowRule) -> Iterator[Fault]:
    """Faults in the columns of the judge."""
    name = rule.columns[0] if rule.columns else ""
    match rule.test:
        case forms.NotNull():
            yield Fault("missing", name, (None,))
        case forms.Range() | Hint(values=None):
            inclusive = rule.test.inclusive if isinstance(rule.test, forms.Range) else True
            yield from _outside(name, rule.test.min, rule.test.max, inclusive=inclusive)
        case forms.AcceptedValues() | Hint():
            yield Fault("unknown value", name, _unknown(rule.test.values or ()))
        case forms.ReferentialIntegrity():
            yield Fault("unknown value", name, (UNKNOWN,))
        case forms.RegexMatch(pattern=pattern):
            yield Fault("malformed", name, _mismatches(str(pattern)))
        case AcceptedLength(max_length):
            yield Fault("too long", name, ("x" * (max_length + 1),))
        case str() as sql if rule.bounds is None:
            for each in comparisons(sql):
                yield Fault(_how(each), each.column, each.breaking())


def _how(comparison: Comparison) -> How:
    if comparison.sign == "not null":
        return "missing"
    if comparison.sign == "like":
        return "malformed"
    return "out of range" if comparison.sign in (">", ">=", "<", "<=") else "unknown value"


def _outside(name: str, low: Any, high: Any, *, inclusive: bool) -> Iterator[Fault]:
    """Below the lower bound and above the upper one, where they are numbers."""
    signs: tuple[Sign, Sign] = (">=", "<=") if inclusive else (">", "<")
    for sign, bound in zip(signs, (low, high), strict=True):
        if isinstance(bound, int | float):
            yield Fault("out of range", name, Comparison(name, sign, (Decimal(str(bound)),)).breaking())


def _unknown(values: Sequence[Any]) -> tuple[Any, ...]:
    if all(isinstance(each, int | float) for each in values):
        return (max(values) + 1,)
    return tuple(each for each in (UNKNOWN, "?") if each not in values)


def _mismatches(pattern: str) -> tuple[str, ...]:
    try:
        compiled = re.compile(pattern)
    except re.error:
        return ()
    return tuple(text for text in _BAD_TEXTS if not compiled.search(text))


def _written(values: Sequence[Any], column: ColumnPlan, *, typed: bool) -> Iterator[Any]:
    """Breaking values in the column's own type; what does not fit stands as text where the file can hold it."""
    for value in values:
        try:
            yield fitted(value, column.type)
        except (ValueError, ArithmeticError):
            if not typed:
                yield value


def _of_types(judge: Contract, feed: Feed) -> Iterator[Fault]:
    """Text where a judge's type wants a number or a time, unless an early step would stumble over it."""
    for field in judge.model.fields:
        traced = trace_to_file(judge, feed.contract, field.name, "pre")
        if traced is None or traced.column not in feed.by_name or not _reaches("unparsable", traced):
            continue
        if _reads_text(judge) or _computed_early(judge, field.name):
            continue
        values = _BAD_NUMBERS if is_number(field.spark_type) else _BAD_DAYS if field.spark_type in TIMES else ()
        if values:
            yield Fault("unparsable", traced.column, values, f"{judge.table}: {_SCHEMA}")


def _reads_text(judge: Contract) -> bool:
    """A contract that stores text casts nothing."""
    return judge.server.cast_to_string or judge.server.mode == "ingest"


def _computed_early(judge: Contract, column: str) -> bool:
    """Whether a step before the schema check calculates with the column."""
    return any(step.effective_phase == "pre" and column in _inputs(step.operation) for step in judge.transformations)


def _inputs(operation: ops.Operation) -> frozenset[str]:
    match operation:
        case ops.DateDiff():
            return frozenset({operation.from_col, operation.to_col})
        case ops.Bucket() | ops.JsonExtract():
            return frozenset({operation.source})
        case ops.Derive():
            return expression_facts(operation.expression).columns
        case ops.Filter():
            return expression_facts(operation.sql).columns
        case ops.DateRangeExplode():
            return frozenset({operation.start_col, operation.end_col or ""})
        case _:
            return frozenset()


def _generic(feed: Feed, *, typed: bool) -> Iterator[Fault]:
    """What is wrong whoever looks: no key, a number beyond its bounds, a word nobody listed, text for a number."""
    for name in feed.key[:1]:
        yield Fault("missing", name, (None,))
    for column in feed.columns:
        strategy = column.strategy
        if isinstance(strategy, Number):
            yield Fault("out of range", column.name, (fitted(strategy.low - 1, column.type),))
            if not typed:
                yield Fault("unparsable", column.name, _BAD_NUMBERS)
        elif isinstance(strategy, Choice) and column.type == "STRING":
            yield Fault("unknown value", column.name, (UNKNOWN,))
        elif isinstance(strategy, Serial) and column.name != feed.key[0]:
            yield Fault("missing", column.name, (None,))


def _protected(registry: Registry, contract: Contract) -> Iterator[str]:
    """Columns that steer loading: a broken one would hide the row, or lead a run astray, instead of failing a rule."""
    for judge in judges(registry, contract):
        source, target = judge.source, judge.materialization
        named = [*target.partition_by, target.reprocess_date_column]
        if source is not None:
            named += [source.watermark_field, source.cdc_op_field, source.cdc_timestamp_field]
            named += source.partition_filters
        for step in judge.transformations:
            if isinstance(step.operation, ops.Filter):
                named += sorted(expression_facts(step.operation.sql).columns)
        for name in named:
            traced = trace_to_file(judge, contract, name) if name else None
            if traced:
                yield traced.column


def _demands(registry: Registry, contract: Contract) -> Iterator[Comparison]:
    """What filters ask for before a row reaches the rules."""
    for judge in judges(registry, contract):
        wanted: list[Comparison] = []
        for name, value in (judge.source.partition_filters if judge.source else {}).items():
            wanted.append(Comparison(name, "=", (value,)))
        for step in judge.transformations:
            if isinstance(step.operation, ops.Filter):
                wanted += comparisons(step.operation.sql)
        for each in wanted:
            traced = trace_to_file(judge, contract, each.column)
            if traced:
                yield Comparison(traced.column, each.sign, each.values)

"""Ways to break a row that somebody downstream notices: taken from the rules that will judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lakelogic_assets.authoring.synthetic.comparisons import UNKNOWN, Comparison, demands
from lakelogic_assets.authoring.synthetic.copies import STOPS_ALL, refuses_copies, why_unnoticed
from lakelogic_assets.authoring.synthetic.feeds import deduplicated_by
from lakelogic_assets.authoring.synthetic.hints import TIMES, is_number
from lakelogic_assets.authoring.synthetic.rules import NOWHERE, asked_by, broken_by
from lakelogic_assets.authoring.synthetic.tracing import Trace, judges, trace_to_file, traces_to_file
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import RowRule, dataset_rules, row_rules
from lakelogic_assets.contract.sql import expression_facts
from lakelogic_assets.plan.synthetic import (
    Change,
    Choice,
    ColumnPlan,
    Fault,
    Feed,
    Number,
    Operation,
    Reference,
    Serial,
    Stage,
    fitted,
)

_BAD_NUMBERS: Final = ("n/a", "12,5 EUR", "many")
_BAD_DAYS: Final = ("2026-13-45", "not a date", "00.00.0000")
_BAD_FLAGS: Final = ("perhaps", "2", "n/a")
_SCHEMA: Final = "Type Mismatch"
_HOURS_OF_A_DAY: Final = 24
_TIMELY: Final = frozenset({">", ">=", "<", "<="})


class _UnbreakableError(Exception):
    """Why no row of the file can break a rule."""


@dataclass(frozen=True)
class Breaker:
    """All faults of one feed, and what a row must hold to be judged at all."""

    faults: tuple[Fault, ...]
    admitted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Columns that filters look at → values that they let pass: what is dropped silently is noticed by nobody."""
    unbroken: Mapping[str, str] = field(default_factory=dict)
    """Rule → why no row breaks it."""


def plan_breaker(registry: Registry, feed: Feed, *, typed: bool) -> Breaker:
    """How rows of a feed can be broken; `typed` files cannot hold text where a number belongs."""
    contract = registry.contracts[feed.asset]
    protected = frozenset(_protected(registry, contract))
    found: list[Fault] = []
    held: list[Fault] = []
    unbroken: dict[str, str] = {}
    doubled: list[str] = []
    for judge in judges(registry, contract):
        planner = _Planner(judge, contract, feed, protected, frozenset((fault.column, fault.how) for fault in held))
        holding: list[Fault] = [] if typed else list(planner.of_types())
        for rule in row_rules(judge):
            name = f"{judge.table}: {rule.name}"
            try:
                made = planner.of_rule(rule, name)
            except _UnbreakableError as reason:
                unbroken[name] = str(reason)
                continue
            found += made
            holding += made if rule.severity == "error" else []
        found += [fault for fault in holding if fault not in found]
        held += holding if judge.key == contract.key else []
        for each in dataset_rules(judge):
            name = f"{judge.table}: {each.name}"
            why = why_unnoticed(judge, contract, feed, each)
            if why is None:
                doubled.append(name)
            else:
                unbroken[name] = why
    if not found:
        found = [each for each in _generic(feed, typed=typed) if each.column not in protected]
    if any(refuses_copies(judge, contract) for judge in judges(registry, contract)):
        unbroken |= dict.fromkeys(doubled, STOPS_ALL)
    elif feed.key and STOPS_ALL not in unbroken.values():
        found.append(Fault("duplicate row", noticed_by=tuple(doubled)))
    return Breaker(_merged(found), dict(_admitted(registry, contract, feed)), unbroken)


def _merged(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Two rules may object to one value; it is broken once, in the name of both."""
    unique: dict[tuple[str, tuple[Change, ...]], Fault] = {}
    for fault in faults:
        known = unique.get((fault.how, fault.changes))
        names = dict.fromkeys((*(known.noticed_by if known else ()), *fault.noticed_by))
        unique[fault.how, fault.changes] = replace(fault, noticed_by=tuple(names))
    return tuple(unique.values())


class _Planner:
    """Turns what breaks a judge's rules into changes of the file's columns."""

    def __init__(
        self,
        judge: Contract,
        contract: Contract,
        feed: Feed,
        protected: frozenset[str],
        held_before: frozenset[tuple[str | None, str]],
    ) -> None:
        """`held_before` are columns and what is wrong with them where the contract itself lets no row through."""
        self._judge = judge
        self._contract = contract
        self._columns = feed.by_name
        self._protected = protected
        self._held_before = held_before
        named = (trace_to_file(judge, contract, column) for column in deduplicated_by(judge))
        self._told_apart = frozenset(each.column for each in named if each is not None)

    def of_rule(self, rule: RowRule, name: str) -> list[Fault]:
        """A fault for every way to break the rule; raises where there is none."""
        faults: list[Fault] = []
        reasons: dict[str, None] = {}
        for way in broken_by(rule):
            try:
                faults.append(self._fault(way, rule, name))
            except _UnbreakableError as reason:
                reasons[str(reason)] = None
        if not faults:
            raise _UnbreakableError("; ".join(reasons) or "what it says is not understood")
        return faults

    def _fault(self, way: Sequence[Comparison], rule: RowRule, name: str) -> Fault:
        changes: dict[str, Change] = {}
        how = ""
        for comparison in way:
            if comparison.sign == "not null":
                continue  # rows hold something unless they are told not to
            for change in self._changes(comparison, rule):
                if change.column in changes:
                    raise _UnbreakableError(f"it asks for several things of `{change.column}` at once")
                changes[change.column] = change
            how = how if self._is_known(comparison, changes) and how else _how(comparison)
        if not changes:
            raise _UnbreakableError("nothing has to change for it")
        # First what is wrong, then what only makes the rule apply.
        ordered = sorted(changes.values(), key=lambda each: self._is_listed(each))
        told_apart = any(change.column in self._told_apart for change in ordered)
        most = max(len(ordered[0].values), 1) if told_apart else None
        fault = Fault(how, tuple(ordered), (name,), most)
        if (fault.column, fault.how) in self._held_before:
            raise _UnbreakableError(f"{self._contract.table} holds such rows back")
        return fault

    def _is_known(self, comparison: Comparison, changes: Mapping[str, Change]) -> bool:
        return any(self._is_listed(each) for each in changes.values() if each.column == comparison.column)

    def _is_listed(self, change: Change) -> bool:
        return change.beyond is None and set(change.values) <= set(_listed(self._columns[change.column]))

    def _changes(self, comparison: Comparison, rule: RowRule) -> Iterator[Change]:
        columns = self._file_columns(comparison.column, rule, comparison)
        if comparison.other is not None:
            (other, *_) = self._file_columns(comparison.other, rule, comparison)
            step = {">": 1, "<": -1, "<>": 1}.get(comparison.sign, 0)
            # A moment moves by hours, and a day that is taken from it has to become another day.
            hours = _HOURS_OF_A_DAY if columns[0].type == "DATE" and other.type != "DATE" else 1
            yield Change(columns[0].name, beyond=other.name, step=step * hours)
            return
        # Of several columns the first that is filled counts; only all of them empty are empty.
        for column in columns if comparison.sign == "null" else columns[:1]:
            yield Change(column.name, self._values(comparison, column, rule))

    def _values(self, comparison: Comparison, column: ColumnPlan, rule: RowRule) -> tuple[Any, ...]:
        listed = tuple(value for value in _listed(column) if comparison.holds(value))
        if listed and NOWHERE not in comparison.values and comparison.sign in ("<>", "not in"):
            return listed
        if column.name in self._protected:
            raise _UnbreakableError(f"`{column.name}` steers which rows are read")
        field_ = self._judge.model.by_name.get(comparison.column)
        if NOWHERE in comparison.values:
            found: tuple[Any, ...] = (-987654,) if field_ and is_number(field_.spark_type) else (UNKNOWN,)
        else:
            found = comparison.passing()
        kept = tuple(_held(found, column, field_.spark_type if field_ else "STRING"))
        if not kept:
            raise _UnbreakableError(f"no value of `{column.name}` that its type can hold is known to break it")
        if None in kept and rule.null_passes:
            raise _UnbreakableError("it lets empty values pass")
        if rule.severity != "error":
            kept = tuple(value for value in kept if self._is_let_pass(value, comparison.column))
            if not kept:
                raise _UnbreakableError("an error would hold such rows back")
        return kept

    def _is_let_pass(self, value: Any, column: str) -> bool:
        """Whether no rule that holds rows back is known to object to the value as well."""
        rules = [rule for rule in row_rules(self._judge) if rule.severity == "error" and column in rule.columns]
        if value is None:
            return all(rule.null_passes for rule in rules)
        asked = [each for rule in rules for each in asked_by(rule) if each.column == column and each.other is None]
        return all(each.holds(value) for each in asked)

    def _file_columns(self, name: str, rule: RowRule, comparison: Comparison) -> list[ColumnPlan]:
        traces = traces_to_file(self._judge, self._contract, name, rule.phase)
        found = [(each, self._columns[each.column]) for each in traces if each.column in self._columns]
        if not found:
            raise _UnbreakableError(f"`{name}` is not in the file: a step or the engine makes it")
        for trace, _ in found:
            if not _reaches(comparison, trace):
                raise _UnbreakableError(f"a step rewrites `{name}` before the rule sees it")
        return [column for _, column in found]

    def of_types(self) -> Iterator[Fault]:
        """Text where a judge's type wants a number or a time, unless an early step would stumble over it."""
        judge = self._judge
        if judge.server.cast_to_string or judge.server.mode == "ingest":
            return  # a contract that stores text casts nothing
        for field_ in judge.model.fields:
            traced = trace_to_file(judge, self._contract, field_.name, "pre")
            if traced is None or traced.column not in self._columns or traced.column in self._protected:
                continue
            if {"map_values", "split", "explode"} & traced.steps or _computed_early(judge, field_.name):
                continue
            values = _unreadable(field_.spark_type)
            if values and (traced.column, "unparsable") not in self._held_before:
                most = len(values) if traced.column in self._told_apart else None
                yield Fault("unparsable", (Change(traced.column, values),), (f"{judge.table}: {_SCHEMA}",), most)


def _unreadable(spark_type: str) -> tuple[str, ...]:
    """Texts that are no value of a type."""
    if spark_type == "BOOLEAN":
        return _BAD_FLAGS
    return _BAD_NUMBERS if is_number(spark_type) else _BAD_DAYS if spark_type in TIMES else ()


def _how(comparison: Comparison) -> str:
    """What is wrong with a value for which the comparison holds."""
    if comparison.sign == "null":
        return "missing"
    if comparison.of_length:
        return "too long" if comparison.sign in (">", ">=") else "too short"
    if comparison.sign in ("not like", "not regex"):
        return "malformed"
    return "out of range" if comparison.sign in _TIMELY else "unknown value"


def _reaches(comparison: Comparison, traced: Trace) -> bool:
    """Whether the steps on the way leave the fault as it is."""
    if comparison.sign == "null":
        return not {"coalesce", "map_values"} & traced.steps
    return not {"map_values", "split", "explode"} & traced.steps


def _listed(column: ColumnPlan) -> tuple[Any, ...]:
    match column.strategy:
        case Choice(values) | Stage(values) | Reference(otherwise=Choice(values)):
            return tuple(dict.fromkeys(values))
        case Operation(script):
            return tuple(dict.fromkeys(script))
        case _:
            return ()


def _held(values: Sequence[Any], column: ColumnPlan, reads_as: str) -> Iterator[Any]:
    """The values that the judge can read as its type, in the file's own type where that is kept."""
    for value in values:
        try:
            fitted(value, reads_as)
            yield fitted(value, column.type)
        except (ValueError, ArithmeticError):
            continue


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
        yield Fault("missing", (Change(name, (None,)),))
    for column in feed.columns:
        strategy = column.strategy
        if isinstance(strategy, Number):
            yield Fault("out of range", (Change(column.name, (strategy.low - 1,)),))
            if not typed:
                yield Fault("unparsable", (Change(column.name, _BAD_NUMBERS),))
        elif isinstance(strategy, Choice) and column.type == "STRING":
            yield Fault("unknown value", (Change(column.name, (UNKNOWN,)),))
        elif isinstance(strategy, Serial) and column.name not in feed.key[:1]:
            yield Fault("missing", (Change(column.name, (None,)),))


def _protected(registry: Registry, contract: Contract) -> Iterator[str]:
    """Columns that steer loading: a broken one would hide the row, or lead a run astray, instead of failing a rule."""
    for judge in judges(registry, contract):
        source, target = judge.source, judge.materialization
        named = [*target.partition_by, target.reprocess_date_column]
        if source is not None:
            named += [source.watermark_field, source.cdc_timestamp_field]
            named += source.partition_filters
        for step in judge.transformations:
            if isinstance(step.operation, ops.Filter):
                named += sorted(expression_facts(step.operation.sql).columns)
        for name in named:
            traced = trace_to_file(judge, contract, name) if name else None
            if traced:
                yield traced.column


def _admitted(registry: Registry, contract: Contract, feed: Feed) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What filters let pass before a row reaches the rules."""
    for judge in judges(registry, contract):
        wanted: list[Comparison] = []
        for name, value in (judge.source.partition_filters if judge.source else {}).items():
            wanted.append(Comparison(name, "=", (value,)))
        for step in judge.transformations:
            if isinstance(step.operation, ops.Filter):
                wanted += demands(step.operation.sql)
        for each in wanted:
            traced = trace_to_file(judge, contract, each.column)
            column = feed.by_name.get(traced.column) if traced else None
            passing = [*_listed(column), *(each.values if each.sign in ("=", "in") else ())] if column else []
            kept = tuple(dict.fromkeys(value for value in passing if each.holds(value)))
            if column and kept:
                yield column.name, kept

"""How the rows of one contract come and go over days, and what each of their columns holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

from lakelogic_assets import names
from lakelogic_assets.authoring.documents import document_lines, is_document
from lakelogic_assets.authoring.synthetic.comparisons import Comparison
from lakelogic_assets.authoring.synthetic.descriptions import days_late, empty_share
from lakelogic_assets.authoring.synthetic.hints import (
    IDENTIFIER,
    INTEGERS,
    STAMPED,
    Hints,
    hints_of,
    is_time,
    serial_pattern,
    strategy_for,
)
from lakelogic_assets.authoring.synthetic.regexes import places
from lakelogic_assets.authoring.synthetic.rules import demands_on_file
from lakelogic_assets.authoring.synthetic.tracing import judges, origin, trace, trace_to_file
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.synthetic import (
    CODES,
    Choice,
    ColumnPlan,
    Feed,
    Kind,
    Number,
    OnDay,
    Operation,
    Order,
    Ordinal,
    Pattern,
    Pooled,
    Reference,
    Serial,
    Strategy,
)

MOST_LINES: Final = 20
"""A whole number of a key that may grow beyond this counts things, not the lines of a parent."""
_INSERTS: Final = frozenset({"I", "INSERT", "C", "CREATE", "CREATED", "A", "ADD"})
_DELETES: Final = frozenset({"D", "DELETE", "DELETED", "REMOVE"})
_OPERATION = re.compile(r"\A_?(op|operation|op_type|change_type|cdc_op)\Z", re.I)
_OF_A_LINE = re.compile(r"product|article|item|sku|line", re.I)
_KEY_IN_FOLDER = re.compile(r"(?:\A|/)([^/=%]+)=")


@dataclass(frozen=True)
class _Field:
    """A field as it stands in the file, with all that is known about it."""

    definition: FieldDefinition
    hints: Hints


def plan_feeds(registry: Registry, contracts: Sequence[Contract]) -> dict[tuple[str, ...], Feed]:
    """A feed for every contract; a reference leads to another of them, or falls back on made-up ids."""
    feeds = {contract.key: plan_feed(registry, contract) for contract in contracts}
    return {
        key: replace(feed, columns=tuple(_with_reference(column, feed, feeds) for column in feed.columns))
        for key, feed in feeds.items()
    }


def plan_feed(registry: Registry, contract: Contract) -> Feed:
    """What the files of one contract hold, its references not yet checked against other feeds."""
    asked = demands_on_file(registry, contract)
    fields = dict(_file_fields(registry, contract, asked))
    operation = _operation(registry, contract, fields)
    key = _key(registry, contract, fields)
    kind = _kind(operation, fields)
    strategies = {name: strategy_for(field.hints, kind) for name, field in fields.items()}
    strategies |= dict(_references(registry, contract, fields, strategies))
    strategies |= _key_strategies(key, fields, strategies, has_days=kind != "entities")
    if operation is not None:
        strategies[operation[0]] = operation[1]
    has_lines = any(isinstance(each, Ordinal) for each in strategies.values())
    late = max((days_late(field.hints.description) for field in fields.values()), default=0)
    columns = [
        replace(
            _column(field, strategies[name], kind, is_key=name in key),
            of_parent=has_lines and _is_of_parent(name, strategies[name]),
        )
        for name, field in fields.items()
    ]
    ranked = tuple(_ranked(columns))
    orders = tuple(_orders(asked, {column.name: column for column in ranked}))
    return Feed(contract.key, kind, key, ranked, late if kind == "events" else 0, orders)


def _file_fields(registry: Registry, contract: Contract, asked: Sequence[Comparison]) -> Iterator[tuple[str, _Field]]:
    """The fields that a file brings: not what the engine or a step makes, nor what its folders say."""
    partition = contract.source.partition if contract.source else None
    in_folders = set(_KEY_IN_FOLDER.findall(partition.format)) if partition else set[str]()
    seen: set[str] = set()
    inside = {line.field: line.inside for line in document_lines(contract)} if is_document(contract) else None
    for field in contract.model.fields:
        if field.generated or field.name.startswith(names.ENGINE_PREFIX):
            continue
        if field.extraction_task if inside is None else field.name not in inside:
            continue
        found = trace(contract, field.name)
        if found is None or found.column in seen or found.column in in_folders:
            continue
        seen.add(found.column)
        others = _read_as(registry, contract, found.column)
        hints = hints_of(found.column, field, others)
        mine = tuple(each for each in asked if each.column == found.column)
        if inside is not None:
            # Found in a text, whatever type it is given later.
            hints = replace(hints, type="STRING")
            mine = (*mine, Comparison(found.column, "regex", (f"^(?:{inside[field.name]})$",)))
        yield found.column, _Field(field, replace(hints, demands=mine))


def _read_as(registry: Registry, contract: Contract, column: str) -> Iterator[FieldDefinition]:
    """The fields that a file's column becomes, unchanged in meaning, in the contracts that read the table."""
    for judge in judges(registry, contract):
        for field in judge.model.fields if judge.key != contract.key else ():
            found = trace_to_file(judge, contract, field.name)
            if found and found.column == column and found.is_plain:
                yield field


def _operation(registry: Registry, contract: Contract, fields: Mapping[str, _Field]) -> tuple[str, Operation] | None:
    """The column that says what kind of change a row is."""
    for judge in judges(registry, contract):
        source = judge.source
        found = trace_to_file(judge, contract, source.cdc_op_field) if source and source.cdc_op_field else None
        if source and found and found.column in fields:
            deletes = frozenset(str(each) for each in source.cdc_delete_values)
            return found.column, _script(fields[found.column].hints.values, deletes)
    name = next((name for name in fields if _OPERATION.match(name)), None)
    values = fields[name].hints.values if name else ()
    if name is None or not any(str(value).upper() in _DELETES for value in values):
        return None
    return name, _script(values, frozenset())


def _script(values: Sequence[Any], deletes: frozenset[str]) -> Operation:
    """Accepted values as one life of a key: inserts, then updates, then deletes, each as often as it is listed."""
    script = tuple(values) or ("I", "U", "U", next(iter(sorted(deletes)), "D"))
    ends = deletes or frozenset(str(each) for each in script if str(each).upper() in _DELETES)

    def place(value: Any) -> int:
        return 2 if str(value) in ends else 0 if str(value).upper() in _INSERTS else 1

    return Operation(tuple(sorted(script, key=place)), ends)


def _key(registry: Registry, contract: Contract, fields: Mapping[str, _Field]) -> tuple[str, ...]:
    """The columns that tell rows apart on one day; times and what the file does not hold are left out."""
    for judge in judges(registry, contract):
        for said in (judge.natural_key, judge.merge_key, _deduplicated_by(judge), judge.model.grain_key):
            traced = [trace_to_file(judge, contract, name) for name in said]
            found = [each.column for each in traced if each and each.column in fields]
            key = tuple(name for name in dict.fromkeys(found) if not is_time(fields[name].hints))
            if key:
                return key
    guess = (name for name, field in fields.items() if IDENTIFIER.search(name) and not field.definition.foreign_key)
    return tuple(name for name in [next(guess, None)] if name)


def _deduplicated_by(contract: Contract) -> tuple[str, ...]:
    for step in contract.transformations:
        if isinstance(step.operation, ops.Deduplicate):
            return step.operation.on
        if isinstance(step.operation, ops.DeduplicateByLatest):
            return step.operation.key_columns
    return ()


def _kind(operation: object, fields: Mapping[str, _Field]) -> Kind:
    if operation is not None:
        return "changes"
    if any(STAMPED.search(name) and is_time(field.hints) for name, field in fields.items()):
        return "entities"
    is_event = any(
        isinstance(strategy_for(field.hints, "events"), OnDay) for field in fields.values() if is_time(field.hints)
    )
    return "events" if is_event else "entities"


def _references(
    registry: Registry, contract: Contract, fields: Mapping[str, _Field], strategies: Mapping[str, Strategy]
) -> Iterator[tuple[str, Strategy]]:
    for name, field in fields.items():
        hint = field.definition.foreign_key
        found = origin(registry, hint.contract, hint.column, contract) if hint else None
        if found:
            target, column = found
            yield name, Reference(target.key, column, strategies[name])


def _key_strategies(
    key: Sequence[str], fields: Mapping[str, _Field], strategies: Mapping[str, Strategy], *, has_days: bool
) -> dict[str, Strategy]:
    """One column of the key counts; a small number beside it is the position within."""
    free = [name for name in key if not _is_given(strategies[name], fields[name].hints)]
    lines = [name for name in free if has_days and _is_position(strategies[name], fields[name].hints)]
    counting = [name for name in free if name not in lines]
    if not counting:
        return {}
    made: dict[str, Strategy] = {counting[0]: _serial(fields[counting[0]].hints, strategies[counting[0]])}
    for name in lines[:1]:
        strategy = strategies[name]
        if isinstance(strategy, Number):
            made[name] = Ordinal(int(strategy.low), int(strategy.high))
    return made


def _is_given(strategy: Strategy, hints: Hints) -> bool:
    """Whether the values are somebody's already, so that counting would make up others."""
    if isinstance(strategy, Choice) and not hints.values and hints.regexes:
        return False  # texts that match an expression, of which there are more
    if isinstance(strategy, Pooled):
        return strategy.pool in CODES
    return isinstance(strategy, Choice | Reference)


def _is_position(strategy: Strategy, hints: Hints) -> bool:
    return isinstance(strategy, Number) and hints.reads_as in INTEGERS and strategy.high - strategy.low < MOST_LINES


def _serial(hints: Hints, strategy: Strategy) -> Serial:
    if hints.reads_as in INTEGERS:
        return Serial(None, 10 ** INTEGERS[hints.reads_as])
    if isinstance(strategy, Choice) and (letters := places(hints.regexes)):
        return Serial(None, prod(map(len, letters)), letters)
    pattern = strategy.text if isinstance(strategy, Pattern) else serial_pattern(hints.name)
    return Serial(pattern, 10 ** pattern.count("#"))


def _is_of_parent(name: str, strategy: Strategy) -> bool:
    """Of a receipt with several lines: who, where and when are the receipt's, what and how much the line's."""
    return not isinstance(strategy, Number | Ordinal) and not _OF_A_LINE.search(name)


def _orders(asked: Sequence[Comparison], columns: Mapping[str, ColumnPlan]) -> Iterator[Order]:
    """Columns of which rules say that one is not above the other, unless moments are in that order anyway."""
    for each in asked:
        if each.other is None or each.column not in columns or each.other not in columns:
            continue
        low, high = (each.column, each.other) if each.sign in ("<", "<=") else (each.other, each.column)
        if each.sign in ("<", "<=", ">", ">=") and not _follow(columns[low].strategy, columns[high].strategy):
            yield Order(low, high, strict=each.sign in ("<", ">"))


def _follow(low: Strategy, high: Strategy) -> bool:
    both = isinstance(low, OnDay) and isinstance(high, OnDay) and low.moment and high.moment
    return both and low.anchor == high.anchor and low.rank < high.rank  # type: ignore[union-attr]


def _column(field: _Field, strategy: Strategy, kind: Kind, *, is_key: bool) -> ColumnPlan:
    hints = field.hints
    is_bound = is_key or field.definition.required or hints.is_required or isinstance(strategy, Operation)
    return ColumnPlan(
        name=hints.name,
        type=hints.type,
        strategy=strategy,
        empty=0.0 if is_bound else empty_share(hints.description),
        changes=kind != "events" and _may_change(strategy, hints),
        max_length=hints.max_length,
    )


def _may_change(strategy: Strategy, hints: Hints) -> bool:
    """What a customer, a product or a claim can change without becoming another one."""
    if isinstance(strategy, Number):
        return strategy.scale > 0
    if isinstance(strategy, Choice):
        return hints.reads_as not in INTEGERS
    return isinstance(strategy, Pooled) and strategy.pool in ("city", "street", "phone", "sentence")


def _ranked(columns: Sequence[ColumnPlan]) -> Iterator[ColumnPlan]:
    """Moments of one row in the order of its columns: asked for, begun, done."""
    rank = 0
    for column in columns:
        strategy = column.strategy
        if isinstance(strategy, OnDay) and strategy.moment:
            yield replace(column, strategy=replace(strategy, rank=rank))
            rank += 1
        else:
            yield column


def _with_reference(column: ColumnPlan, feed: Feed, feeds: Mapping[tuple[str, ...], Feed]) -> ColumnPlan:
    """The column with its reference led to where the values are made; a circle or a dead end is given up."""
    strategy = column.strategy
    if not isinstance(strategy, Reference):
        return column
    seen = {(feed.asset, column.name)}
    target: Strategy = strategy
    while isinstance(target, Reference):
        place = (target.contract, target.column)
        there = feeds.get(target.contract)
        if place in seen or there is None or target.column not in there.by_name:
            return replace(column, strategy=strategy.otherwise)
        seen.add(place)
        strategy = replace(target, otherwise=strategy.otherwise)
        target = there.by_name[target.column].strategy
    return replace(column, strategy=strategy)

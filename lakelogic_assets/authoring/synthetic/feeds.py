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
from lakelogic_assets.authoring.synthetic.history import kept_in_history
from lakelogic_assets.authoring.synthetic.regexes import places
from lakelogic_assets.authoring.synthetic.relating import Draft, related
from lakelogic_assets.authoring.synthetic.rules import always_filled, demands_on_file
from lakelogic_assets.authoring.synthetic.stages import staged
from lakelogic_assets.authoring.synthetic.tracing import judges, origin, trace, trace_to_file
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.quality import Unique
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import dataset_rules
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


@dataclass(frozen=True)
class _Key:
    """The columns that tell rows apart on one day."""

    columns: tuple[str, ...]
    is_whole: bool = True
    """Whether they do so on all days."""
    is_guess: bool = False


def plan_feeds(registry: Registry, contracts: Sequence[Contract]) -> dict[tuple[str, ...], Feed]:
    """A feed for every contract; a reference leads to another of them, or falls back on made-up ids."""
    history = kept_in_history(registry)
    drafts = [_draft(registry, contract, history.get(contract.key)) for contract in contracts]
    feeds = {draft.feed.asset: draft.feed for draft in staged(related(drafts))}
    return {
        key: replace(feed, columns=tuple(_with_reference(column, feed, feeds) for column in feed.columns))
        for key, feed in feeds.items()
    }


def _draft(registry: Registry, contract: Contract, tracked: frozenset[str] | None) -> Draft:
    """What the files of one contract hold; `tracked` are the columns whose versions are kept, if any are."""
    asked = demands_on_file(registry, contract)
    fields = dict(_file_fields(registry, contract, asked))
    operation = _operation(registry, contract, fields)
    found = _key(registry, contract, fields)
    key = found.columns
    kind = _kind(contract, operation, fields, has_history=tracked is not None)
    strategies = {name: strategy_for(field.hints, kind) for name, field in fields.items()}
    strategies |= dict(_references(registry, contract, fields, strategies))
    strategies |= _key_strategies(key, fields, strategies, has_days=kind != "entities")
    if operation is not None:
        strategies[operation[0]] = operation[1]
    filled = frozenset((*key, *always_filled(registry, contract)))
    has_lines = any(isinstance(each, Ordinal) for each in strategies.values())
    late = max((days_late(field.hints.description) for field in fields.values()), default=0)
    tracked_columns = (tracked or frozenset()) - {*key}
    columns = [
        replace(
            _column(field, strategies[name], kind, is_filled=name in filled, is_tracked=name in tracked_columns),
            of_parent=has_lines and _is_of_parent(name, strategies[name]),
        )
        for name, field in fields.items()
    ]
    ranked = tuple(_ranked(columns))
    orders = tuple(_orders(asked, {column.name: column for column in ranked}))
    recurring = kind == "entities" and tracked is not None
    feed = Feed(contract.key, kind, key, ranked, late if kind == "events" else 0, orders, recurring)
    hints = {name: field.hints for name, field in fields.items()}
    owned = key[0] if found.is_whole and len(key) == 1 else None
    return Draft(contract, feed, hints, frozenset(_unique(registry, contract)), owned, found.is_guess)


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


def _unique(registry: Registry, contract: Contract) -> Iterator[str]:
    """The columns of the file that a rule wants to be unique, each alone."""
    for judge in judges(registry, contract):
        for rule in dataset_rules(judge):
            found = trace_to_file(judge, contract, rule.columns[0]) if len(rule.columns) == 1 else None
            if found is not None and isinstance(rule.test, Unique):
                yield found.column


def _key(registry: Registry, contract: Contract, fields: Mapping[str, _Field]) -> _Key:
    """What tells rows apart; times and what the file does not hold are left out."""
    for judge in judges(registry, contract):
        for said in (judge.natural_key, judge.merge_key, deduplicated_by(judge), judge.model.grain_key):
            traced = [trace_to_file(judge, contract, name) for name in said]
            found = [each.column for each in traced if each and each.column in fields]
            key = tuple(name for name in dict.fromkeys(found) if not is_time(fields[name].hints))
            if key:
                return _Key(key, is_whole=len(key) == len(said))
    guess = (name for name, field in fields.items() if IDENTIFIER.search(name) and not field.definition.foreign_key)
    return _Key(tuple(name for name in [next(guess, None)] if name), is_guess=True)


def deduplicated_by(contract: Contract) -> tuple[str, ...]:
    """The columns by which a step of the contract tells rows apart."""
    for step in contract.transformations:
        if isinstance(step.operation, ops.Deduplicate):
            return step.operation.on
        if isinstance(step.operation, ops.DeduplicateByLatest):
            return step.operation.key_columns
    return ()


def _kind(contract: Contract, operation: object, fields: Mapping[str, _Field], *, has_history: bool) -> Kind:
    if operation is not None:
        return "changes"
    if has_history or _is_reloaded(contract):
        return "entities"
    if any(STAMPED.search(name) and is_time(field.hints) for name, field in fields.items()):
        return "entities"
    is_event = any(
        isinstance(strategy_for(field.hints, "events"), OnDay) for field in fields.values() if is_time(field.hints)
    )
    return "events" if is_event else "entities"


def _is_reloaded(contract: Contract) -> bool:
    """Whether the contract says that all of its files are read each time, and none of them is a day's."""
    source = contract.source
    if source is None or source.partition is not None:
        return False
    return "load_mode" in source.model_fields_set and source.load_mode == "full"


def _references(
    registry: Registry, contract: Contract, fields: Mapping[str, _Field], strategies: Mapping[str, Strategy]
) -> Iterator[tuple[str, Strategy]]:
    """Foreign keys that the contract or one that reads its table declares; the nearest to the file counts."""
    seen: set[str] = set()
    for judge in judges(registry, contract):
        for field in judge.model.fields:
            hint = field.foreign_key
            found = origin(registry, hint.contract, hint.column, judge) if hint else None
            name = _in_file(judge, contract, field.name, fields) if found else None
            if found and name is not None and name not in seen:
                seen.add(name)
                yield name, Reference(found[0].key, found[1], strategies[name])


def _in_file(judge: Contract, contract: Contract, column: str, fields: Mapping[str, _Field]) -> str | None:
    """The column of the file that a judge's column is, unchanged in meaning."""
    found = trace_to_file(judge, contract, column)
    return found.column if found and found.is_plain and found.column in fields else None


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


def _column(field: _Field, strategy: Strategy, kind: Kind, *, is_filled: bool, is_tracked: bool) -> ColumnPlan:
    hints = field.hints
    is_bound = is_filled or field.definition.required or hints.is_required or isinstance(strategy, Operation)
    return ColumnPlan(
        name=hints.name,
        type=hints.type,
        strategy=strategy,
        empty=0.0 if is_bound else empty_share(hints.description),
        changes=kind != "events" and (_may_change(strategy, hints) or is_tracked),
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
    if not isinstance(strategy, Reference) or strategy.beside:
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
        if isinstance(target, Reference) and target.beside:
            break  # what that row holds is told by another row, not drawn
    return replace(column, strategy=strategy)

"""The rules a contract really has: shorthands spelled out, names derived, phases decided."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar
from weakref import ref

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.base import Phase
from lakelogic_assets.contract.columns import engine_columns, post_created
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.facts import milestones
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.problems import YamlPath
from lakelogic_assets.contract.sql import expression_facts

Severity = Literal["error", "warning", "info"]
R = TypeVar("R", "RowRule", "DatasetRule")
KNOWN_SEVERITIES = ("error", "warning", "info", "warn", "critical", "high", "medium", "low", "blocker")


@dataclass(frozen=True, slots=True)
class AcceptedLength:
    """A text no longer than a field may be."""

    max_length: int


@dataclass(frozen=True, slots=True)
class Hint:
    """A field's own `min`, `max` or `accepted_values`, which lets NULL pass."""

    min: float | None = None
    max: float | None = None
    values: tuple[Any, ...] | None = None


RowTest = (
    str
    | forms.NotNull
    | forms.AcceptedValues
    | forms.RegexMatch
    | forms.Range
    | forms.ReferentialIntegrity
    | forms.LifecycleWindow
    | AcceptedLength
    | Hint
)
"""What a row rule tests; a bare `str` is an SQL expression."""

DatasetTest = str | forms.Unique | forms.NullRatio | forms.RowCountBetween


@dataclass(frozen=True, slots=True)
class RowRule:
    """One check of one row. It passes where it is TRUE; NULL fails unless `null_passes`."""

    name: str
    test: RowTest
    columns: tuple[str, ...]
    category: str
    severity: Severity
    phase: Phase
    null_passes: bool
    written_at: YamlPath
    label: str | None = None
    description: str | None = None
    bounds: forms.Bounds | None = None
    written_phase: Phase | None = None


@dataclass(frozen=True, slots=True)
class DatasetRule:
    """One check of all good rows together."""

    name: str
    test: DatasetTest
    columns: tuple[str, ...]
    category: str
    severity: Severity
    phase: Phase
    written_at: YamlPath
    label: str | None = None
    description: str | None = None
    bounds: forms.Bounds | None = None


def row_rules(contract: Contract) -> tuple[RowRule, ...]:
    """Every row rule: required fields, rules of fields, hints of fields, then `row_rules`.

    Worked out once, since linter, checks and runs all ask; a contract never changes.
    """
    identity = id(contract)
    known = _known.get(identity)
    if known is None or known[0]() is not contract:
        known = (ref(contract, lambda _: _known.pop(identity, None)), _row_rules(contract))
        _known[identity] = known
    return known[1]


# By identity: contracts hold mappings, so they cannot be keys themselves.
_known: dict[int, tuple[ref[Contract], tuple[RowRule, ...]]] = {}


def _row_rules(contract: Contract) -> tuple[RowRule, ...]:
    late = frozenset(column.lower() for column in post_created(contract))
    written = list(_written_rules(contract, late))
    rules = [*_field_rules(contract, written, late), *_milestone_rules(contract, late), *written]
    return _with_unique_names(rules)


def dataset_rules(contract: Contract) -> tuple[DatasetRule, ...]:
    return _with_unique_names([_dataset_rule(rule, index) for index, rule in enumerate(contract.quality.dataset_rules)])


def repeated_rules(contract: Contract) -> Iterator[RowRule | DatasetRule]:
    """Written rules that have the name of one before them, and are reported with a number behind it."""
    of_rows = _written_rules(contract, frozenset())
    of_all = (_dataset_rule(rule, index) for index, rule in enumerate(contract.quality.dataset_rules))
    for rules in (of_rows, of_all):
        seen: set[str] = set()
        for rule in rules:
            if rule.name in seen:
                yield rule
            seen.add(rule.name)


def severity_of(word: str | None) -> Severity:
    """Words nobody knows count as errors: a typo must not let bad rows through."""
    folded = (word or "error").lower()
    return "warning" if folded in ("warning", "warn") else "info" if folded == "info" else "error"


def _field_rules(contract: Contract, written: Sequence[RowRule], late: frozenset[str]) -> Iterator[RowRule]:
    injected = {name.lower() for name in engine_columns(contract)}
    tested = {rule.columns[0].lower() for rule in written if _is_not_null(rule)}
    names = {rule.name for rule in written}
    hints = contract.quality.enforce_field_hints and not contract.server.cast_to_string
    hints = hints and contract.server.mode != "ingest"
    for index, field in enumerate(contract.model.fields):
        at: YamlPath = ("model", "fields", index)
        told = field.name.lower() in injected | tested
        told = told or any(_holds_nulls_back(rule, field.name) for rule in field.rules)
        if field.required and contract.quality.enforce_required and not told:
            test = forms.NotNull(fields=(field.name,))
            yield _rule(f"{field.name}_required", test, (field.name,), "completeness", None, (*at, "required"), late)
        for number, rule in enumerate(field.rules):
            yield _sql_rule(rule, rule.sql, rule, (*at, "rules", number), late)
        if hints:
            yield from (rule for rule in _hints(field, at, late) if rule.name not in names)


def _milestone_rules(contract: Contract, late: frozenset[str]) -> Iterator[RowRule]:
    """Milestones are reached one after the other; one that is not reached yet is no fault."""
    at: YamlPath = ("materialization", "fact", "milestone_dates")
    dates = milestones(contract)
    for index, (before, after) in enumerate(itertools.pairwise(dates), start=1):
        if contract.model.field(before) and contract.model.field(after):
            name, sql = f"{after}_not_before_{before}", f"{_quoted(after)} >= {_quoted(before)}"
            yield _rule(name, sql, (after, before), "consistency", _NULL_PASSES, (*at, index), late)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_not_null(rule: RowRule) -> bool:
    """Whether a rule holds rows back as `required` would, so that one NULL is not reported twice."""
    if rule.severity != "error" or rule.null_passes or len(rule.columns) != 1:
        return False
    return isinstance(rule.test, forms.NotNull) or (
        isinstance(rule.test, str) and _tests_not_null(rule.test, rule.columns[0])
    )


def _holds_nulls_back(rule: forms.SqlRule, column: str) -> bool:
    """The same of a rule under its field."""
    if severity_of(rule.severity) != "error" or rule.on_null == "pass":
        return False
    return not rule.has_bounds and _tests_not_null(rule.sql, column)


def _tests_not_null(sql: str, column: str) -> bool:
    return " ".join(sql.replace("`", "").lower().split()) == f"{column.lower()} is not null"


def _hints(field: FieldDefinition, at: YamlPath, late: frozenset[str]) -> Iterator[RowRule]:
    low, high = field.range or (None, None)
    low = field.min if field.min is not None else low
    high = field.max if field.max is not None else high
    tests: dict[str, RowTest | None] = {
        "accepted_values": Hint(values=field.accepted_values) if field.accepted_values else None,
        "min": Hint(min=low) if low is not None else None,
        "max": Hint(max=high) if high is not None else None,
        "max_length": AcceptedLength(field.max_length) if field.max_length is not None else None,
    }
    for name, test in tests.items():
        if test is not None:
            yield _rule(f"{field.name}_{name}", test, (field.name,), "validity", _NULL_PASSES, (*at, name), late)


def _written_rules(contract: Contract, late: frozenset[str]) -> Iterator[RowRule]:
    for index, entry in enumerate(contract.quality.row_rules):
        at: YamlPath = ("quality", "row_rules", index)
        kind = entry.kind
        if entry.sql is not None:
            yield _sql_rule(entry, entry.sql, entry, (*at, "sql"), late)
        elif entry.not_null is not None:
            for payload in entry.not_null:
                for field in payload.fields:
                    single = payload.model_copy(update={"fields": (field,)})
                    yield _shorthand(entry, single, (field,), "not_null", "completeness", (*at, kind), late)
        else:
            yield _other_shorthand(entry, kind, at, late)


def _other_shorthand(entry: forms.RowRule, kind: str, at: YamlPath, late: frozenset[str]) -> RowRule:
    payload = getattr(entry, kind)
    category = "consistency" if kind in ("referential_integrity", "lifecycle_window") else "validity"
    if isinstance(payload, forms.LifecycleWindow):
        named = payload.event_key or payload.field or ""
        columns = tuple(column for column in (named, payload.event_ts) if column)
        if payload.window:
            category = "timeliness"
    else:
        columns = (payload.field,)
    return _shorthand(entry, payload, columns, kind, category, (*at, kind), late)


def _shorthand(
    entry: forms.RowRule,
    payload: Any,
    columns: tuple[str, ...],
    kind: str,
    category: str,
    at: YamlPath,
    late: frozenset[str],
) -> RowRule:
    """A name inside the payload is the rule's name; one beside it is only a label."""
    options = _Options.of(payload, entry)
    name = payload.name or f"{columns[0]}_{kind}"
    return _rule(name, payload, columns, category, options, at, late, label=entry.name)


def _sql_rule(
    options: forms.RuleOptions, sql: str, bounds: forms.Bounds, at: YamlPath, late: frozenset[str]
) -> RowRule:
    columns = tuple(sorted(expression_facts(sql).columns))
    name, said = options.name or slug(sql), _Options.of(options)
    return _rule(name, sql, columns, "correctness", said, at, late, bounds=bounds if bounds.has_bounds else None)


@dataclass(frozen=True, slots=True)
class _Options:
    category: str | None = None
    description: str | None = None
    severity: str | None = None
    phase: Phase | None = None
    on_null: str | None = None

    @classmethod
    def of(cls, *sources: forms.RuleOptions) -> _Options:
        """The first source that says something wins."""
        said = {name: next((v for s in sources if (v := getattr(s, name)) is not None), None) for name in cls.__slots__}
        return cls(**said)


_NOTHING_SAID = _Options()
_NULL_PASSES = _Options(on_null="pass")


def _rule(
    name: str,
    test: RowTest,
    columns: tuple[str, ...],
    category: str,
    options: _Options | None,
    at: YamlPath,
    late: frozenset[str],
    *,
    label: str | None = None,
    bounds: forms.Bounds | None = None,
) -> RowRule:
    options = options or _NOTHING_SAID
    # Unwritten, a rule runs as early as its columns exist.
    phase: Phase = options.phase or ("post" if any(column.lower() in late for column in columns) else "pre")
    return RowRule(
        name=name,
        test=test,
        columns=columns,
        category=options.category or category,
        severity=severity_of(options.severity),
        phase=phase,
        null_passes=options.on_null == "pass",
        written_at=at,
        label=label,
        description=options.description,
        bounds=bounds,
        written_phase=options.phase,
    )


def _dataset_rule(entry: forms.DatasetRule, index: int) -> DatasetRule:
    kind = entry.kind
    test: Any = getattr(entry, kind)
    payload = entry if isinstance(test, str) else test
    columns: tuple[str, ...] = ()
    if isinstance(test, forms.Unique):
        columns, name, category = test.fields, f"{'_'.join(test.fields)}_unique", "uniqueness"
    elif isinstance(test, forms.NullRatio):
        columns, name, category = (test.field,), f"{test.field}_null_ratio", "completeness"
    elif isinstance(test, forms.RowCountBetween):
        name, category = "row_count_between", "volume"
    else:
        name, category = entry.name or slug(test), "correctness"
    options = _Options.of(payload, entry)
    return DatasetRule(
        name=(payload.name or name) if not isinstance(test, str) else name,
        test=test,
        columns=columns,
        category=options.category or category,
        severity=severity_of(options.severity),
        phase=options.phase or "post",
        written_at=("quality", "dataset_rules", index, kind),
        label=entry.name,
        description=options.description,
        bounds=entry if entry.has_bounds else None,
    )


def slug(sql: str) -> str:
    """A name for a rule that has none, made of its own words."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", sql).strip("_").lower()
    return words[:60].rstrip("_") or "rule"


def _with_unique_names(rules: Sequence[R]) -> tuple[R, ...]:
    """Results are reported by name, so a second rule of one name gets a number behind it; a made one gives way."""
    seen: dict[str, int] = {}
    named: dict[int, R] = {}
    for index, rule in sorted(enumerate(rules), key=lambda each: not _is_written(each[1])):
        seen[rule.name] = seen.get(rule.name, 0) + 1
        count = seen[rule.name]
        named[index] = rule if count == 1 else replace(rule, name=f"{rule.name}_{count}")
    return tuple(named[index] for index in range(len(rules)))


def _is_written(rule: RowRule | DatasetRule) -> bool:
    """Whether somebody wrote the rule, and nobody only its field."""
    return rule.written_at[0] == "quality" or "rules" in rule.written_at

"""All row checks of a phase in one projection: a bit for every reason, one mask to split by.

A filter on a computed column would be pushed through the projection and every rule evaluated twice. The `observe`
between the two is the fence that keeps the optimizer from doing so, and counts the rows on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract.rules import RowRule
from lakelogic_assets.spark.expressions import ERROR_ISOLATION, any_of
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.quality.joins import Reference, answer_joins
from lakelogic_assets.spark.quality.row_rules import passes, shown_rule
from lakelogic_assets.spark.schema import (
    HIDDEN_PREFIX,
    ColumnCast,
    cast,
    casts_for,
    data_type,
    missing_columns,
    unknown_columns,
)
from lakelogic_assets.spark.scope import Scope

BITS_PER_MASK = 60
RAW_PREFIX = f"{HIDDEN_PREFIX}raw_"
_ROWS, _BAD = "rows", "bad"


@dataclass(frozen=True)
class Reason:
    """One way for a row to be bad, or to be worth counting."""

    message: str
    category: str
    rule: RowRule | None = None
    column: str | None = None


@dataclass(frozen=True)
class Stage:
    """Rows with their masks: nothing has been evaluated yet."""

    frame: DataFrame
    reasons: tuple[Reason, ...]
    watched: tuple[Reason, ...]
    masks: tuple[str, ...]
    raw: Mapping[str, str]
    extra: tuple[str, ...]
    observation: Observation
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    casts: Mapping[str, str] = field(default_factory=dict)

    def good(self) -> DataFrame:
        """The rows that no reason holds back, without the columns of the evaluation."""
        passed = self.frame.where(~self._is_bad()) if self.masks else self.frame
        return passed.drop(*self.masks, *self.raw.values(), *self.extra)

    def bad(self) -> DataFrame:
        """The rows that some reason holds back, with all of their reasons."""
        failed = self.frame.where(self._is_bad())
        found = [F.when(self._bit(index), F.lit(reason.message)) for index, reason in enumerate(self.reasons)]
        kinds = [F.when(self._bit(index), F.lit(reason.category)) for index, reason in enumerate(self.reasons)]
        failed = failed.withColumns(
            {
                names.ERRORS_COLUMN: F.array_compact(F.array(*found)),
                names.CATEGORIES_COLUMN: F.array_distinct(F.array_compact(F.array(*kinds))),
                names.RAW_COLUMN: self._raw_values(),
                **{_counter(index): self._bit(index) for index in range(len(self.reasons))},
            }
        )
        return failed.drop(*self.masks, *self.raw.values(), *self.extra)

    def counters(self) -> dict[str, Column]:
        """For the job that writes bad rows: how many rows each reason holds back."""
        return {str(index): F.count_if(F.col(_counter(index))) for index in range(len(self.reasons))}

    def counter_columns(self) -> tuple[str, ...]:
        return tuple(_counter(index) for index in range(len(self.reasons)))

    @property
    def rows(self) -> int:
        return int(self.observation.get[_ROWS])

    @property
    def bad_rows(self) -> int:
        return int(self.observation.get.get(_BAD) or 0)

    def watched_rows(self) -> dict[str, int]:
        found = self.observation.get
        return {reason.rule.name: int(found.get(f"w{i}") or 0) for i, reason in enumerate(self.watched) if reason.rule}

    def _is_bad(self) -> Column:
        return any_of([F.col(mask) != 0 for mask in self.masks])

    def _bit(self, index: int) -> Column:
        mask = self.masks[index // BITS_PER_MASK]
        return F.col(mask).bitwiseAND(F.lit(1 << (index % BITS_PER_MASK))) != 0

    def _raw_values(self) -> Column:
        """What stood in the columns whose cast failed, so that nothing of a bad row is lost."""
        failing = {reason.column: index for index, reason in enumerate(self.reasons) if reason.column}
        pairs = [
            F.when(
                self._bit(failing[name]),
                F.struct(F.lit(name).alias("key"), column(hidden).cast("string").alias("value")),
            )
            for name, hidden in self.raw.items()
            if name in failing
        ]
        if not pairs:
            return F.lit(None).cast("map<string,string>")
        present = F.array_compact(F.array(*pairs))
        return F.when(F.size(present) > 0, F.map_from_entries(present))


def _counter(index: int) -> str:
    return f"{HIDDEN_PREFIX}failed_{index}"


def evaluate(
    frame: DataFrame,
    rules: Sequence[RowRule],
    scope: Scope,
    phase: str,
    reference: Reference,
    corrupt: str | None = None,
) -> Stage:
    """Casts, schema policy and rules of one phase as masks over a frame."""
    contract = scope.contract
    casts = casts_for(frame, contract)
    missing = missing_columns(frame, contract) if phase == "pre" else ()
    unknown = unknown_columns(frame, contract) if phase == "pre" else ()
    frame, raw = _with_casts(frame, casts)
    reasons = [*_schema_reasons(scope, missing, unknown, corrupt, frame), *_cast_reasons(casts, raw)]
    frame, stand_ins = _with_stand_ins(frame, rules, scope)
    frame, flags = answer_joins(frame.alias(names.CURRENT_FRAME), rules, reference)
    frame = frame.alias(names.CURRENT_FRAME)
    routing: list[tuple[Reason, Column]] = []
    watching: list[tuple[Reason, Column]] = []
    for rule in rules:
        tested, guarded = passes(rule, frame, scope.spark, scope.started_at, flags)
        if guarded:
            _isolate_errors(scope)
        reason = Reason(f"[{phase}] Rule failed: {rule.name} ({shown_rule(rule)})", rule.category, rule)
        (routing if rule.severity == "error" else watching).append((reason, tested))
    reasons += [(reason, ~tested) for reason, tested in routing]
    return _masked(frame, reasons, watching, raw, (*stand_ins, *flags.values()), phase, missing, unknown, casts)


def _masked(
    frame: DataFrame, reasons: list[tuple[Reason, Column]], watching: list[tuple[Reason, Column]], raw: dict[str, str],
    extra: tuple[str, ...], phase: str, missing: tuple[str, ...], unknown: tuple[str, ...], casts: Sequence[ColumnCast],
) -> Stage:  # fmt: skip
    masks = {f"{HIDDEN_PREFIX}{phase}_{n}": mask for n, mask in enumerate(_bit_masks([fails for _, fails in reasons]))}
    watch = {f"{HIDDEN_PREFIX}{phase}_w{n}": mask for n, mask in enumerate(_bit_masks([~ok for _, ok in watching]))}
    if masks or watch:
        frame = frame.select("*", *[mask.alias(name) for name, mask in {**masks, **watch}.items()])
    observation = Observation()
    counted = [F.count(F.lit(1)).alias(_ROWS)]
    if masks:
        counted.append(F.count_if(any_of([F.col(name) != 0 for name in masks])).alias(_BAD))
    for index in range(len(watching)):
        name = list(watch)[index // BITS_PER_MASK]
        counted.append(F.count_if(F.col(name).bitwiseAND(F.lit(1 << (index % BITS_PER_MASK))) != 0).alias(f"w{index}"))
    return Stage(
        frame=frame.observe(observation, *counted),
        reasons=tuple(reason for reason, _ in reasons),
        watched=tuple(reason for reason, _ in watching),
        masks=tuple(masks),
        raw=raw,
        extra=(*extra, *watch),
        observation=observation,
        missing=missing,
        unknown=unknown,
        casts={each.name: each.type_name for each in casts},
    )


def _bit_masks(failures: list[Column]) -> list[Column]:
    """BIGINT masks of at most sixty bits, all inside whole-stage code generation."""
    masks = []
    for start in range(0, len(failures), BITS_PER_MASK):
        mask = F.lit(0).cast("bigint")
        for bit, fails in enumerate(failures[start : start + BITS_PER_MASK]):
            mask = mask.bitwiseOR(F.when(fails, F.lit(1 << bit).cast("bigint")).otherwise(F.lit(0).cast("bigint")))
        masks.append(mask)
    return masks


def _with_casts(frame: DataFrame, casts: Sequence[ColumnCast]) -> tuple[DataFrame, dict[str, str]]:
    """Cast columns under their names; what can fail keeps its raw value beside it."""
    if not casts:
        return frame, {}
    wanted = {each.name: each for each in casts}
    raw = {each.name: f"{RAW_PREFIX}{index}" for index, each in enumerate(casts) if each.can_fail}
    shaped = [
        cast(column(f.name), f.dataType, wanted[f.name].wanted).alias(f.name) if f.name in wanted else column(f.name)
        for f in frame.schema.fields
    ]
    kept = [column(name).alias(hidden) for name, hidden in raw.items()]
    return frame.select(*shaped, *kept), raw


def _cast_reasons(casts: Sequence[ColumnCast], raw: Mapping[str, str]) -> list[tuple[Reason, Column]]:
    return [
        (
            Reason(f"Type Mismatch: {each.name} cannot be cast to {each.type_name}", "schema", column=each.name),
            F.col(raw[each.name]).isNotNull() & column(each.name).isNull(),
        )
        for each in casts
        if each.can_fail
    ]


def _schema_reasons(
    scope: Scope, missing: Sequence[str], unknown: Sequence[str], corrupt: str | None, frame: DataFrame
) -> list[tuple[Reason, Column]]:
    reasons: list[tuple[Reason, Column]] = []
    policy = scope.contract.policy
    if corrupt and corrupt in frame.columns:
        reasons.append(
            (Reason("Malformed row: the source text does not fit its columns", "schema"), column(corrupt).isNotNull())
        )
    if missing and policy.evolution == "strict":
        reasons.append((Reason(f"Missing fields: {', '.join(missing)}", "schema"), F.lit(True)))
    if unknown and policy.unknown_fields == "quarantine":
        carried = any_of([column(name).isNotNull() for name in unknown])
        reasons.append((Reason(f"Unknown fields present: {', '.join(unknown)}", "schema"), carried))
    return reasons


def _with_stand_ins(frame: DataFrame, rules: Sequence[RowRule], scope: Scope) -> tuple[DataFrame, tuple[str, ...]]:
    """Declared columns that are absent stand in as typed NULL while rules are judged, and go again."""
    present = {name.casefold() for name in frame.columns}
    declared = scope.contract.model.by_name
    wanted = dict.fromkeys(
        name for rule in rules for name in rule.columns if name in declared and name.casefold() not in present
    )
    if not wanted:
        return frame, ()
    nulls = [F.lit(None).cast(_stand_in_type(scope, name)).alias(name) for name in wanted]
    return frame.select("*", *nulls), tuple(wanted)


def _stand_in_type(scope: Scope, name: str) -> T.DataType:
    return data_type(scope.contract.model.by_name[name].spark_type)


def _isolate_errors(scope: Scope) -> None:
    for key, value in ERROR_ISOLATION.items():
        scope.spark.conf.set(key, value)

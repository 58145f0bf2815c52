"""All row checks of a phase in one projection: a bit for every reason, one mask to split by.

A filter on a computed column would be pushed through the projection and every rule evaluated twice. An `observe`
between the two keeps the optimizer from doing so, and counts the rows on the way. Where the count is known otherwise,
a mask that calls itself nondeterministic does the same within one generated loop, which is faster.

Masks are put together as text: every call of PySpark's `Column` costs milliseconds, and there are many rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.rules import RowRule
from lakelogic_assets.spark.expressions import ERROR_ISOLATION, any_of
from lakelogic_assets.spark.identifiers import column, quoted, text_literal
from lakelogic_assets.spark.quality.joins import Reference, answer_joins
from lakelogic_assets.spark.quality.row_rules import passes, shown_rule
from lakelogic_assets.spark.schema import (
    HIDDEN_PREFIX,
    ColumnCast,
    cast_columns,
    casts_for,
    data_type,
    missing_columns,
    uncast_columns,
    unknown_columns,
)
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.tally import Tally, tallied

BITS_PER_MASK = 60
RAW_PREFIX = f"{HIDDEN_PREFIX}raw_"
_ROWS, _BAD, _FAILED = "rows", "bad", "failed"
_TEST = f"{HIDDEN_PREFIX}test_"
# The number of a partition is never negative, so this is 0; the optimizer only sees that it may not be moved.
_BARRIER = "CAST(shiftright(spark_partition_id(), 31) AS BIGINT)"


@dataclass(frozen=True)
class Reason:
    """One way for a row to be bad, or to be worth counting."""

    message: str
    category: str
    rule: RowRule | None = None
    column: str | None = None


@dataclass(frozen=True)
class Test:
    """What a reason looks at: a column, and whether a row is bad by it as SQL over that column's name."""

    reason: Reason
    value: Column
    fails: str

    @classmethod
    def of_rule(cls, reason: Reason, passes: Column, *, null_passes: bool) -> Test:
        return cls(reason, passes, f"NOT coalesce(TRY_CAST({{}} AS BOOLEAN), {str(null_passes).lower()})")


@dataclass(frozen=True)
class Stage:
    """Rows with their masks: nothing has been evaluated yet."""

    frame: DataFrame
    reasons: tuple[Reason, ...]
    watched: tuple[Reason, ...]
    masks: tuple[str, ...]
    raw: Mapping[str, str]
    extra: tuple[str, ...]
    observation: Tally | None
    """What was counted between masks and split; None where rows are counted elsewhere."""
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    casts: Mapping[str, str] = field(default_factory=dict)

    def good(self) -> DataFrame:
        """The rows that no reason holds back, without the columns of the evaluation."""
        passed = self.frame.where(f"NOT ({self._is_bad()})") if self.masks else self.frame
        return passed.drop(*self.masks, *self.raw.values(), *self.extra)

    def bad(self) -> tuple[DataFrame, Tally]:
        """The rows that some reason holds back, with all of their reasons, and how many each reason holds back.

        The count also keeps the code of the masks and that of the reasons apart: together they would be too long for
        Java to compile.
        """
        counts = ", ".join(f"count_if({self._bit(index)})" for index in range(len(self.reasons)))
        failed, observation = tallied(
            self.frame.where(self._is_bad()), F.count(F.lit(1)).alias(_ROWS), F.expr(f"array({counts})").alias(_FAILED)
        )
        failed = failed.withColumns(
            {
                names.ERRORS_COLUMN: F.expr(self._found()),
                names.CATEGORIES_COLUMN: F.expr(self._categories()),
                names.RAW_COLUMN: self._raw_values(),
            }
        )
        return failed.drop(*self.masks, *self.raw.values(), *self.extra), observation

    def failures(self, observation: Tally) -> dict[str, int]:
        """Rule → rows that broke it, from what `bad` counted; schema reasons count under their text."""
        found: dict[str, int] = {}
        for reason, count in zip(self.reasons, observation.get[_FAILED], strict=True):
            name = reason.rule.name if reason.rule else reason.message
            found[name] = found.get(name, 0) + int(count)
        return found

    def failure_counts(self) -> dict[str, int]:
        """Rule → rows that broke it, counted by a job of its own over the rows that broke any."""
        counts = ", ".join(f"count_if({self._bit(index)})" for index in range(len(self.reasons)))
        row = self.frame.where(self._is_bad()).agg(F.expr(f"array({counts})").alias(_FAILED)).first()
        found = row[_FAILED] if row else ()
        return {reason.rule.name: int(n) for reason, n in zip(self.reasons, found, strict=False) if reason.rule}

    @property
    def rows(self) -> int:
        return int(self._observed(_ROWS))

    @property
    def bad_rows(self) -> int:
        return int(self._observed(_BAD))

    def watched_rows(self) -> dict[str, int]:
        watched = enumerate(self.watched)
        return {reason.rule.name: int(self._observed(f"w{i}")) for i, reason in watched if reason.rule}

    def measured(self, name: str) -> Any:
        """A further measure that was observed with the rows."""
        return self.observation.get.get(name) if self.observation else None

    def _observed(self, name: str) -> Any:
        if self.observation is None:
            raise AssertionError("the rows of this stage are counted elsewhere")
        return self.observation.get.get(name) or 0

    def _is_bad(self) -> str:
        return " OR ".join(f"{mask} <> 0" for mask in self.masks) or "FALSE"

    def _bit(self, index: int) -> str:
        return f"({self.masks[index // BITS_PER_MASK]} & {1 << (index % BITS_PER_MASK)}L) <> 0"

    def _found(self) -> str:
        texts = (f"IF({self._bit(i)}, {text_literal(each.message)}, '')" for i, each in enumerate(self.reasons))
        return f"array_remove(array({', '.join(texts)}), '')"

    def _categories(self) -> str:
        """Each category once, by one look at all of its bits."""
        bits: dict[str, dict[str, int]] = {}
        for index, reason in enumerate(self.reasons):
            of_mask = bits.setdefault(reason.category, {})
            mask = self.masks[index // BITS_PER_MASK]
            of_mask[mask] = of_mask.get(mask, 0) | 1 << (index % BITS_PER_MASK)
        texts = []
        for category, of_mask in bits.items():
            test = " OR ".join(f"({mask} & {found}L) <> 0" for mask, found in of_mask.items())
            texts.append(f"IF({test}, {text_literal(category)}, '')")
        return f"array_remove(array({', '.join(texts)}), '')"

    def _raw_values(self) -> Column:
        """What stood in the columns whose cast failed, so that nothing of a bad row is lost."""
        failing = {reason.column: index for index, reason in enumerate(self.reasons) if reason.column}
        pairs = [
            F.when(
                F.expr(self._bit(failing[name])),
                F.struct(F.lit(name).alias("key"), column(hidden).cast("string").alias("value")),
            )
            for name, hidden in self.raw.items()
            if name in failing
        ]
        if not pairs:
            return F.lit(None).cast("map<string,string>")
        present = F.array_compact(F.array(*pairs))
        return F.when(F.size(present) > 0, F.map_from_entries(present))


def evaluate(
    frame: DataFrame,
    rules: Sequence[RowRule],
    scope: Scope,
    phase: str,
    reference: Reference,
    corrupt: str | None = None,
    *,
    counted: bool = True,
) -> Stage:
    """Casts, schema policy and rules of one phase as masks over a frame; `counted` puts the observation in between."""
    contract = scope.contract
    casts = casts_for(frame, contract, phase)
    missing = missing_columns(frame, contract) if phase == "pre" else ()
    unknown = unknown_columns(frame, contract) if phase == "pre" else ()
    frame, raw = _with_casts(frame, casts)
    tests = [*_schema_reasons(scope, missing, unknown, corrupt, frame), *_cast_reasons(casts, raw)]
    lost = uncast_columns(frame)
    tests += [_lost(hidden, name, type_name, raw) for hidden, (name, type_name) in lost.items()]
    raw = {**{name: hidden for hidden, (name, _) in lost.items()}, **raw}
    frame, stand_ins = _with_stand_ins(frame, rules, scope)
    frame, flags = answer_joins(frame.alias(names.CURRENT_FRAME), rules, reference)
    frame = frame.alias(names.CURRENT_FRAME)
    watching: list[Test] = []
    for rule in rules:
        reason = Reason(f"[{phase}] Rule failed: {rule.name} ({shown_rule(rule)})", rule.category, rule)
        (tests if rule.severity == "error" else watching).append(_test(rule, reason, frame, scope, flags))
    return _masked(
        frame,
        tests,
        watching,
        raw,
        (*stand_ins, *flags.values(), *lost),
        phase,
        missing,
        unknown,
        casts,
        counted=counted,
    )


def _test(rule: RowRule, reason: Reason, frame: DataFrame, scope: Scope, flags: Mapping[str, str]) -> Test:
    passed, guarded = passes(rule, frame, scope.spark, scope.started_at, flags)
    if guarded:
        _isolate_errors(scope)
    return Test.of_rule(reason, passed, null_passes=rule.null_passes and not guarded)


def judged_rules(
    frame: DataFrame, rules: Sequence[RowRule], scope: Scope, reference: Reference, further: Mapping[str, Column]
) -> Stage:
    """Rules over rows that have their final shape: nothing is cast, every severity counts; `further` is observed."""
    frame, flags = answer_joins(frame.alias(names.CURRENT_FRAME), rules, reference)
    frame = frame.alias(names.CURRENT_FRAME)
    tests = [_test(rule, Reason(rule.name, rule.category, rule), frame, scope, flags) for rule in rules]
    measures = [value.alias(name) for name, value in further.items()]
    return _masked(frame, tests, [], {}, tuple(flags.values()), "table", (), (), (), measures)


def _masked(
    frame: DataFrame, tests: list[Test], watching: list[Test], raw: dict[str, str], extra: tuple[str, ...], phase: str,
    missing: tuple[str, ...], unknown: tuple[str, ...], casts: Sequence[ColumnCast], further: Sequence[Column] = (), *,
    counted: bool = True,
) -> Stage:  # fmt: skip
    place = {id(test): f"{_TEST}{phase}_{index}" for index, test in enumerate((*tests, *watching))}
    barrier = "0L" if counted else _BARRIER
    masks = {f"{HIDDEN_PREFIX}{phase}_{n}": mask for n, mask in enumerate(_bit_masks(tests, place, barrier))}
    watch = {f"{HIDDEN_PREFIX}{phase}_w{n}": mask for n, mask in enumerate(_bit_masks(watching, place, "0L"))}
    if masks or watch:
        own = [column(name) for name in frame.columns]
        frame = frame.select("*", *[test.value.alias(place[id(test)]) for test in (*tests, *watching)])
        frame = frame.select(*own, *[F.expr(mask).alias(name) for name, mask in {**masks, **watch}.items()])
    observation = None
    if counted:
        frame, observation = tallied(frame, *_counts(tuple(masks), tuple(watch), len(watching)), *further)
    return Stage(
        frame=frame,
        reasons=tuple(test.reason for test in tests),
        watched=tuple(test.reason for test in watching),
        masks=tuple(masks),
        raw=raw,
        extra=(*extra, *watch),
        observation=observation,
        missing=missing,
        unknown=unknown,
        casts={each.name: each.type_name for each in casts},
    )


def _counts(masks: Sequence[str], watch: Sequence[str], watched: int) -> list[Column]:
    counts = [F.count(F.lit(1)).alias(_ROWS)]
    if masks:
        counts.append(F.expr(f"count_if({' OR '.join(f'{name} <> 0' for name in masks)})").alias(_BAD))
    for index in range(watched):
        bit = f"({watch[index // BITS_PER_MASK]} & {1 << (index % BITS_PER_MASK)}L) <> 0"
        counts.append(F.expr(f"count_if({bit})").alias(f"w{index}"))
    return counts


def _bit_masks(tests: Sequence[Test], place: Mapping[int, str], barrier: str) -> list[str]:
    """BIGINT masks of at most sixty bits, all inside whole-stage code generation."""
    masks = []
    for start in range(0, len(tests), BITS_PER_MASK):
        bits = enumerate(tests[start : start + BITS_PER_MASK])
        cases = [f"IF({test.fails.format(place[id(test)])}, {1 << bit}L, 0L)" for bit, test in bits]
        masks.append(" | ".join([barrier, *cases]))
    return masks


def _with_casts(frame: DataFrame, casts: Sequence[ColumnCast]) -> tuple[DataFrame, dict[str, str]]:
    """Cast columns under their names; what can fail keeps its raw value beside it."""
    if not casts:
        return frame, {}
    raw = {each.name: f"{RAW_PREFIX}{index}" for index, each in enumerate(casts) if each.can_fail}
    kept = [column(name).alias(hidden) for name, hidden in raw.items()]
    return frame.select(*cast_columns(frame, casts), *kept), raw


def _cast_reasons(casts: Sequence[ColumnCast], raw: Mapping[str, str]) -> list[Test]:
    return [
        Test(
            Reason(
                f"Type Mismatch: {each.declared_name} cannot be cast to {each.type_name}", "schema", column=each.name
            ),
            F.expr(f"{raw[each.name]} IS NOT NULL AND {quoted(each.name)} IS NULL"),
            "{}",
        )
        for each in casts
        if each.can_fail
    ]


def _lost(hidden: str, name: str, type_name: str, raw: Mapping[str, str]) -> Test:
    """A row in which a `cast` step met a value that it could not cast."""
    shown = None if name in raw else name
    reason = Reason(f"Type Mismatch: {name} cannot be cast to {type_name}", "schema", column=shown)
    return Test(reason, column(hidden).isNotNull(), "{}")


def _schema_reasons(
    scope: Scope, missing: Sequence[str], unknown: Sequence[str], corrupt: str | None, frame: DataFrame
) -> list[Test]:
    tests: list[Test] = []
    policy = scope.contract.policy
    if corrupt and corrupt in frame.columns:
        malformed = Reason("Malformed row: the source text does not fit its columns", "schema")
        tests.append(Test(malformed, column(corrupt).isNotNull(), "{}"))
    if missing and policy.evolution == "strict":
        tests.append(Test(Reason(f"Missing fields: {', '.join(missing)}", "schema"), F.lit(True), "{}"))
    if unknown and policy.unknown_fields == "quarantine":
        carried = any_of([column(name).isNotNull() for name in unknown])
        tests.append(Test(Reason(f"Unknown fields present: {', '.join(unknown)}", "schema"), carried, "{}"))
    return tests


def _with_stand_ins(frame: DataFrame, rules: Sequence[RowRule], scope: Scope) -> tuple[DataFrame, tuple[str, ...]]:
    """Declared columns that are absent stand in as typed NULL while rules are judged, and go again."""
    present = {name.casefold() for name in frame.columns}
    absent = {name.casefold(): name for rule in rules for name in rule.columns if name.casefold() not in present}
    wanted = {field.name: field for name in absent.values() if (field := scope.contract.model.field(name))}
    if not wanted:
        return frame, ()
    nulls = [F.lit(None).cast(data_type(field.spark_type)).alias(name) for name, field in wanted.items()]
    return frame.select("*", *nulls), tuple(wanted)


def _isolate_errors(scope: Scope) -> None:
    for key, value in ERROR_ISOLATION.items():
        scope.spark.conf.set(key, value)

"""A source and a contract become good rows and reasons, as one lazy chain: nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.quality import LifecycleWindow, ReferentialIntegrity
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules
from lakelogic_assets.contract.sql import current_frame, expression_facts
from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.errors import EngineError, SchemaError
from lakelogic_assets.report.run import DatasetRuleOutcome
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.external_logic import run_logic
from lakelogic_assets.spark.extraction import extract
from lakelogic_assets.spark.freshness import freshness_column, is_stamped, latest, moment_text
from lakelogic_assets.spark.identifiers import quoted
from lakelogic_assets.spark.quality.dataset_rules import judge
from lakelogic_assets.spark.quality.joins import Reference
from lakelogic_assets.spark.quality.one_pass import Stage, evaluate
from lakelogic_assets.spark.rule_phases import RulePhases
from lakelogic_assets.spark.schema import casts_for, conform, refused_columns, uncast_columns
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.tally import Tally, tallied
from lakelogic_assets.spark.transformations import apply_steps, changes_row_count

_NEWEST = "newest"


@dataclass(frozen=True)
class Evaluation:
    """The chain and where to read its counts once a job has run through it."""

    good: DataFrame
    stages: tuple[Stage, ...]
    source_rows: Tally | None
    good_rows: Tally | None
    watermark: str | None
    newest_rows: Tally | None = None
    known_rows: int | None = None
    """How many rows the source has by its own account, where that is all there is to count."""
    split: DataFrame | None = None
    """The good rows right after the split, for dataset rules that ask for them before any post step."""

    def counts(self, written: int | None = None) -> tuple[int, int, int]:
        """Rows read, rows that are good, rows that are bad; only after a job, which may have told what it wrote."""
        good = int(self.good_rows.get["rows"]) if self.good_rows else written
        if self.known_rows is not None and good is not None:
            return self.known_rows, good, self.known_rows - good
        bad = sum(stage.bad_rows for stage in self.stages)
        first, last = self.stages[0], self.stages[-1]
        read = int(self.source_rows.get["rows"]) if self.source_rows else first.rows
        return read, last.rows - last.bad_rows if good is None else good, bad

    def bad_stages(self, bad: int) -> list[Stage]:
        """The stages that hold back those rows; only after a job."""
        if self.known_rows is not None:
            return [stage for stage in self.stages if stage.masks] if bad else []
        return [stage for stage in self.stages if stage.masks and stage.bad_rows]

    @property
    def counts_itself(self) -> bool:
        """Whether nothing but the number of written rows is needed to know all others."""
        return self.known_rows is not None and self.good_rows is None

    def counted(self) -> Evaluation:
        """The same with its good rows counted on their way, for writes that do not tell what they wrote."""
        if not self.counts_itself:
            return self
        good, rows = _counted(self.good, [])
        return replace(self, good=good, good_rows=rows)

    def watermark_value(self) -> str | None:
        value = self.source_rows.get.get("watermark") if self.source_rows and self.watermark else None
        return None if value is None else str(value)

    def newest(self) -> str | None:
        """The latest moment among the good rows, where a column of freshness is known; only after a job."""
        return moment_text(self.newest_rows.get.get(_NEWEST)) if self.newest_rows else None


def judge_all(
    evaluation: Evaluation, scope: Scope, late: Callable[[Sequence[DatasetRule]], tuple[DatasetRuleOutcome, ...]]
) -> tuple[DatasetRuleOutcome, ...]:
    """All dataset rules: those of phase `pre` on the rows of the split, the others by `late`, on the final rows."""
    rules = dataset_rules(scope.contract)
    early = [rule for rule in rules if rule.phase == "pre"] if evaluation.split is not None else []
    others = [rule for rule in rules if rule not in early]
    found = {outcome.name: outcome for outcome in (late(others) if others else ())}
    if early and evaluation.split is not None:
        found |= {outcome.name: outcome for outcome in judge(evaluation.split, early, scope)}
    return tuple(found[rule.name] for rule in rules)


def evaluate_source(
    read: SourceRead, scope: Scope, logic: ExternalLogicPolicy, *, watermark: str | None = None
) -> Evaluation:
    """The whole of the contract's middle part: extract, pre steps, rules, post steps, rules, logic, conform."""
    contract = scope.contract
    steps = {phase: [s for s in contract.transformations if s.effective_phase == phase] for phase in ("pre", "post")}
    frame = _arrived(read, scope)
    stages: list[Stage] = []
    observed = None
    if watermark or any(changes_row_count(step.operation) for step in steps["pre"]) or (read.corrupt and steps["pre"]):
        frame, observed = _counted(frame, _watermark(watermark))
    if contract.extraction is not None:
        frame = extract(frame, scope)
    corrupt = read.corrupt
    if corrupt and steps["pre"]:
        # A step may lose the column that marks malformed rows, so they are split off before the first one.
        stages.append(evaluate(frame, (), _untyped(scope), "pre", _no_reference, corrupt))
        frame, corrupt = stages[-1].good().drop(read.corrupt or ""), None
    frame = _stepped(frame, steps["pre"], scope, stages, "pre")
    rules = RulePhases.of(contract).at_split(frame, steps["post"], scope)
    counted = watermark is not None or not _counts_itself(read, contract, rules)
    stages.append(evaluate(frame, rules.pre, scope, "pre", references(scope), corrupt, counted=counted))
    _refuse_violations(stages[-1], scope)
    refused = refused_columns(stages[-1].unknown, contract)
    frame = split = stages[-1].good().drop(*([read.corrupt] if read.corrupt else []))
    frame = _stepped(frame, steps["post"], scope, stages, "post")
    rules = rules.before_logic(frame, contract)
    if rules.post or casts_for(frame, contract) or uncast_columns(frame):
        stages.append(evaluate(frame, rules.post, scope, "post", references(scope)))
        frame = stages[-1].good()
    if contract.external_logic is not None:
        frame = _through_logic(frame, stages, scope, logic, rules)
    frame = conform(frame, contract, refused)
    newest = _newest(frame, contract)
    final = None
    if not counted:
        frame, fresh = tallied(frame, *newest) if newest else (frame, None)
        return Evaluation(frame, tuple(stages), None, None, None, fresh, read.rows, split)
    if contract.external_logic is not None or any(changes_row_count(step.operation) for step in steps["post"]):
        frame, final = _counted(frame, newest)
    elif newest:
        frame, fresh = tallied(frame, *newest)
        return Evaluation(frame, tuple(stages), observed, None, watermark, fresh, split=split)
    return Evaluation(frame, tuple(stages), observed, final, watermark, final if newest else None, split=split)


def _stepped(
    frame: DataFrame, steps: Sequence[Transformation], scope: Scope, stages: list[Stage], phase: str
) -> DataFrame:
    """The frame after all steps; rows with a value that could not be cast go before a step that would hide them."""
    for step in steps:
        if changes_row_count(step.operation) and uncast_columns(frame):
            stages.append(evaluate(frame, (), _untyped(scope), phase, _no_reference))
            frame = stages[-1].good()
        frame = apply_steps(frame, [step], scope)
    return frame


def _counts_itself(read: SourceRead, contract: Contract, rules: RulePhases) -> bool:
    """Whether bad rows are simply those that the source has and the result has not: one split, and nothing besides."""
    if read.rows is None or read.corrupt or contract.extraction is not None or contract.external_logic is not None:
        return False
    if rules.post or any(rule.severity != "error" for rule in rules.pre):
        return False
    if any(step.effective_phase == "post" or changes_row_count(step.operation) for step in contract.transformations):
        return False
    tests = [rule.test for rule in rules.pre]
    return not any(isinstance(test, str) and expression_facts(current_frame(test)).has_subquery for test in tests)


def _through_logic(
    frame: DataFrame, stages: list[Stage], scope: Scope, logic: ExternalLogicPolicy, rules: RulePhases
) -> DataFrame:
    """What external logic returns is held to the contract like everything else."""
    # Evaluated before, and once: a file may read its rows several times, or make rows of its own and never read any.
    frame = run_logic(driver_of(scope.spark).evaluated(frame), scope, logic, scope.lakehouse.base)
    stages.append(evaluate(frame, rules.after_logic, scope, "post", references(scope)))
    return stages[-1].good()


def _arrived(read: SourceRead, scope: Scope) -> DataFrame:
    """The rows as they come, without columns the engine makes itself, upstream stamps under their kept names."""
    frame = read.frame
    lineage, model = scope.contract.lineage, scope.contract.model
    unwanted = [field.name for field in model.fields if field.generated]
    if names.WINDOW_COLUMN not in (*model.by_name, *lineage.preserve_upstream):
        # It tells the windows of the table it comes from, and would be data here.
        unwanted.append(names.WINDOW_COLUMN)
    frame = frame.drop(*unwanted)
    for name, kept in lineage.kept_columns.items():
        if name in frame.columns:
            frame = frame.withColumnRenamed(name, kept)
    return frame


def _counted(frame: DataFrame, further: list[Column]) -> tuple[DataFrame, Tally]:
    return tallied(frame, F.count(F.lit(1)).alias("rows"), *further)


def _watermark(name: str | None) -> list[Column]:
    return [F.max(F.expr(f"CAST({quoted(name)} AS STRING)")).alias("watermark")] if name else []


def _newest(frame: DataFrame, contract: Contract) -> list[Column]:
    """What freshness is judged by, measured in the job that writes the rows."""
    name = freshness_column(contract)
    measure = latest(frame, name) if name and not is_stamped(contract, name) else None
    return [] if measure is None else [measure.alias(_NEWEST)]


def _untyped(scope: Scope) -> Scope:
    """The same scope with a contract that declares nothing, for a split that comes before any shape."""
    bare = scope.contract.model_copy(update={"model": type(scope.contract.model)(), "schema_policy": None})
    bare = bare.model_copy(update={"server": type(bare.server)()})
    return replace(scope, contract=bare.with_place(scope.contract.place))


def references(scope: Scope) -> Reference:
    """Where rules that look into another dataset find it."""

    def find(rule: RowRule) -> DataFrame:
        test = rule.test
        name = test.reference if isinstance(test, ReferentialIntegrity | LifecycleWindow) else None
        if name is not None and name in scope.links:
            return scope.links[name]
        if isinstance(test, ReferentialIntegrity) and test.contract:
            return scope.lakehouse.read(scope.spark, scope.lakehouse.table_path(_table_of(test.contract, scope)))
        raise EngineError(f"The rule `{rule.name}` refers to `{name}`, which is not a link of {scope.contract.table}.")

    return find


def _table_of(contract: str, scope: Scope) -> str:
    """Another contract's table: in the schema this contract's own table is in."""
    if "." in contract:
        return contract
    own = (scope.contract.materialization.target_path or "").removeprefix("table:")
    schema = own.rsplit(".", 1)[0] if "." in own else f"lakehouse.{scope.contract.domain or 'default'}"
    return f"{schema}.{contract}"


def _no_reference(rule: RowRule) -> DataFrame:
    raise EngineError(f"The rule `{rule.name}` cannot be judged here.")


def _refuse_violations(stage: Stage, scope: Scope) -> None:
    policy = scope.contract.policy
    if policy.on_schema_violation == "fail" and policy.evolution == "strict" and stage.missing:
        raise SchemaError(f"{scope.contract.table} is strict and its source lacks {', '.join(stage.missing)}.")

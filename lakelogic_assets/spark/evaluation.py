"""A source and a contract become good rows and reasons, as one lazy chain: nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.quality import LifecycleWindow, ReferentialIntegrity
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.contract.rules import RowRule, row_rules
from lakelogic_assets.errors import EngineError, SchemaError
from lakelogic_assets.spark.external_logic import run_logic
from lakelogic_assets.spark.extraction import extract
from lakelogic_assets.spark.identifiers import quoted
from lakelogic_assets.spark.quality.joins import Reference
from lakelogic_assets.spark.quality.one_pass import Stage, evaluate
from lakelogic_assets.spark.schema import casts_for, conform
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.transformations import apply_steps, changes_row_count


@dataclass(frozen=True)
class Evaluation:
    """The chain and where to read its counts once a job has run through it."""

    good: DataFrame
    stages: tuple[Stage, ...]
    source_rows: Observation | None
    good_rows: Observation | None
    watermark: str | None

    def counts(self) -> tuple[int, int, int]:
        """Rows read, rows that are good, rows that are bad; only after a job."""
        bad = sum(stage.bad_rows for stage in self.stages)
        first = self.stages[0]
        read = int(self.source_rows.get["rows"]) if self.source_rows else first.rows
        last = self.stages[-1]
        good = int(self.good_rows.get["rows"]) if self.good_rows else last.rows - last.bad_rows
        return read, good, bad

    def watermark_value(self) -> str | None:
        value = self.source_rows.get.get("watermark") if self.source_rows and self.watermark else None
        return None if value is None else str(value)


def evaluate_source(
    read: SourceRead, scope: Scope, logic: ExternalLogicPolicy, *, watermark: str | None = None
) -> Evaluation:
    """The whole of the contract's middle part: extract, pre steps, rules, post steps, rules, logic, conform."""
    contract = scope.contract
    steps = {phase: [s for s in contract.transformations if s.effective_phase == phase] for phase in ("pre", "post")}
    rules = {phase: [r for r in row_rules(contract) if r.phase == phase] for phase in ("pre", "post")}
    frame = _arrived(read, scope)
    stages: list[Stage] = []
    observed = None
    if watermark or any(changes_row_count(step.operation) for step in steps["pre"]) or (read.corrupt and steps["pre"]):
        frame, observed = _counted(frame, watermark)
    if contract.extraction is not None:
        frame = extract(frame, scope)
    corrupt = read.corrupt
    if corrupt and steps["pre"]:
        # A step may lose the column that marks malformed rows, so they are split off before the first one.
        stages.append(evaluate(frame, (), _untyped(scope), "pre", _no_reference, corrupt))
        frame, corrupt = stages[-1].good().drop(read.corrupt or ""), None
    frame = apply_steps(frame, steps["pre"], scope)
    stages.append(evaluate(frame, rules["pre"], scope, "pre", _references(scope), corrupt))
    _refuse_violations(stages[-1], scope)
    frame = stages[-1].good().drop(*([read.corrupt] if read.corrupt else []))
    frame = apply_steps(frame, steps["post"], scope)
    if rules["post"] or casts_for(frame, contract):
        stages.append(evaluate(frame, rules["post"], scope, "post", _references(scope)))
        frame = stages[-1].good()
    if contract.external_logic is not None:
        frame = _through_logic(frame, stages, scope, logic, rules)
    frame = conform(frame, contract)
    final = None
    if contract.external_logic is not None or any(changes_row_count(step.operation) for step in steps["post"]):
        frame, final = _counted(frame, None)
    return Evaluation(frame, tuple(stages), observed, final, watermark)


def _through_logic(
    frame: DataFrame, stages: list[Stage], scope: Scope, logic: ExternalLogicPolicy, rules: dict[str, list[RowRule]]
) -> DataFrame:
    """What external logic returns is held to the contract like everything else."""
    frame = run_logic(frame, scope, logic, scope.lakehouse.base)
    required = [rule for rule in rules["pre"] if rule.written_at[0] == "model"]
    stages.append(evaluate(frame, [*required, *rules["post"]], scope, "post", _references(scope)))
    return stages[-1].good()


def _arrived(read: SourceRead, scope: Scope) -> DataFrame:
    """The rows as they come, without columns the engine makes itself, upstream stamps under their kept names."""
    frame = read.frame
    generated = [field.name for field in scope.contract.model.fields if field.generated]
    frame = frame.drop(*generated) if generated else frame
    lineage = scope.contract.lineage
    for name in lineage.preserve_upstream if lineage.enabled else ():
        if name in frame.columns:
            frame = frame.withColumnRenamed(
                name, f"{lineage.upstream_prefix}{name if name.startswith('_') else '_' + name}"
            )
    return frame


def _counted(frame: DataFrame, watermark: str | None) -> tuple[DataFrame, Observation]:
    observation = Observation()
    measures = [F.count(F.lit(1)).alias("rows")]
    if watermark:
        measures.append(F.max(F.expr(f"CAST({quoted(watermark)} AS STRING)")).alias("watermark"))
    return frame.observe(observation, *measures), observation


def _untyped(scope: Scope) -> Scope:
    """The same scope with a contract that declares nothing, for a split that comes before any shape."""
    bare = scope.contract.model_copy(update={"model": type(scope.contract.model)(), "schema_policy": None})
    bare = bare.model_copy(update={"server": type(bare.server)()})
    return replace(scope, contract=bare.with_place(scope.contract.place))


def _references(scope: Scope) -> Reference:
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

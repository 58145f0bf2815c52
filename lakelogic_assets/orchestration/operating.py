"""What operators do, as jobs: run a selection for a window, rebuild days, sign what waits, empty and bring back."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from lakelogic_assets.contract.base import period_seconds
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.overrides import overridden, parse_overrides
from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration import events
from lakelogic_assets.orchestration.engine import Asked, Attempt, Engine
from lakelogic_assets.orchestration.metadata import run_metadata
from lakelogic_assets.orchestration.operation_log import OperationLog, words_of
from lakelogic_assets.orchestration.options import PolicyOptions, policy_of, under_packs
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.orchestration.selecting import SELECT, DaysOfSelection, chosen_days, chosen_products
from lakelogic_assets.plan.campaign import Campaign, Task
from lakelogic_assets.plan.request import PipelineRequest, request_for
from lakelogic_assets.plan.schedule import Progress, Rules, follow_in_order
from lakelogic_assets.spark.approvals import approve
from lakelogic_assets.spark.campaigns import Planner, below
from lakelogic_assets.spark.reprocessing import most_rounds, what_is_left

Events = Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation]
Values = Mapping[Key, Mapping[str, Any]]


class RunContracts(PolicyOptions, DaysOfSelection):
    """What `run_contracts` takes, in the words of the command line."""

    window: str | None = Field(
        default=None,
        description="full, last_success, range or backfill; range where days are named, else full.",
    )
    by: str = Field(default="day", description="How a backfill is cut: day, week or month.")


class Reprocess(PolicyOptions):
    select: list[str] = Field(description=f"{SELECT} What needs them is rebuilt too.")
    first_day: str = Field(description="First day to rebuild, such as 2026-02-01.")
    last_day: str = Field(description="Last day to rebuild, included.")


class Approve(dg.Config):
    contract: str = Field(description="Whose windows are signed.")
    why: str = Field(description="The reason, kept with the signature.")
    window: str | None = Field(default=None, description="Only this window, such as 2026-02-03.")
    run_id: str | None = Field(
        default=None, description="Only what this run asked for: of Dagster or the engine, or a beginning."
    )
    by: str | None = Field(default=None, description="Who signs; else the user of the process.")
    expires: str = Field(default="24h", description="How long the signature counts.")


def operator_jobs(products: Sequence[Product], engine: Engine) -> list[dg.JobDefinition]:
    return [_run_contracts(products, engine), _reprocess(products, engine), _approve(products, engine)]


def _run_contracts(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="run_selection", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def run_selection(context: dg.OpExecutionContext, config: RunContracts):  # type: ignore[no-untyped-def]
        chosen = chosen_products(products, engine, config.select)
        named = frozenset(product.key for product in chosen)
        yield from _operation(context, engine, chosen, _request(config), config, named).events()

    @dg.job(description="Run a layer, an entity or any selection, for a window or for days, in graph order.")
    def run_contracts() -> None:
        run_selection()

    return run_contracts


def _reprocess(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="rebuild", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def rebuild(context: dg.OpExecutionContext, config: Reprocess):  # type: ignore[no-untyped-def]
        named = [product.key for product in chosen_products(products, engine, config.select)]
        keys = {*below(engine.registry, named)}
        chosen = [product for product in chosen_products(products, engine, ()) if product.key in keys]
        request = PipelineRequest(window="reprocess", days=chosen_days(config.first_day, config.last_day))
        yield from _operation(context, engine, chosen, request, config, frozenset(named)).events()

    @dg.job(description="Rebuild some days of some contracts and of everything that is made from them.")
    def reprocess() -> None:
        rebuild()

    return reprocess


def _approve(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="sign", out=dg.Out(dg.Nothing, is_required=False))
    def sign(context: dg.OpExecutionContext, config: Approve):  # type: ignore[no-untyped-def]
        named = chosen_products(products, engine, [config.contract])
        seconds = period_seconds(config.expires)
        if len(named) != 1 or not seconds:
            told = f"{config.contract!r} means {len(named)} contracts; sign one at a time."
            why = told if len(named) != 1 else f"{config.expires!r} is not a length of time; write it as 24h or 7d."
            raise dg.Failure(why, allow_retries=False)
        product = named[0]
        destination = engine.workspace.destination(product.contract)
        try:
            signed = approve(
                destination, product.key, why=config.why, by=config.by, window=config.window, run_id=config.run_id,
                expires=timedelta(seconds=seconds),
            )  # fmt: skip
        except LakeLogicError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        for window, approval in signed:
            told = f"Signed by {approval.by}: {approval.why}. Run the window again to publish it."
            context.log.info(f"{'/'.join(product.key)} {window.key}: {told}")
            check = next((each for each in product.checks if each.kind == "approval"), None)
            if check is not None:
                yield dg.AssetCheckEvaluation(
                    asset_key=product.asset_key,
                    check_name=check.name,
                    passed=True,
                    description=told,
                    metadata=approval.as_dict(),
                    partition=None if window.is_full or product.partitions is None else window.key,
                )

    @dg.job(name="approve", description="Sign what waits, so that the next run of the window publishes it.")
    def approve_job() -> None:
        sign()

    return approve_job


def _request(config: RunContracts) -> PipelineRequest:
    days = chosen_days(config.first_day, config.last_day)
    try:
        mode = config.window or ("range" if days else "full")
        return request_for(mode, days, by=config.by)
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


@dataclass(frozen=True)
class _Operation:
    """A request on its way: its tasks in order, each recorded as soon as it is done."""

    context: dg.OpExecutionContext
    engine: Engine
    products: Sequence[Product]
    request: PipelineRequest
    asked: Asked
    named: frozenset[tuple[str, ...]]
    """What was selected; values that are set go to these alone."""
    log: OperationLog
    troubles: dict[str, str] = field(default_factory=dict)

    def events(self) -> Events:
        self._refuse_everything_at_once()
        values = self._values()
        keys = [product.key for product in self.products]
        campaign = self._planned(keys)
        with self.log.kept(campaign):
            yield from self._rounds(campaign, keys, values)
        if self.troubles:
            told = "; ".join(f"{name}: {why}" for name, why in self.troubles.items())
            raise dg.Failure(f"{len(self.troubles)} windows were not published: {told}", allow_retries=False)

    def _rounds(self, first: Campaign, keys: Sequence[Key], values: Values) -> Events:
        campaign: Campaign | None = first
        done: dict[Task, Any] = {}
        for _ in range(most_rounds(self.engine.registry)):
            if campaign is None or not campaign.tasks:
                break
            self.log.expect(campaign)
            yield from self._run(campaign, done, values)
            registry, workspace = self.engine.registry, self.engine.workspace
            campaign = what_is_left(self.request, registry, workspace, keys, done, self.asked.run_id)

    def _planned(self, keys: Sequence[tuple[str, ...]]) -> Campaign:
        try:
            return Planner(self.engine.registry, self.engine.workspace).campaign(self.request, keys)
        except LakeLogicError as error:
            raise dg.Failure(str(error), allow_retries=False) from error

    def _refuse_everything_at_once(self) -> None:
        """A table by day would get everything beside the days that are there."""
        by_day = ["/".join(product.key) for product in self.products if product.partitions is not None]
        if by_day and self.request.window == "full":
            told = f"{', '.join(by_day)} are made by partitions: name a `first_day`, or the window `last_success`."
            raise dg.Failure(told, allow_retries=False)

    def _values(self) -> Values:
        """What was set, for each contract that it is meant for; what does not fit is refused."""
        if not self.asked.overrides:
            return {}
        registry, project = self.engine.registry, self.engine.workspace.project
        try:
            found = overridden(registry, parse_overrides(self.asked.overrides), project, self.named)
        except LakeLogicError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        # Not only what is blamed on the option: a contract that it breaks is left as it was, and would run without it.
        wrong = [str(problem) for problem in found.errors if problem not in registry.problems]
        if wrong:
            raise dg.Failure("; ".join(wrong), allow_retries=False)
        return {key: found.contracts[key].place.overrides for key in self.named}

    def _run(self, campaign: Campaign, done: dict[Task, Any], values: Values) -> Events:
        rules = Rules[Task, Attempt](lambda attempt: attempt.state, stands_in=self._stands_in, after=campaign.after)
        upstream = {task: campaign.upstream[task] for task in campaign.tasks}
        for progress in follow_in_order(upstream, lambda task: self._attempted(task, values), rules):
            if progress.state != "started":
                done[progress.key] = progress
                yield from self._recorded(progress)

    @property
    def _by_key(self) -> dict[tuple[str, ...], Product]:
        return {product.key: product for product in self.products}

    def _attempted(self, task: Task, values: Values) -> Attempt:
        if task.warns:
            self.context.log.warning(f"{task}: {task.why}")
        asked = replace(self._asked_for(task), overrides=values.get(task.key, {}))
        return self.engine.run(self._by_key[task.key], task.window, asked)

    def _asked_for(self, task: Task) -> Asked:
        told = replace(self.asked, why=task.why, warns=task.warns, skipped=task.skipped)
        return replace(told, reprocess=task.rebuilds, overrides={})

    def _stands_in(self, task: Task, blocker: Task) -> bool:
        return self.asked.policy.ignore_gates or self.engine.stands_in(blocker.key, task.key)

    def _recorded(self, progress: Progress[Task, Attempt]) -> Events:
        task, product = progress.key, self._by_key[progress.key.key]
        partition = None if task.window.is_full or product.partitions is None else task.window.key
        attempt = progress.result
        if progress.error is not None:
            raise progress.error
        if attempt is None:
            why = progress.reason or f"waits for {', '.join(map(str, progress.waits_for))}"
            attempt = self.engine.hold(product, task.window, self._asked_for(task), why)
        self.log.tell(task, attempt, held=progress.result is None)
        if attempt.trouble is not None:
            self.troubles[str(task)] = attempt.trouble
        report = attempt.report
        if attempt.published and report is not None:
            yield dg.AssetMaterialization(
                product.asset_key,
                partition=partition,
                metadata=run_metadata(report, partitioned=partition is not None),
                tags={"dagster/data_version": attempt.version},
            )
        elif attempt.skipped and report is not None:
            reason = "; ".join(report.reasons)
            self.context.log.warning(f"{'/'.join(product.key)} is skipped: {reason}")
            yield dg.AssetObservation(product.asset_key, partition=partition, metadata={"skipped_because": reason})
        target = events.latest(self.context.instance, product.asset_key, partition) if attempt.published else None
        yield from events.evaluations(product, attempt.outcomes, partition, target, holding=False)


def _operation(
    context: dg.OpExecutionContext,
    engine: Engine,
    products: Sequence[Product],
    request: PipelineRequest,
    config: PolicyOptions,
    named: frozenset[tuple[str, ...]],
) -> _Operation:
    """What the words of the config come to."""
    asked = Asked(
        run_id=context.run_id,
        spark=lambda: context.resources.spark.spark_session,
        policy=policy_of(config, engine),
        overrides=config.set_values,
        window=request.window,
        say=context.log.info,
    )
    engine, laid = under_packs(engine, products, config)
    words = words_of(
        engine, request, asked.policy, config, ["/".join(product.key) for product in laid if product.key in named]
    )
    return _Operation(context, engine, laid, request, asked, named, OperationLog(engine, context.run_id, words))

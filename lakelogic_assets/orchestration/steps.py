"""What a step does: its windows one after another, each recorded and judged on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from pydantic import Field

from lakelogic_assets.contract.graph import Key
from lakelogic_assets.orchestration import events
from lakelogic_assets.orchestration.deadline import set_deadline
from lakelogic_assets.orchestration.engine import Asked, Attempt, Engine
from lakelogic_assets.orchestration.metadata import column_lineage, run_metadata
from lakelogic_assets.orchestration.naming import asset_key
from lakelogic_assets.orchestration.options import PolicyOptions, policy_of, under_packs
from lakelogic_assets.orchestration.product import Product


class RunOptions(PolicyOptions):
    """What a person may say when starting a materialization."""

    reprocess: bool = Field(
        default=False,
        description="Rows of these windows that the source no longer has give way, by `reprocess_policy`.",
    )


@dataclass
class _Progress:
    """What became of the windows so far."""

    published: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    """Of the troubles, those of windows that were tried and not even judged."""


@dataclass(frozen=True)
class Step:
    """One execution of one asset: which windows, which checks, and on whose behalf."""

    context: dg.AssetExecutionContext
    product: Product
    engine: Engine
    options: RunOptions

    @staticmethod
    def of(context: dg.AssetExecutionContext, product: Product, engine: Engine, options: RunOptions) -> Step:
        """The step, its contract with the policy packs that were asked for."""
        engine, (product,) = under_packs(engine, [product], options)
        return Step(context, product, engine, options)

    @property
    def asked(self) -> Asked:
        return Asked(
            run_id=self.context.run.run_id,
            spark=lambda: self.context.resources.spark.spark_session,
            policy=policy_of(self.options, self.engine),
            reprocess=self.options.reprocess,
            overrides=self.options.set_values,
            say=self.context.log.info,
        )

    @property
    def partitions(self) -> list[str | None]:
        """The partitions of this asset in this run; a run over days also runs assets that have none."""
        context = self.context
        if self.product.partitions is None or not (context.has_partition_key or context.has_partition_key_range):
            return [None]
        return [*context.partition_keys]

    def events(self) -> Iterator[Any]:
        """Materialize the selected windows, or judge what is in the table when only checks were asked for."""
        if self.product.asset_key in self.context.selected_asset_keys:
            return self._materialized()
        return self._looked_at()

    def _materialized(self) -> Iterator[Any]:
        partitions = self.partitions
        several = len(partitions) > 1
        if self.product.partitions is not None and partitions == [None]:
            # Everything at once would be written beside the days that are there.
            told = f"{'/'.join(self.product.key)} is made by `{self.product.partitions.name}` partitions: choose some."
            raise dg.Failure(told, allow_retries=False)
        asked = self.asked
        seconds = asked.policy.timeout_seconds or self.product.settings.timeout_seconds
        set_deadline(self.context.instance, self.context.run.run_id, self.product, len(partitions), seconds)
        waits = self._waits(partitions) if several and not self.options.ignore_gates else {}
        progress = _Progress()
        for partition in partitions:
            name, window = partition or "full", self.product.window(partition)
            if name in waits:
                reason = f"{'/'.join(waits[name])} did not publish it in run {self.context.run.run_id[:8]}"
                attempt = self.engine.hold(self.product, window, asked, reason)
            else:
                attempt = self.engine.run(self.product, window, asked)
            if attempt.trouble is None:
                progress.published += 1
            else:
                progress.troubles[name] = attempt.trouble
                if attempt.report is None and name not in waits:
                    progress.errors[name] = attempt.trouble
                self.context.log.error(f"{'/'.join(self.product.key)} {name}: {attempt.trouble}")
            yield from self._recorded(attempt, partition, several=several)
        if several and progress.published:
            yield events.passed_on(self.product)
        goes_on = several and progress.published > 0 and self._has_downstream()
        if progress.troubles and not goes_on:
            raise _failure(self.product, progress, len(partitions))
        if not goes_on and (stood_in := self._lost_above()):
            # The steps above have passed on their good days, so nobody else would say that they have bad ones.
            raise _stood_in(self.product, stood_in)
        for name, why in progress.errors.items():
            # The step goes on for its good days, so whoever needs the others is told by a hold.
            self.engine.keep_back(self.product, self.product.window(name), asked, why)
        yield from self._check_outputs()

    def _recorded(self, attempt: Attempt, partition: str | None, *, several: bool) -> Iterator[Any]:
        product, report = self.product, attempt.report
        target = None
        if attempt.published and report is not None:
            metadata = run_metadata(report, partitioned=partition is not None)
            metadata |= column_lineage(product.contract, self.engine.registry)
            if several and partition is not None:
                yield events.one_of_many(self.context, product, partition, metadata, attempt.version)
            else:
                yield events.whole(product, metadata, attempt.version)
            target = events.latest(self.context.instance, product.asset_key, partition)
        yield from self._evaluations(attempt, partition, target, holding=not several)

    def _looked_at(self) -> Iterator[Any]:
        """Checks alone: the table stays as it is."""
        for partition in self.partitions:
            attempt = self.engine.look(self.product, self.product.window(partition), self.asked)
            if attempt.trouble is not None:
                raise dg.Failure(attempt.trouble, allow_retries=False)
            target = events.latest(self.context.instance, self.product.asset_key, partition)
            yield from self._evaluations(attempt, partition, target, holding=False)
        yield from self._check_outputs()

    def _evaluations(self, attempt: Attempt, partition: str | None, target: Any, *, holding: bool) -> Iterator[Any]:
        found = [outcome for outcome in attempt.outcomes if outcome.check.name in self._wanted]
        return events.evaluations(self.product, found, partition, target, holding=holding)

    @property
    def _wanted(self) -> set[str]:
        return {key.name for key in self.context.selected_asset_check_keys}

    def _check_outputs(self) -> Iterator[dg.Output[None]]:
        wanted = self._wanted
        for check in self.product.checks:
            if check.name in wanted:
                yield dg.Output(None, output_name=events.output_name(self.product.asset_key, check.name))

    def _waits(self, partitions: Sequence[str | None]) -> dict[str, Key]:
        """By day, an upstream that should have brought it in this very run and did not, unless its table stands in."""
        days = [day for day in partitions if day is not None]
        product = self.product
        alike = [up for up in product.upstream if product.upstream_partitions.get(up) == product.partitions]
        missing = self._missing({asset_key(up) for up in alike}, days)
        lost = {up: missing[asset_key(up)] for up in alike if asset_key(up) in missing}
        return {day: up for up, found in lost.items() if not self.engine.stands_in(up, product.key) for day in found}

    def _lost_above(self) -> dict[dg.AssetKey, list[str]]:
        """What the assets that this one is made from, near or far, have not published of this run's days."""
        context, layer = self.context, self.context.job_def.asset_layer
        cut = layer.get(self.product.asset_key).partitions_def or context.job_def.partitions_def
        if cut is None or not context.has_partition_key_range:
            return {}
        above: set[dg.AssetKey] = set()
        found = {self.product.asset_key}
        while found:
            parents = {key for each in found for key in layer.get(each).parent_keys}
            found = parents & layer.selected_asset_keys - above
            above |= found
        return self._missing({key for key in above if layer.get(key).partitions_def == cut}, context.partition_keys)

    def _missing(self, keys: Set[dg.AssetKey], days: Sequence[str]) -> dict[dg.AssetKey, list[str]]:
        """By asset that is part of this run, the days that it has not published."""
        running = keys & self.context.job_def.asset_layer.selected_asset_keys
        done = events.days_of_run(self.context.instance, running, self.context.run) if running else {}
        missing = {key: [day for day in days if day not in done[key]] for key in sorted(running, key=str)}
        return {key: lost for key, lost in missing.items() if lost}

    def _has_downstream(self) -> bool:
        """Whether a later step of this run waits for this asset: failing here would take its good days with it."""
        layer = self.context.job_def.asset_layer
        return bool(layer.get(self.product.asset_key).child_keys & set(layer.selected_asset_keys))


def _failure(product: Product, progress: _Progress, windows: int) -> dg.Failure:
    names = list(progress.troubles)
    told = "; ".join(f"{name}: {why}" for name, why in progress.troubles.items())
    many = f"{len(names)} of {windows} windows were not published: " if windows > 1 else ""
    return dg.Failure(
        description=f"{'/'.join(product.key)}: {many}{told}",
        metadata={"not_published": names, "published": progress.published},
        allow_retries=False,
    )


def _stood_in(product: Product, missing: Mapping[dg.AssetKey, Sequence[str]]) -> dg.Failure:
    told = "; ".join(f"{key.to_user_string()} did not publish {', '.join(days)}" for key, days in missing.items())
    return dg.Failure(
        description=f"{'/'.join(product.key)} is published, with what was there before: {told} in this run.",
        allow_retries=False,
    )

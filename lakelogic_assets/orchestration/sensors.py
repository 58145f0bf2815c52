"""Files that arrive start the contracts that read them, for the days they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.external import landing_key
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.spark.sources.arrivals import Arrival, arrivals

NAME = "new_files"
_DAYS_A_TICK = 30
_LONGEST_PARTITION = 62
_A_MOMENT = 0.001


def file_sensor(products: Sequence[Product], engine: Engine) -> dg.SensorDefinition:
    """Off until a person switches it on. Its cursor is the time of the newest file it has seen of each contract."""
    watched = [(product, landing) for product in products if (landing := landing_key(product)) is not None]

    @dg.sensor(
        name=NAME,
        # By selection and not as a target, which would make a second job of all these assets.
        asset_selection=dg.AssetSelection.assets(*[product.asset_key for product, _ in watched]),
        minimum_interval_seconds=60,
        description="Runs what reads from a landing folder when files arrive there, for the days they are about.",
    )
    def new_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        seen: dict[str, float] = json.loads(context.cursor) if context.cursor else {}
        requests: list[dg.RunRequest] = []
        observed: list[dg.AssetObservation] = []
        for product, landing in watched:
            name = "/".join(product.key)
            try:
                found = arrivals(product.contract, engine.workspace.lakehouse(product.contract), seen.get(name))
            except LakeLogicError as error:
                # One folder that cannot be looked into keeps no other from being watched.
                context.log.warning(f"{name} is not watched: {error}")
                continue
            if found:
                early = [arrival for arrival in found if _is_early(product, arrival)]
                # Files of a day that is not over stay new until its partition exists.
                seen[name] = min(arrival.mtime for arrival in early) - _A_MOMENT if early else found[-1].mtime
                requests += _requests(product, found)
                observed.append(_observation(landing, found))
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else dg.SkipReason("No new files."),
            cursor=json.dumps(seen),
            asset_events=observed,
        )

    return new_files


def _requests(product: Product, found: Sequence[Arrival]) -> Iterator[dg.RunRequest]:
    """One request for each day that files came for; by their run key the same files are never asked for twice."""
    name = "/".join(product.key)
    tags = {"lakelogic/started_by": NAME}
    newest: dict[str | None, float] = {}
    for arrival in found:
        for partition in _partitions(product, arrival):
            newest[partition] = max(arrival.mtime, newest.get(partition, 0.0))
    # More is a backfill, which a person starts as one run.
    for partition, mtime in [*newest.items()][-_DAYS_A_TICK:]:
        key = f"{name}:{partition or 'all'}:{mtime:.3f}"
        yield dg.RunRequest(run_key=key, partition_key=partition, asset_selection=[product.asset_key], tags=tags)


def _partitions(product: Product, arrival: Arrival) -> list[str | None]:
    """The partitions a file is about; of a source without dates in its folders, the newest."""
    if product.partitions is None:
        return [None]
    if arrival.span is None:
        today = datetime.now(UTC).date()
        return product.partitions_between((today - timedelta(days=_LONGEST_PARTITION), today))[-1:]
    start, end = arrival.span
    return product.partitions_between((start.date(), (end - timedelta(microseconds=1)).date()))


def _is_early(product: Product, arrival: Arrival) -> bool:
    """Whether the file's partition will exist, but does not yet."""
    declared = product.partitions
    if declared is None or arrival.span is None or _partitions(product, arrival):
        return False
    day = arrival.span[0].date().isoformat()
    return declared.start <= day and (declared.end is None or day < declared.end)


def _observation(landing: dg.AssetKey, found: Sequence[Arrival]) -> dg.AssetObservation:
    newest = dg.MetadataValue.path(found[-1].path)
    return dg.AssetObservation(landing, metadata={"new_files": len(found), "newest_file": newest})

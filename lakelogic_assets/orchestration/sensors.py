"""Files that arrive start the contracts that read them, for the days they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import dagster as dg

from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.external import landing_key
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.spark.sources.arrivals import Arrival, arrivals

NAME = "new_files"
_DAYS_A_TICK = 30


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
            found = arrivals(product.contract, engine.workspace.lakehouse(product.contract), seen.get(name))
            if found:
                seen[name] = found[-1].mtime
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
    mark = f"{found[-1].mtime:.3f}-{len(found)}"
    name = "/".join(product.key)
    tags = {"lakelogic/started_by": NAME}
    for partition in _partitions(product, found):
        key = f"{name}:{partition or 'all'}:{mark}"
        yield dg.RunRequest(run_key=key, partition_key=partition, asset_selection=[product.asset_key], tags=tags)


def _partitions(product: Product, found: Sequence[Arrival]) -> list[str | None]:
    if product.partitions is None:
        return [None]
    spans = [arrival.span for arrival in found if arrival.span is not None]
    days = sorted({start.date() for start, _ in spans})
    keys = dict.fromkeys(key for day in days for key in product.partitions_between((day, day)))
    # More is a backfill, which a person starts as one run.
    return [*keys][-_DAYS_A_TICK:]


def _observation(landing: dg.AssetKey, found: Sequence[Arrival]) -> dg.AssetObservation:
    newest = dg.MetadataValue.path(found[-1].path)
    return dg.AssetObservation(landing, metadata={"new_files": len(found), "newest_file": newest})

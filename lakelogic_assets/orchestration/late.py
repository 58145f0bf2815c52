"""Late data finds itself: windows that rows came for after they were built are asked for again, and no others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence

import dagster as dg

from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.late import LateReport, LateWindow
from lakelogic_assets.spark.reprocessing import late_of

NAME = "late_data"
_WINDOWS_A_TICK = 30


def late_sensor(products: Sequence[Product], engine: Engine) -> dg.SensorDefinition:
    """Off until a person switches it on. What is late is told by the logs, until it is rebuilt.

    Its cursor holds what it has asked for, so that windows that keep failing do not take the turn of the others.
    """
    watched = [product for product in products if product.partitions is not None]

    @dg.sensor(
        name=NAME,
        asset_selection=dg.AssetSelection.assets(*[product.asset_key for product in watched]),
        minimum_interval_seconds=300,
        description="Rebuilds exactly the past windows that rows or files have come for since they were built.",
    )
    def late_data(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        planner = Planner(engine.registry, engine.workspace)
        requests: list[dg.RunRequest] = []
        for product in watched:
            report = late_of(planner, product.contract)
            if report is not None:
                for note in report.notes:
                    context.log.warning(f"{'/'.join(product.key)}: {note}")
                requests += _requests(product, report)
        return _turn(requests, json.loads(context.cursor) if context.cursor else ())

    return late_data


def _turn(late: Sequence[dg.RunRequest], asked_before: Collection[str]) -> dg.SensorResult:
    """As many as go into one tick, of those that were not asked for as they stand now."""
    marks = {_mark(request): request for request in late}
    known = marks.keys() & asked_before
    new = [mark for mark in marks if mark not in known][:_WINDOWS_A_TICK]
    before = f"{len(known)} late windows were asked for before; look at their runs."
    return dg.SensorResult(
        run_requests=[marks[mark] for mark in new],
        skip_reason=None if new else dg.SkipReason(before if known else "Nothing has come late."),
        # What is no longer late is forgotten.
        cursor=json.dumps(sorted(known | {*new})),
    )


def _mark(request: dg.RunRequest) -> str:
    return hashlib.sha256((request.run_key or "").encode()).hexdigest()[:16]


def _requests(product: Product, report: LateReport) -> Iterator[dg.RunRequest]:
    """One request for each window; by its run key the same rows ask only once."""
    for each in report.late:
        yield dg.RunRequest(
            run_key=_key(product, each),
            partition_key=each.window.key,
            asset_selection=[product.asset_key],
            run_config={"ops": {product.op_name: {"config": {"reprocess": True}}}},
            tags={
                "lakelogic/started_by": NAME,
                "lakelogic/late_rows": str(each.rows if each.rows is not None else "?"),
            },
        )


def _key(product: Product, late: LateWindow) -> str:
    newest = late.arrived[-1] if late.arrived else None
    what = f"{newest.version}:{newest.at}:{newest.file}" if newest else f"gone:{late.gone}"
    return f"{'/'.join(product.key)}:{late.window.key}:{late.built_by}:{what}"

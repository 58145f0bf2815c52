"""A contract's `timeout` as the deadline of the run, moved on from step to step.

Dagster has no timeout for an asset: its monitoring ends a run whose `dagster/max_runtime` is over. Steps of a run go
one after another here, so the tag is set anew when each begins.
"""

from __future__ import annotations

import time

import dagster as dg

from lakelogic_assets.orchestration.product import Product

MAX_RUNTIME = "dagster/max_runtime"
_SET_BY_US = "lakelogic/deadline_of"
_NO_LIMIT = 10 * 365 * 86_400


def set_deadline(
    instance: dg.DagsterInstance, run_id: str, product: Product, windows: int, seconds: float | None
) -> None:
    """Give the step so many seconds for each of its windows; a limit that a person set on the run stays as it is."""
    record = instance.get_run_record_by_id(run_id)
    if record is None:
        return
    tags = record.dagster_run.tags
    ours = _SET_BY_US in tags
    if (MAX_RUNTIME in tags and not ours) or (seconds is None and not ours):
        return
    elapsed = time.time() - (record.start_time or time.time())
    usual = instance.run_monitoring_max_runtime_seconds or _NO_LIMIT
    limit = elapsed + (seconds * windows if seconds is not None else usual)
    instance.add_run_tags(run_id, {MAX_RUNTIME: str(int(limit) + 1), _SET_BY_US: product.op_name})

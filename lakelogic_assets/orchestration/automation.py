"""When an asset is late, and when it runs by itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from typing import Any

import dagster as dg
from dagster._utils.schedules import cron_string_iterator

from lakelogic_assets.contract.cron import five_fields
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.objectives import freshness_objective
from lakelogic_assets.orchestration.external import external_keys
from lakelogic_assets.orchestration.naming import asset_key
from lakelogic_assets.orchestration.product import Product

SENSOR = "contracts_automation"
_SHORTEST = 60
_WARN_AT = 0.75
# Long enough to meet every gap of a weekly cron, also around a change of the clocks.
_TICKS_LOOKED_AT = 40


def freshness_policy(contract: Contract) -> dg.FreshnessPolicy | None:
    """A window of time, or a deadline where the contract is scheduled less often than its data may be old.

    A table that is filled at six and may be two hours old is not late at noon; it is late when it was not filled by
    eight.
    """
    objective = freshness_objective(contract)
    if objective is None:
        return None
    allowed = timedelta(seconds=max(objective.seconds, _SHORTEST))
    cron = five_fields(contract.schedule) if contract.schedule else None
    if cron is not None and allowed < _shortest_gap(cron):
        deadline = _shifted(cron, allowed)
        if deadline is not None:
            return dg.FreshnessPolicy.cron(deadline_cron=deadline, lower_bound_delta=allowed, timezone="UTC")
    warn = allowed * _WARN_AT if allowed * _WARN_AT >= timedelta(seconds=_SHORTEST) else None
    return dg.FreshnessPolicy.time_window(fail_window=allowed, warn_window=warn)


def _shortest_gap(cron: str) -> timedelta:
    start = datetime(2026, 1, 1).timestamp()
    ticks = islice(cron_string_iterator(start, cron, "UTC"), _TICKS_LOOKED_AT)
    return min(later - earlier for earlier, later in pairwise(ticks))


def _shifted(cron: str, delay: timedelta) -> str | None:
    """The same schedule, later on the same day; None where that cannot be said in a cron."""
    minute, hour, *days = cron.split()
    if not (minute.isdigit() and hour.isdigit()):
        return None
    total = int(hour) * 60 + int(minute) + int(delay.total_seconds() // 60)
    return " ".join([str(total % 60), str(total // 60), *days]) if total < 24 * 60 else None


def automation_condition(product: Product) -> dg.AutomationCondition[Any] | None:
    """On its schedule, or after its upstreams; never after a failed gate, because nothing is published then.

    Sources outside of the graph are never materialized here, so waiting for them would be waiting for ever.
    """
    said, schedule = product.settings.automation, product.contract.schedule
    cron = five_fields(schedule) if schedule else None
    if said == "off" or (said is None and cron is None and not product.upstream):
        return None
    never_run = [*external_keys(product), *map(asset_key, product.switched_off)]
    outside = dg.AssetSelection.assets(*never_run) if never_run else None
    if cron is not None and said != "eager":
        if not product.upstream:
            tick: Any = dg.AutomationCondition.cron_tick_passed(cron, "UTC")
            due = tick.since_last_handled()
            return dg.AutomationCondition.in_latest_time_window() & due & ~dg.AutomationCondition.in_progress()
        condition = _on_cron(cron)
    else:
        condition = _eager()
    return condition.ignore(outside) if outside is not None else condition


@cache
def _eager() -> Any:
    """One for all assets: a condition does not know whose it is, and is made of two dozen others."""
    return dg.AutomationCondition.eager()


@cache
def _on_cron(cron: str) -> Any:
    return dg.AutomationCondition.on_cron(cron, "UTC")


def automation_sensor() -> dg.AutomationConditionSensorDefinition:
    """Off until a person switches it on: a laptop should not start runs because somebody opened the UI."""
    return dg.AutomationConditionSensorDefinition(
        SENSOR,
        target=dg.AssetSelection.all(),
        description="Runs what is due: on its schedule, or after its upstreams.",
        default_status=dg.DefaultSensorStatus.STOPPED,
        run_tags={"lakelogic/started_by": "automation"},
    )

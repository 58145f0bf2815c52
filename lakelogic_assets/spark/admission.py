"""May a run begin at all? Answered from notes and logs, before Spark is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.gates.circuit import PastRun, open_circuit
from lakelogic_assets.gates.freshness import spoken
from lakelogic_assets.gates.upstream import too_old
from lakelogic_assets.names import ANY_UPSTREAM
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.environments import in_environment
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.request import RunRequest, Upstream
from lakelogic_assets.spark.run_log import read_runs
from lakelogic_assets.spark.window_states import WENT_WELL, went_well_at
from lakelogic_assets.spark.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a run does not begin, in the words for its report and for the note that holds back what is below it."""

    reasons: tuple[str, ...]
    noted: tuple[str, ...]


def refusal(
    contract: Contract, destination: Destination, request: RunRequest, warn: Callable[[str], None]
) -> Refusal | None:
    """The first kind of reason that there is: an upstream that is held, one that is too old, an open circuit."""
    if request.ignore_gates:
        return None
    now = datetime.now(UTC)
    held = [*_held(contract, destination, request, now, warn)]
    if held:
        told = tuple(map(str, held))
        return Refusal(tuple(f"{each}; run that window again or pass ignore_gates" for each in told), told)
    stale = tuple(_stale(request, now))
    if stale:
        return Refusal(stale, stale)
    limit = settings_of(contract).max_consecutive_failures
    if not limit:
        return None
    here = in_environment(contract, request.environment or contract.place.environment)
    circuit = open_circuit(_history(contract, destination, limit), limit, now, fingerprint(here))
    return Refusal((circuit,), (circuit,)) if circuit else None


def _held(
    contract: Contract, destination: Destination, request: RunRequest, now: datetime, warn: Callable[[str], None]
) -> Iterator[Hold]:
    """Holds over what the run reads; with a lookback that is more than its window.

    A table that the contract lets be old stands in for its held window while it is not older than that.
    """
    read = read_window(contract, request.window)
    holds = Holds(destination.holds)
    for upstream in request.upstream:
        over = holds.over([upstream.key], read)
        if over and upstream.grace_seconds is not None and stands_in(upstream, now):
            warn(f"{over[0]}; what it had before is read, which may be {spoken(upstream.grace_seconds)} old.")
        else:
            yield from over


def stands_in(upstream: Upstream, now: datetime) -> bool:
    """Whether what an upstream last brought is still good enough for this contract."""
    if upstream.grace_seconds is None or upstream.run_log is None:
        return False
    return too_old("/".join(upstream.key), _last_success(upstream), upstream.grace_seconds, now) is None


def _stale(request: RunRequest, now: datetime) -> Iterator[str]:
    for upstream in request.upstream:
        if upstream.most_seconds is not None and upstream.run_log is not None:
            why = too_old("/".join(upstream.key), _last_success(upstream), upstream.most_seconds, now)
            if why:
                yield f"{why}; run it first or pass ignore_gates"


def _last_success(upstream: Upstream) -> datetime | None:
    return went_well_at(upstream.run_log or "", "/".join(upstream.key))


def _history(contract: Contract, destination: Destination, limit: int) -> list[PastRun]:
    # Runs that were held say nothing; one that is logged again when it is recovered counts once.
    name, tried = "/".join(contract.key), ("failed", *WENT_WELL)
    rows = read_runs(destination.run_log, contract=name, statuses=tried, limit=limit * 2, with_reports=True)
    each = {row["run_id"]: row for row in reversed(rows)}
    return [
        PastRun(row["status"], row["timestamp"], (row["report"] or {}).get("fingerprint"))
        for row in reversed(each.values())
    ]


def upstreams_of(registry: Registry, workspace: Workspace, key: Key) -> tuple[Upstream, ...]:
    """The contracts that this one waits for, with the grace that it gives each of them, or the limit of all."""
    contract = registry.contracts[key]
    said = settings_of(contract).upstream_freshness
    limit = said.get(ANY_UPSTREAM)
    grace = {found: seconds for name, seconds in said.items() for found in registry.candidates(name, key)}
    return tuple(
        Upstream(each, workspace.destination(registry.contracts[each]).run_log, grace.get(each), limit)
        for each in registry.graph.upstream[key]
    )

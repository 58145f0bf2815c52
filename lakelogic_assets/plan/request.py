"""What an operator asks for, in the words that the command line, Dagster and Python share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, get_args

from lakelogic_assets.contract.base import period_seconds
from lakelogic_assets.errors import RequestError
from lakelogic_assets.plan.calendar import Days, Granularity

Mode = Literal["full", "last_success", "range", "backfill", "reprocess"]
Direction = Literal["forward", "reverse"]
MODES: tuple[str, ...] = get_args(Mode)
_FARTHEST_ZONE = timedelta(hours=14)
"""Where on Earth a day begins first."""
DATED: tuple[Mode, ...] = ("range", "backfill", "reprocess")


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """Which contracts, and which time of theirs.

    `full` takes everything there is, or what is new where a contract is incremental. `last_success` takes what came
    since the last run that succeeded. `range` takes some days at once, `backfill` cuts them into windows, `reprocess`
    rebuilds them and everything that is made from them.
    """

    select: tuple[str, ...] = ()
    window: Mode = "full"
    days: Days | None = None
    by: Granularity = "day"
    direction: Direction = "forward"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        first, last = self.days or (None, None)
        return {
            "select": list(self.select),
            "window": self.window,
            "from": first.isoformat() if first else None,
            "to": last.isoformat() if last else None,
            "by": self.by,
            "direction": self.direction,
        }

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> PipelineRequest:
        """The request that `as_dict` gave."""
        first, last = (date.fromisoformat(said[name]) if said.get(name) else None for name in ("from", "to"))
        return PipelineRequest(
            select=tuple(said.get("select", ())),
            window=said.get("window", "full"),
            days=(first, last) if first and last else None,
            by=said.get("by", "day"),
            direction=said.get("direction", "forward"),
        )


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Whether a person must sign a schema drift or too many bad rows before they are published."""

    required: bool = False
    file: str | None = None
    """A file whose presence is the signature."""


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """How the runs of a request are to go, beyond what contracts and resources say."""

    parallel: int | None = None
    ignore_gates: bool = False
    retries: int = 2
    retry_seconds: float = 5.0
    timeout_seconds: float | None = None
    max_consecutive_failures: int | None = None
    approval: ApprovalPolicy = ApprovalPolicy()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, only those that differ from the usual."""
        usual = asdict(RunPolicy())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> RunPolicy:
        """The policy that `as_dict` gave."""
        known = {name: value for name, value in said.items() if name in RunPolicy.__slots__}
        approval = ApprovalPolicy(**known.pop("approval", {}))
        return RunPolicy(approval=approval, **known)


def policy_for(
    usual: RunPolicy,
    *,
    parallel: int | None = None,
    ignore_gates: bool = False,
    retries: int | None = None,
    timeout: str | None = None,
    max_consecutive_failures: int | None = None,
    approval_required: bool = False,
    approval_file: str | None = None,
) -> RunPolicy:
    """What was said for one call, on top of what is usual in the project."""
    seconds = period_seconds(timeout) if timeout else None
    if timeout and not seconds:
        raise RequestError(f"{timeout!r} is not a length of time; write it as 30m or 2h.")
    return replace(
        usual,
        parallel=parallel,
        ignore_gates=ignore_gates,
        retries=usual.retries if retries is None else retries,
        timeout_seconds=seconds,
        max_consecutive_failures=max_consecutive_failures,
        approval=ApprovalPolicy(approval_required or approval_file is not None, approval_file),
    )


def days_between(first: str | None, last: str | None, *, today: date | None = None) -> Days | None:
    """Two days as people write them, both included; without a last day only the first. None where none is named.

    Whose today it is depends on the zone of what is asked for, which is not known here: the earliest of all counts.
    """
    start, end = _day(first), _day(last)
    if start is None:
        if end is not None:
            raise RequestError(f"The last day {end} has no first day; name both.")
        return None
    end = end or start
    if end < start:
        raise RequestError(f"The last day {end} is before the first day {start}; swap them.")
    refuse_future(end, today or (datetime.now(UTC) + _FARTHEST_ZONE).date())
    return start, end


def refuse_future(day: date, newest: date) -> None:
    """A day that has not begun has no data."""
    if day > newest:
        raise RequestError(f"The day {day} is in the future; the newest that can be asked for is {newest}.")


def _day(text: str | None) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise RequestError(f"{text!r} is not a day; write it as 2026-02-01.") from None


def request_for(
    mode: str, days: Days | None, *, select: tuple[str, ...] = (), by: str = "day",
    direction: Direction = "forward",
) -> PipelineRequest:  # fmt: skip
    """A request that makes sense, or a RequestError that says what is missing."""
    if mode not in MODES:
        raise RequestError(f"{mode!r} is not a window; choose one of {', '.join(MODES)}.")
    if by not in get_args(Granularity):
        raise RequestError(f"{by!r} is not how days are cut; choose one of {', '.join(get_args(Granularity))}.")
    if mode in DATED and days is None:
        raise RequestError(f"The window `{mode}` needs a first and a last day.")
    if mode not in DATED and days is not None:
        raise RequestError(f"The window `{mode}` takes no days; ask for `range`, or leave them out.")
    return PipelineRequest(select, mode, days, by, direction)  # type: ignore[arg-type]

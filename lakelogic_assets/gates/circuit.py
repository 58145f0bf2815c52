"""A contract that keeps failing is left alone for a while instead of being tried again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

COOL_DOWN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PastRun:
    """As much of an earlier run as the circuit needs."""

    status: str
    ended_at: datetime
    fingerprint: str | None = None


def open_circuit(history: Sequence[PastRun], limit: int, now: datetime, fingerprint: str | None) -> str | None:
    """Why the contract may not be tried now; `history` is newest first.

    It closes by itself when the contract has changed or some time has passed: then one run tries again.
    """
    tried = [run for run in history if run.status in ("failed", "success", "no_new_data", "unchanged")]
    latest = tried[:limit]
    if len(latest) < limit or any(run.status != "failed" for run in latest):
        return None
    if latest[0].fingerprint != fingerprint or now - latest[0].ended_at >= COOL_DOWN:
        return None
    again = latest[0].ended_at + COOL_DOWN
    return (
        f"the last {limit} runs failed, so it is left alone until {again:%Y-%m-%d %H:%M} UTC; "
        "mend the contract or its source, or pass ignore_gates"
    )

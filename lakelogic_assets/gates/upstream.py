"""How old may what a contract reads be? Judged by when each upstream last succeeded."""

from __future__ import annotations

from datetime import datetime

from lakelogic_assets.gates.freshness import spoken


def too_old(name: str, last_success: datetime | None, grace_seconds: float, now: datetime) -> str | None:
    """Why an upstream is too old to be read; None while it is within the grace that the contract gives it."""
    allowed = f"at most {spoken(grace_seconds)} are allowed by com.lakelogic.upstream_freshness"
    if last_success is None:
        return f"{name} has never succeeded; {allowed}"
    age = (now - last_success).total_seconds()
    return f"{name} last succeeded {spoken(age)} ago; {allowed}" if age > grace_seconds else None

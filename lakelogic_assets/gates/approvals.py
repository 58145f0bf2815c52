"""What a person may sign: a changed schema or too many bad rows, for one window, for a time, with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from lakelogic_assets.report.run import Counts, SchemaFindings

DEFAULT_EXPIRY = timedelta(hours=24)
_SLACK = 1e-9
_NESTED = frozenset({"array", "map", "struct"})


@dataclass(frozen=True, slots=True)
class Findings:
    """What waits for a signature: columns that came, went or changed since the last success, the share of bad rows."""

    new_columns: tuple[str, ...] = ()
    lost_columns: tuple[str, ...] = ()
    quarantine_ratio: float | None = None
    changed_types: tuple[str, ...] = ()
    """Such as `amount from bigint to string`."""
    batch: str | None = None
    """Which state of the source it was found in, where no window of days says what was read."""

    @property
    def reasons(self) -> tuple[str, ...]:
        said = []
        if self.new_columns:
            said.append(f"the source has new columns: {', '.join(self.new_columns)}")
        if self.lost_columns:
            said.append(f"the source lost columns: {', '.join(self.lost_columns)}")
        if self.changed_types:
            said.append(f"the source has other types: {', '.join(self.changed_types)}")
        if self.quarantine_ratio is not None:
            said.append(f"{self.quarantine_ratio:.1%} of the rows were quarantined")
        return tuple(said)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> Findings:
        new, lost, changed = (tuple(said.get(name, ())) for name in ("new_columns", "lost_columns", "changed_types"))
        return Findings(new, lost, said.get("quarantine_ratio"), changed, said.get("batch"))


@dataclass(frozen=True, slots=True)
class Approval:
    """Who signed what, why, and until when it counts; `run_id` is the run that asked."""

    by: str
    why: str
    at: datetime
    expires: datetime
    findings: Findings
    run_id: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "why": self.why,
            "at": self.at.isoformat(),
            "expires": self.expires.isoformat(),
            "findings": self.findings.as_dict(),
            "run_id": self.run_id,
        }

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> Approval:
        at, expires = (datetime.fromisoformat(str(said[name])) for name in ("at", "expires"))
        findings = Findings.from_dict(said.get("findings", {}))
        return Approval(str(said["by"]), str(said["why"]), at, expires, findings, said.get("run_id"))


def drift(found: SchemaFindings, before: SchemaFindings) -> Findings:
    """Columns that came, went or have another type than at the last success; what is cast as ever has not changed."""
    return Findings(
        new_columns=tuple(name for name in found.unknown if name not in before.unknown),
        lost_columns=tuple(name for name in found.missing if name not in before.missing),
        changed_types=tuple(
            f"{name} from {before.types[name]} to {kind}"
            for name, kind in found.types.items()
            if name in before.types and _is_another(kind, before.types[name])
        ),
    )


def _is_another(kind: str, before: str) -> bool:
    """Whether a source has changed a type. What JSON nests differs from file to file, and is text where all is null."""
    plain = {each.partition("<")[0] for each in (kind, before)}
    return len(plain) > 1 and not ("string" in plain and plain & _NESTED)


def to_be_signed(changed: Findings, counts: Counts, limit: float | None, batch: str | None = None) -> Findings | None:
    """What a person has to look at, and in which batch; None where nothing is unusual."""
    too_many = limit is not None and counts.quarantined > 0 and counts.quarantine_ratio > limit
    ratio = round(counts.quarantine_ratio, 6) if too_many else None
    found = replace(changed, quarantine_ratio=ratio, batch=batch)
    return found if found.reasons else None


def signature_for(asked: Findings, approvals: Sequence[Approval], now: datetime) -> Approval | None:
    """The newest signature that counts now and covers all that is asked.

    One for a lower ratio or other columns does not, nor one for another batch.
    """
    valid = [each for each in approvals if each.at <= now < each.expires and _covers(each.findings, asked)]
    return max(valid, key=lambda each: each.at, default=None)


def _covers(signed: Findings, asked: Findings) -> bool:
    same = (
        asked.batch in (None, signed.batch)
        and set(asked.new_columns) <= set(signed.new_columns)
        and set(asked.lost_columns) <= set(signed.lost_columns)
        and set(asked.changed_types) <= set(signed.changed_types)
    )
    if asked.quarantine_ratio is None:
        return same
    return same and signed.quarantine_ratio is not None and asked.quarantine_ratio <= signed.quarantine_ratio + _SLACK

"""The report of one run: where every row went, what every rule found, what was read and written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

Status = Literal[
    "success", "blocked", "failed", "no_new_data", "unchanged", "held", "waiting", "skipped", "reset", "restored"
]


@dataclass(frozen=True, slots=True)
class Counts:
    """source = good + quarantined + dropped; `dropped` is negative where steps make rows out of rows."""

    source: int = 0
    good: int = 0
    quarantined: int = 0
    dropped: int = 0

    @property
    def total(self) -> int:
        return self.good + self.quarantined

    @property
    def quarantine_ratio(self) -> float:
        return self.quarantined / self.total if self.total else 0.0


NO_ROWS = Counts()


@dataclass(frozen=True, slots=True)
class RowRuleOutcome:
    name: str
    severity: str
    category: str
    phase: str
    failed: int
    description: str | None = None
    note: str | None = None
    """Why it was not evaluated, where it was not."""


@dataclass(frozen=True, slots=True)
class DatasetRuleOutcome:
    """`passed` is None where a rule could not be judged; `note` says why."""

    name: str
    severity: str
    category: str
    passed: bool | None
    value: float | str | bool | None = None
    bounds: str | None = None
    note: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaFindings:
    """How what arrived differs from what the contract declares."""

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cast: dict[str, str] = field(default_factory=dict)
    added_to_target: tuple[str, ...] = ()
    types: dict[str, str] = field(default_factory=dict)
    """The columns as they arrived, before anything was cast."""


@dataclass(frozen=True, slots=True)
class RunReport:
    status: Status
    run_id: str
    pipeline_run_id: str
    contract: str
    table: str
    window: dict[str, Any]
    started_at: datetime
    ended_at: datetime
    counts: Counts = Counts()
    row_rules: tuple[RowRuleOutcome, ...] = ()
    dataset_rules: tuple[DatasetRuleOutcome, ...] = ()
    schema: SchemaFindings = SchemaFindings()
    domain: str | None = None
    system: str | None = None
    layer: str | None = None
    contract_version: str | None = None
    fingerprint: str | None = None
    source: str | None = None
    target: str | None = None
    quarantine: str | None = None
    versions_read: dict[str, int] = field(default_factory=dict)
    versions_written: dict[str, int] = field(default_factory=dict)
    watermark: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    error: str | None = None
    generation: int | None = None
    newest: str | None = None
    """The latest moment among the rows that this run made, by the column that freshness is judged by."""
    sample: tuple[dict[str, Any], ...] = ()
    external_code: str | None = None
    """The sha256 of the Python file that finished the rows, where one did."""
    request: dict[str, Any] = field(default_factory=dict)
    """What the operator asked for: which kind of window and why, whether it is a rebuild, which values were set."""
    asks: dict[str, Any] | None = None
    """What a person has to sign before the window is published."""
    table_id: str | None = None
    """Which table of that name was written: one that is made anew is another."""
    timed_out: bool = False
    retryable: bool = False
    """Whether what made it fail may pass by itself, so that the same again may go well."""
    approval: dict[str, Any] | None = None
    """Who signed it, why and until when, where somebody had to."""

    @property
    def failed_row_rules(self) -> dict[str, int]:
        """Rule → rows that broke it, for the rules that any row broke."""
        return {rule.name: rule.failed for rule in self.row_rules if rule.failed}

    @property
    def failed_dataset_rules(self) -> list[str]:
        return [rule.name for rule in self.dataset_rules if rule.passed is False]

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """Plain values only, for JSON."""
        data = asdict(self)
        data["started_at"], data["ended_at"] = self.started_at.isoformat(), self.ended_at.isoformat()
        data["failed_row_rules"] = self.failed_row_rules
        data["failed_dataset_rules"] = self.failed_dataset_rules
        data["seconds"] = round(self.seconds, 3)
        return data

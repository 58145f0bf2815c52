"""May what a run made be published? Judged on the final good rows, before anything is committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.gates.approvals import Approval, Findings
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """Publish, block, or wait until a person has signed `asks`."""

    status: Literal["success", "blocked", "waiting"]
    reasons: tuple[str, ...] = ()
    asks: Findings | None = None
    approval: Approval | None = None
    """The signature that let it pass."""

    @property
    def publishes(self) -> bool:
        return self.status == "success"


def verdict(contract: Contract, counts: Counts, outcomes: Sequence[DatasetRuleOutcome]) -> Verdict:
    """Publish or hold back, with every reason to hold back."""
    reasons = [*_failed_rules(contract, outcomes), *_quarantine(contract, counts), *_ratio(contract, counts)]
    return Verdict("blocked" if reasons else "success", tuple(reasons))


def signed_verdict(
    contract: Contract,
    counts: Counts,
    outcomes: Sequence[DatasetRuleOutcome],
    asks: Findings | None,
    signature: Approval | None,
) -> Verdict:
    """The same where people sign: a broken rule blocks, but too many bad rows or other columns wait for a signature."""
    reasons = [*_failed_rules(contract, outcomes), *_quarantine(contract, counts)]
    if reasons:
        return Verdict("blocked", (*reasons, *(asks.reasons if asks else ())))
    if asks is None or signature is not None:
        return Verdict("success", approval=signature if asks else None)
    return Verdict("waiting", tuple(f"{reason}; this waits for a signature" for reason in asks.reasons), asks)


def _failed_rules(contract: Contract, outcomes: Sequence[DatasetRuleOutcome]) -> list[str]:
    """A failed error rule holds back, unless the contract says in so many words that it is only reported."""
    if contract.quality.fail_pipeline_on_dataset_error is False:
        return []
    failed = [outcome for outcome in outcomes if outcome.passed is False and outcome.severity == "error"]
    return [
        f"dataset rule {o.name} failed: {o.value if o.value is not None else o.note} ({o.bounds or 'must be true'})"
        for o in failed
    ]


def _quarantine(contract: Contract, counts: Counts) -> list[str]:
    if not counts.quarantined:
        return []
    if not contract.quarantine.enabled:
        return [f"{counts.quarantined} rows broke rules and quarantine is switched off"]
    if contract.quarantine.fail_on_quarantine:
        return [f"{counts.quarantined} rows were quarantined and fail_on_quarantine is set"]
    return []


def _ratio(contract: Contract, counts: Counts) -> list[str]:
    limit = ratio_gate(contract)
    if limit is not None and counts.quarantined and counts.quarantine_ratio > limit:
        return [f"{counts.quarantine_ratio:.1%} of the rows were quarantined; {limit:.1%} are allowed"]
    return []


def ratio_gate(contract: Contract) -> float | None:
    """The share of bad rows from which on nothing is published.

    A contract's own `com.lakelogic.max_quarantine_ratio` is such a gate. The registry's limit is a service level, which
    is reported; it is a gate where the resources of the environment say so.
    """
    own = settings_of(contract).max_quarantine_ratio
    if own is not None:
        return own
    gates = contract.place.registry.get("gates") or {}
    return max_quarantine_ratio(contract) if gates.get("quarantine_ratio") == "block" else None


def max_quarantine_ratio(contract: Contract) -> float | None:
    """The share of bad rows that is promised not to be exceeded: the contract's own limit, else its registry's."""
    own = settings_of(contract).max_quarantine_ratio
    if own is not None:
        return own
    slo = contract.place.registry.get("slo")
    quality = slo.get("quality") if isinstance(slo, dict) else None
    limit = quality.get("max_quarantine_ratio") if isinstance(quality, dict) else None
    return float(limit) if isinstance(limit, int | float) else None

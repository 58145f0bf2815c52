"""What is checked of a contract: every rule of its own, and what holds for every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.objectives import freshness_objective, volume_objective
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules, row_rules
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.gates.judgement import Judgement
from lakelogic_assets.gates.verdict import max_quarantine_ratio, ratio_gate
from lakelogic_assets.orchestration.naming import distinct, safe_name
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.quality.row_rules import shown_rule

Kind = Literal["row", "dataset", "schema", "reconciliation", "quarantine_ratio", "volume", "data_freshness", "approval"]
Severity = Literal["WARN", "ERROR"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one asset; `name` is what Dagster calls it, `rule` what the contract does."""

    name: str
    rule: str
    kind: Kind
    severity: str = "error"
    category: str = "table"
    blocking: bool = False
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found in one window."""

    check: Check
    passed: bool
    severity: Severity
    description: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of a window beyond its report: proof from the commits, and how it compares to promises."""

    faults: tuple[str, ...] | None = None
    volume: Judgement | None = None
    freshness: Judgement | None = None


def checks_of(contract: Contract) -> tuple[Check, ...]:
    """Row rules, dataset rules, then what is checked of every table."""
    wanted = [*_row_checks(contract), *_dataset_checks(contract), *_table_checks(contract)]
    named = distinct(range(len(wanted)), lambda index: wanted[index].rule)
    return tuple(
        Check(named[i], c.rule, c.kind, c.severity, c.category, c.blocking, c.description) for i, c in enumerate(wanted)
    )


def _row_checks(contract: Contract) -> Iterator[Check]:
    for rule in row_rules(contract):
        yield Check("", rule.name, "row", rule.severity, rule.category, description=_told(rule))


def _dataset_checks(contract: Contract) -> Iterator[Check]:
    gates = contract.quality.fail_pipeline_on_dataset_error is not False
    for rule in dataset_rules(contract):
        blocking = gates and rule.severity == "error"
        yield Check("", rule.name, "dataset", rule.severity, rule.category, blocking, _told(rule))


def _told(rule: RowRule | DatasetRule) -> str:
    """What the author says about a rule, and the rule itself."""
    said = " ".join(rule.description.split()) if rule.description else rule.label
    shown = f"`{shown_rule(rule) if isinstance(rule, RowRule) else _shown_dataset_rule(rule)}`"
    heading = rule.name if safe_name(rule.name) != rule.name else None
    return "\n\n".join(dict.fromkeys(text for text in (heading, said, shown) if text))


def _shown_dataset_rule(rule: DatasetRule) -> str:
    match rule.test:
        case str():
            return " ".join(rule.test.split())
        case forms.Unique():
            return f"UNIQUE ({', '.join(rule.test.fields)})"
        case forms.NullRatio():
            return f"NULLs in {rule.test.field} / rows <= {rule.test.max}"
        case forms.RowCountBetween():
            low, high = rule.test.min, rule.test.max
            return f"COUNT(*) IN [{low if low is not None else 0}, {high if high is not None else '∞'}]"
        case _:
            assert_never(rule.test)


def _table_checks(contract: Contract) -> Iterator[Check]:
    quarantine = contract.quarantine
    limit = max_quarantine_ratio(contract)
    gate = ratio_gate(contract) is not None or quarantine.fail_on_quarantine or not quarantine.enabled
    allowed = f"at most {limit:.1%} of the rows" if limit is not None else "any share of the rows"
    yield Check("", "schema", "schema", description="What arrives has the columns that the contract declares.")
    yield Check(
        "", "reconciliation", "reconciliation",
        description="source = good + quarantined + dropped by a declared step, proved from Delta's commits.",
    )  # fmt: skip
    yield Check("", "quarantine_ratio", "quarantine_ratio", blocking=gate, description=f"{allowed} may be quarantined.")
    volume = volume_objective(contract)
    yield Check(
        "", "volume", "volume", "warning" if volume is None or volume.warn_only else "error",
        description="As many rows as promised, and about as many as usual.",
    )  # fmt: skip
    freshness = freshness_objective(contract)
    if freshness is not None and freshness.column is not None:
        yield Check(
            "", "data_freshness", "data_freshness",
            description=f"The newest `{freshness.column}` is at most {freshness.seconds / 3600:g} hours old.",
        )  # fmt: skip

    if settings_of(contract).approval_required:
        yield Check(
            "", "approval", "approval", blocking=True,
            description="Other columns than before and too many bad rows are published once a person has signed them.",
        )  # fmt: skip


def outcomes(contract: Contract, checks: tuple[Check, ...], report: RunReport, findings: Findings) -> list[Outcome]:
    """Every check of the asset with what the run found; none is left out, so that none looks as if it still waited."""
    rows = {rule.name: rule for rule in report.row_rules}
    datasets = {rule.name: rule for rule in report.dataset_rules}
    found: list[Outcome] = []
    for check in checks:
        if check.kind == "row":
            found.append(_of_row_rule(check, rows.get(check.rule), report, contract))
        elif check.kind == "dataset":
            found.append(_of_dataset_rule(check, datasets.get(check.rule)))
        else:
            found.append(_of_table(check, contract, report, findings))
    mark = {"contract_fingerprint": (report.fingerprint or "")[:16]}
    return [replace(outcome, metadata={**outcome.metadata, **mark}) for outcome in found]


def not_evaluated(checks: tuple[Check, ...], why: str) -> list[Outcome]:
    """The checks of a window that did not run: each says why, so that nobody takes an old verdict for a new one."""
    return [Outcome(check, False, "WARN", f"Not evaluated: {why}", {"skipped": True}) for check in checks]


def skipped(check: Check, why: str) -> Outcome:
    """A check that there was nothing to judge for: it passes and says so."""
    return Outcome(check, True, "WARN", why, {"skipped": True})


def _of_row_rule(check: Check, rule: Any, report: RunReport, contract: Contract) -> Outcome:
    if rule is None or rule.note:
        return skipped(check, rule.note if rule else _nothing_judged(report))
    total = report.counts.total or report.counts.source
    rate = rule.failed / total if total else 0.0
    limit = ratio_gate(contract)
    breached = limit is not None and report.counts.quarantine_ratio > limit
    routed = rule.severity == "error"
    metadata = {
        "failed_rows": rule.failed, "failed_rate": round(rate, 6), "rows": total, "threshold": 0,
        "severity": rule.severity, "category": rule.category, "phase": rule.phase,
    }  # fmt: skip
    went = "quarantined" if routed else "kept and counted"
    text = f"{rule.failed:,} of {total:,} rows broke it and were {went}." if rule.failed else f"{total:,} rows hold."
    passed = not rule.failed or rule.severity == "info"
    return Outcome(check, passed, "ERROR" if breached and routed and rule.failed else "WARN", text, metadata)


def _of_dataset_rule(check: Check, rule: Any) -> Outcome:
    if rule is None or rule.passed is None:
        return skipped(check, (rule.note if rule else None) or "Not evaluated in this run.")
    metadata = {"value": _number(rule.value), "threshold": rule.bounds or "must be true", "category": rule.category}
    bounds = rule.bounds or "must be true"
    text = f"{_spoken(rule.value)} ({bounds})" + (f"; {rule.note}" if rule.note else "")
    passed = bool(rule.passed) or rule.severity == "info"
    return Outcome(check, passed, "ERROR" if rule.severity == "error" else "WARN", text, metadata)


def _of_table(check: Check, contract: Contract, report: RunReport, findings: Findings) -> Outcome:
    match check.kind:
        case "schema":
            return _schema(check, contract, report)
        case "reconciliation":
            return _reconciliation(check, report, findings)
        case "quarantine_ratio":
            return _quarantine_ratio(check, contract, report)
        case "volume":
            return _volume(check, report, findings.volume)
        case "approval":
            return _approval(check, report)
        case _:
            return _freshness(check, report, findings.freshness)


def _schema(check: Check, contract: Contract, report: RunReport) -> Outcome:
    """Drift is what the contract does not provide for: it may let undeclared columns come, or drop them."""
    found, policy = report.schema, contract.policy
    refused = found.unknown if policy.unknown_fields == "quarantine" else ()
    drift = {"missing": found.missing, "unknown": refused, "new in the table": found.added_to_target}
    told = "; ".join(f"{what}: {', '.join(columns)}" for what, columns in drift.items() if columns)
    more = f" Undeclared: {', '.join(found.unknown)}." if found.unknown and not refused else ""
    metadata = {
        "missing_columns": len(found.missing), "unknown_columns": len(found.unknown),
        "added_columns": len(found.added_to_target), "policy": policy.evolution,
    }  # fmt: skip
    severity: Severity = "ERROR" if policy.evolution == "strict" else "WARN"
    return Outcome(check, not told, severity, told or f"As the contract allows.{more}", metadata)


def _reconciliation(check: Check, report: RunReport, findings: Findings) -> Outcome:
    counts = report.counts
    metadata = {
        "source": counts.source, "good": counts.good, "quarantined": counts.quarantined, "dropped": counts.dropped,
    }  # fmt: skip
    sum_up = (
        f"{counts.source:,} = {counts.good:,} good + {counts.quarantined:,} quarantined + {counts.dropped:,} dropped"
    )
    if findings.faults is None:
        return Outcome(check, True, "WARN", f"{sum_up}; nothing was committed.", {**metadata, "skipped": True})
    if findings.faults:
        return Outcome(check, False, "ERROR", "; ".join(findings.faults), metadata)
    return Outcome(check, True, "ERROR", f"{sum_up}, as the commits say.", metadata)


def _quarantine_ratio(check: Check, contract: Contract, report: RunReport) -> Outcome:
    ratio, limit = report.counts.quarantine_ratio, max_quarantine_ratio(contract)
    quarantined = report.counts.quarantined
    passed = limit is None or ratio <= limit
    if quarantined and (contract.quarantine.fail_on_quarantine or not contract.quarantine.enabled):
        passed = False
    metadata = {"ratio": round(ratio, 6), "quarantined": quarantined, "threshold": limit if limit is not None else 1.0}
    told = f"{ratio:.2%} of the rows ({quarantined:,}) were quarantined."
    if not passed and report.approval and report.status == "success":
        return Outcome(check, True, "WARN", f"{told} {_signed(report.approval)}", metadata)
    return Outcome(check, passed, "ERROR" if check.blocking else "WARN", told, metadata)


def _approval(check: Check, report: RunReport) -> Outcome:
    """Open while something waits for a signature; the job `approve` gives it."""
    if report.asks is None:
        signed = _signed(report.approval) if report.approval else "Nothing had to be signed."
        return Outcome(check, True, "ERROR", signed, dict(report.approval or {}))
    told = f"{'; '.join(report.reasons)}. Start the job `approve`, or `lakelogic approve {report.contract} --why …`."
    return Outcome(check, False, "ERROR", told, {"asks": dict(report.asks), "asked_by_run": report.run_id})


def _signed(approval: Mapping[str, Any]) -> str:
    return f"Signed by {approval['by']}: {approval['why']} (until {approval['expires'][:16]} UTC)."


def _volume(check: Check, report: RunReport, judged: Judgement | None) -> Outcome:
    rows = {"rows": report.counts.good}
    if judged is None:
        return Outcome(check, True, "WARN", f"{report.counts.good:,} good rows; no number is promised.", rows)
    return _judged(check, judged, report, {"rows": judged.value} if judged.value is not None else rows)


def _freshness(check: Check, report: RunReport, judged: Judgement | None) -> Outcome:
    lag = judged.value if judged else None
    return _judged(check, judged, report, {"lag_hours": round(lag, 3)} if lag is not None else {})


def _judged(check: Check, judged: Judgement | None, report: RunReport, value: dict[str, Any]) -> Outcome:
    if judged is None or judged.passed is None:
        passed = skipped(check, (judged.note if judged else None) or _nothing_judged(report))
        return replace(passed, metadata={**passed.metadata, **value})
    severity: Severity = "WARN" if check.severity == "warning" else "ERROR"
    told = ", ".join(f"{name.replace('_', ' ')} {number:,g}" for name, number in value.items())
    text = f"{told} ({judged.bounds})" + (f"; {judged.note}" if judged.note else "")
    return Outcome(check, judged.passed, severity, text, {**value, "threshold": judged.bounds})


def _nothing_judged(report: RunReport) -> str:
    return "There was nothing new to read." if report.status == "no_new_data" else "Not evaluated in this run."


def _spoken(value: Any) -> str:
    return f"{value:,g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)

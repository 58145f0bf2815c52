"""From a report to the verdicts people see: severities, rates, gates, and nothing left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.gates.judgement import Judgement
from lakelogic_assets.orchestration.checks import Findings, Outcome, checks_of, outcomes
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport, SchemaFindings

NOW = datetime(2026, 2, 3, tzinfo=UTC)
PROVED = Findings(faults=())


def contract(limit: float | None = None, **said: Any) -> Contract:
    quality = {
        "row_rules": [{"name": "positive", "sql": "a > 0"}, {"name": "small", "sql": "a < 9", "severity": "warning"}],
        "dataset_rules": [{"unique": "a"}],
    }
    made = Contract.model_validate({"info": {"title": "T", "table_name": "t"}, "quality": quality, **said})
    gates = {"gates": {"quarantine_ratio": "block"}}
    slo = gates | {"slo": {"quality": {"max_quarantine_ratio": limit}}} if limit is not None else {}
    return made.with_place(Place(registry=slo))


def report(**said: Any) -> RunReport:
    base = RunReport("success", "r", "p", "t", "t", {"key": "full"}, NOW, NOW, counts=Counts(10, 8, 2, 0))
    rules = (
        RowRuleOutcome("positive", "error", "correctness", "pre", 2),
        RowRuleOutcome("small", "warning", "correctness", "pre", 1),
    )
    unique = DatasetRuleOutcome("a_unique", "error", "uniqueness", True, 0.0, "< 1")
    return replace(base, row_rules=rules, dataset_rules=(unique,), **said)


def judged(of: Contract, run: RunReport, findings: Findings = PROVED) -> dict[str, Outcome]:
    return {outcome.check.name: outcome for outcome in outcomes(of, checks_of(of), run, findings)}


def test_every_check_has_an_outcome() -> None:
    assert set(judged(contract(), report())) == {check.name for check in checks_of(contract())}


def test_a_run_that_read_nothing_skips_its_rules_and_says_so() -> None:
    nothing = replace(report(), status="no_new_data", row_rules=(), dataset_rules=(), counts=Counts())
    found = judged(contract(), nothing, Findings())
    assert found["positive"].passed
    assert found["positive"].metadata["skipped"] is True
    assert "nothing new" in found["positive"].description
    assert set(found) == {check.name for check in checks_of(contract())}


def test_quarantined_rows_are_a_warning_because_the_table_is_clean() -> None:
    outcome = judged(contract(), report())["positive"]
    assert (outcome.passed, outcome.severity) == (False, "WARN")
    assert outcome.metadata["failed_rows"] == 2
    assert outcome.metadata["failed_rate"] == pytest.approx(0.2)


def test_they_are_an_error_when_there_are_more_than_the_ratio_allows() -> None:
    found = judged(contract(limit=0.1), report())
    assert found["positive"].severity == "ERROR"
    assert found["small"].severity == "WARN"
    assert (found["quarantine_ratio"].passed, found["quarantine_ratio"].severity) == (False, "ERROR")
    assert judged(contract(limit=0.5), report())["quarantine_ratio"].passed


def test_a_failed_dataset_rule_is_an_error_and_a_gate() -> None:
    failed = DatasetRuleOutcome("a_unique", "error", "uniqueness", False, 3.0, "< 1")
    outcome = judged(contract(), replace(report(), dataset_rules=(failed,)))["a_unique"]
    assert (outcome.passed, outcome.severity, outcome.check.blocking) == (False, "ERROR", True)
    assert outcome.metadata["value"] == 3.0


def test_a_contract_that_only_reports_has_no_gate() -> None:
    only_reports = contract(quality={"fail_pipeline_on_dataset_error": False, "dataset_rules": [{"unique": "a"}]})
    assert not any(check.blocking for check in checks_of(only_reports) if check.kind == "dataset")


def test_a_rule_that_could_not_be_judged_passes_with_its_note() -> None:
    unjudged = DatasetRuleOutcome("a_unique", "error", "uniqueness", None, note="a is made later")
    outcome = judged(contract(), replace(report(), dataset_rules=(unjudged,)))["a_unique"]
    assert outcome.passed
    assert outcome.description == "a is made later"


def test_drift_is_a_warning_and_under_strict_an_error() -> None:
    drifted = replace(report(), schema=SchemaFindings(missing=("b",)))
    assert judged(contract(), drifted)["schema"].severity == "WARN"
    strict = contract(schema_policy={"evolution": "strict"})
    assert judged(strict, drifted)["schema"].severity == "ERROR"
    assert "b" in judged(strict, drifted)["schema"].description
    assert judged(strict, report())["schema"].passed


def test_reconciliation_fails_on_what_the_commits_contradict() -> None:
    outcome = judged(contract(), report(), Findings(faults=("8 rows are good and Delta wrote 7",)))["reconciliation"]
    assert (outcome.passed, outcome.severity) == (False, "ERROR")
    assert "Delta wrote 7" in outcome.description


def test_promises_are_judged_without_blocking() -> None:
    promised = contract(service_levels={"freshness": {"threshold": "6h", "field": "a"}, "row_count": {"min_rows": 5}})
    findings = Findings(
        (), volume=Judgement(False, 2.0, "at least 5"), freshness=Judgement(True, 1.5, "at most 6 hours")
    )
    found = judged(promised, report(), findings)
    assert (found["volume"].passed, found["volume"].severity, found["volume"].check.blocking) == (False, "ERROR", False)
    assert found["volume"].metadata["rows"] == 2.0
    assert found["data_freshness"].metadata["lag_hours"] == 1.5


def test_two_rules_of_one_name_are_two_checks() -> None:
    twins = contract(quality={"row_rules": [{"name": "a b", "sql": "a > 0"}, {"name": "a_b", "sql": "b > 0"}]})
    names = [check.name for check in checks_of(twins)]
    assert len(names) == len(set(names))
    assert [check.rule for check in checks_of(twins)][:2] == ["a b", "a_b"]


def test_a_rule_called_like_a_check_of_every_table_keeps_both() -> None:
    of = contract(quality={"row_rules": [{"name": "schema", "sql": "a > 0"}]})
    assert len({check.name for check in checks_of(of)}) == len(checks_of(of))

"""What a person may sign, and what a signature covers."""

from datetime import UTC, datetime, timedelta

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.gates.approvals import Approval, Findings, drift, signature_for, to_be_signed
from lakelogic_assets.gates.verdict import signed_verdict
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, SchemaFindings

NOW = datetime(2026, 2, 6, 12, tzinfo=UTC)
BAD = Counts(source=10, good=5, quarantined=5)


def signed(findings: Findings, *, at: datetime = NOW - timedelta(hours=1), hours: float = 24) -> Approval:
    return Approval("ada", "known", at, at + timedelta(hours=hours), findings, "run-1")


def test_drift_is_what_came_or_went_since_the_last_success() -> None:
    before = SchemaFindings(missing=("a",), unknown=("x",))
    found = drift(SchemaFindings(missing=("a", "b"), unknown=("x", "y")), before)
    assert (found.new_columns, found.lost_columns) == (("y",), ("b",))
    assert to_be_signed(drift(before, before), BAD, None) is None


def test_a_type_is_another_only_against_the_last_success() -> None:
    before = SchemaFindings(
        cast={"a": "int"}, types={"a": "string", "b": "bigint", "c": "struct<x:int>", "d": "string"}
    )
    assert drift(before, before) == Findings()
    # What no success has told, and what JSON makes of nested values from file to file, is no change.
    assert drift(before, SchemaFindings(types={"e": "int"})) == Findings()
    assert drift(SchemaFindings(types={"c": "struct<x:int,y:int>", "d": "array<int>"}), before) == Findings()
    found = drift(SchemaFindings(types={"a": "string", "b": "string", "c": "int"}), before)
    assert found.changed_types == ("b from bigint to string", "c from struct<x:int> to int")
    asked = to_be_signed(found, Counts(), None)
    assert asked is not None
    assert "the source has other types: b from bigint to string" in asked.reasons[0]
    assert signature_for(asked, [signed(asked)], NOW) is not None
    assert signature_for(asked, [signed(Findings(changed_types=found.changed_types[:1]))], NOW) is None


def test_more_bad_rows_than_allowed_are_to_be_signed() -> None:
    found = to_be_signed(Findings(), BAD, 0.25)
    assert found is not None
    assert found.reasons == ("50.0% of the rows were quarantined",)
    assert to_be_signed(Findings(), BAD, 0.5) is None
    assert to_be_signed(Findings(), Counts(source=10, good=10), 0.0) is None


@pytest.mark.parametrize(
    ("approval", "counts"),
    [
        (signed(Findings(quarantine_ratio=0.5)), True),
        (signed(Findings(quarantine_ratio=0.6)), True),
        (signed(Findings(quarantine_ratio=0.4)), False),
        (signed(Findings(new_columns=("y",))), False),
        (signed(Findings(quarantine_ratio=0.5), hours=0.5), False),
        (signed(Findings(quarantine_ratio=0.5), at=NOW + timedelta(hours=1)), False),
    ],
)
def test_a_signature_covers_what_it_was_given_for_and_for_its_time(approval: Approval, counts: bool) -> None:
    asked = Findings(quarantine_ratio=0.5)
    assert (signature_for(asked, [approval], NOW) is not None) is counts


def test_other_columns_are_not_covered() -> None:
    approval = signed(Findings(new_columns=("y",)))
    assert signature_for(Findings(new_columns=("y",)), [approval], NOW) == approval
    assert signature_for(Findings(new_columns=("y", "z")), [approval], NOW) is None
    assert signature_for(Findings(lost_columns=("y",)), [approval], NOW) is None


def test_a_signature_does_not_cure_a_broken_rule() -> None:
    failed = DatasetRuleOutcome("id_unique", "error", "uniqueness", False, 2.0, "duplicates = 0")
    asks = Findings(quarantine_ratio=0.5)
    judged = signed_verdict(Contract.model_validate({}), BAD, [failed], asks, signed(asks))
    assert judged.status == "blocked"
    assert judged.reasons[-1] == "50.0% of the rows were quarantined"
    assert signed_verdict(Contract.model_validate({}), BAD, [], asks, None).status == "waiting"
    assert signed_verdict(Contract.model_validate({}), BAD, [], asks, signed(asks)).approval == signed(asks)


def test_a_signature_comes_back_from_its_file_as_it_was() -> None:
    approval = signed(Findings(("y",), ("b",), 0.5, ("a from int to string",)))
    assert Approval.from_dict(approval.as_dict()) == approval

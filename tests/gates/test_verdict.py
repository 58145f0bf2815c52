"""What may be published."""

from dataclasses import replace

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.gates.verdict import verdict
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome

FAILED = DatasetRuleOutcome("id_unique", "error", "uniqueness", False, 2.0, "duplicates = 0")
CLEAN = Counts(source=10, good=10)
SOME_BAD = Counts(source=10, good=8, quarantined=2)


def contract(**sections: object) -> Contract:
    return Contract.model_validate(sections)


def limited(ratio: float, **gates: str) -> Contract:
    slo = {"quality": {"max_quarantine_ratio": ratio}}
    return contract().with_place(Place(registry={"slo": slo, "gates": gates or {"quarantine_ratio": "block"}}))


def test_clean_rows_are_published() -> None:
    assert verdict(contract(), CLEAN, ()).publishes


def test_a_failed_error_rule_holds_back_and_says_which() -> None:
    judged = verdict(contract(), CLEAN, [FAILED])
    assert not judged.publishes
    assert judged.reasons == ("dataset rule id_unique failed: 2.0 (duplicates = 0)",)


def test_a_contract_may_say_that_failed_rules_are_only_reported() -> None:
    assert verdict(contract(quality={"fail_pipeline_on_dataset_error": False}), CLEAN, [FAILED]).publishes


def test_a_failed_warning_rule_holds_nothing_back() -> None:
    assert verdict(contract(), CLEAN, [replace(FAILED, severity="warning")]).publishes


def test_a_rule_that_could_not_be_judged_holds_nothing_back() -> None:
    assert verdict(contract(), CLEAN, [replace(FAILED, passed=None)]).publishes


def test_a_few_bad_rows_do_not_stop_the_good_ones() -> None:
    assert verdict(limited(0.25), SOME_BAD, ()).publishes


def test_too_many_bad_rows_hold_back() -> None:
    assert verdict(limited(0.1), SOME_BAD, ()).reasons == ("20.0% of the rows were quarantined; 10.0% are allowed",)


def test_a_service_level_is_reported_where_nobody_made_a_gate_of_it() -> None:
    assert verdict(limited(0.1, quarantine_ratio="report"), SOME_BAD, ()).publishes


def test_a_contract_may_have_a_gate_of_its_own() -> None:
    own = contract(extensions={"com.lakelogic.max_quarantine_ratio": 0.1})
    assert verdict(own, SOME_BAD, ()).reasons == ("20.0% of the rows were quarantined; 10.0% are allowed",)


def test_without_a_quarantine_bad_rows_are_never_dropped_silently() -> None:
    assert not verdict(contract(quarantine={"enabled": False}), SOME_BAD, ()).publishes


def test_fail_on_quarantine_holds_back() -> None:
    assert not verdict(contract(quarantine={"fail_on_quarantine": True}), SOME_BAD, ()).publishes

"""Rows of the shipped example judged by the engine: sound ones pass, broken ones fail the rule they were made for."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.authoring.landing import LandingPlan, Request
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.project import Project, shipped_example
from tests.public_data import Judged, judge, judge_sound
from tests.spark.mesh_quirks import write_quirks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakelogic_assets.contract.registry import Registry


def example(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("example")
    for part in ("contracts", "resources", "partitions"):
        shutil.copytree(shipped_example() / part, root / part)
    return Project(root)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
        return judge(example(tmp_path_factory), spark, rows=150)


def test_of_sound_rows_no_contract_holds_one_back(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
    assert judge_sound(example(tmp_path_factory), spark, rows=60) == {}


def test_every_row_that_was_made_to_break_a_rule_is_found_by_it(judged: Judged) -> None:
    assert judged.not_run == {}
    assert len(judged.asked) > 60
    assert judged.let_through == {}


def test_warnings_are_broken_too_and_hold_nothing_back(judged: Judged) -> None:
    rules = [(contract, rule) for contract in judged.registry for rule in row_rules(contract)]
    names = {f"{contract.table}: {rule.name}": rule.severity for contract, rule in rules}
    warned = {rule for rule in judged.asked if names.get(rule, "error") != "error"}
    assert {rule.partition(": ")[2] for rule in warned} == {
        "email_not_null", "signup_date_lifecycle_window", "signup_not_after_change", "updated_at_plausible",
        "cost_below_price", "sold_on_business_day", "policy_no_lifecycle_window",
    }  # fmt: skip


def test_every_row_that_was_not_made_to_break_a_rule_passes(judged: Judged) -> None:
    assert len(judged.reports) > 10
    assert judged.misjudged == {}


def test_every_rule_is_broken_or_named_with_a_reason(judged: Judged) -> None:
    named = {rule for why in judged.made.unbroken_rules.values() for rule in why}
    landed = {file.contract for file in judged.made.files}
    edges = [edge for edge in judged.registry.graph.edges if edge.via == "source" and edge.upstream in landed]
    readers = {edge.downstream for edge in edges}
    for key in landed | readers:
        contract = judged.registry.contracts[key]
        rules = {f"{contract.table}: {rule.name}" for rule in row_rules(contract)}
        assert rules <= named | judged.asked.keys()
    assert not named & judged.asked.keys()


def test_rules_behind_other_tables_are_named_too(judged: Judged) -> None:
    far = "its rows come from other tables that were judged already"
    assert judged.left_alone["gold_fact_sales: net_within_gross"] == far
    landed = {file.contract for file in judged.made.files}
    behind = judged.registry.graph.around(landed, down=True)
    tables = {key[-1] for key in behind if judged.registry.contracts[key].place.enabled}
    named = {rule for why in judged.made.unbroken_rules.values() for rule in why} | judged.asked.keys()
    assert {rule for rule in judged.rules if rule.partition(":")[0] in tables} <= named


def test_what_other_meshes_do_is_made_and_judged_as_well(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    found = judge(Project(write_quirks(tmp_path / "mesh"), "local_spark"), spark, rows=30)
    assert (found.not_run, found.let_through, found.misjudged) == ({}, {}, {})
    assert {"silver_ads_spend: positive_spend", "gold_internal_dim_country: Type Mismatch"} <= found.asked.keys()


def test_several_days_share_the_ways_to_break_rows(tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = tmp_path_factory.mktemp("lake")
    project = Project(shipped_example(), values={"storage_root": str(lake)})
    registry = load_project(project, {})
    days = [date(2026, 2, day) for day in (1, 2, 3, 4)]
    made = LandingPlan(registry, project, lake, Request(days, 40, thorough=True, only=[_orders(registry)])).land()
    alone = LandingPlan(registry, project, lake, Request(days[:1], 40, thorough=True, only=[_orders(registry)])).land()
    assert {rule for file in made.files for rule in file.rules} == set(alone.files[0].rules)
    assert max(file.broken for file in made.files) < alone.broken / 3


def _orders(registry: Registry) -> tuple[str, ...]:
    return registry.find("bronze_pos_orders").key

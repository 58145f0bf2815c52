"""Rows of the shipped example judged by the engine: sound ones pass, broken ones fail the rule they were made for."""

from __future__ import annotations

import shutil
from datetime import date
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.authoring.landing import LandingPlan, Request
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.project import Project, shipped_example
from tests.public_data import Judged, judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakelogic_assets.contract.registry import Registry


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    root = tmp_path_factory.mktemp("example")
    for part in ("contracts", "resources", "partitions"):
        shutil.copytree(shipped_example() / part, root / part)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
        return judge(Project(root), spark, rows=150)


def test_every_row_that_was_made_to_break_a_rule_is_held_back_by_it(judged: Judged) -> None:
    assert judged.not_run == {}
    assert len(judged.asked) > 40
    assert judged.let_through == {}


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

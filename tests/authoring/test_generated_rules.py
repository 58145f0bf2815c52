"""Rows of the shipped example judged by the engine: sound ones pass, broken ones fail the rule they were made for."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.authoring.landing import LandingPlan, LandingReport, Request
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.project import Project, shipped_example
from lakelogic_assets.spark.pipeline import run_contracts
from lakelogic_assets.spark.quarantined import quarantined
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.report.run import RunReport

ASKED = 150
SCHEMA = "Type Mismatch"


class Judged:
    """What was made and what the engine said about it."""

    def __init__(self, registry: Registry, made: LandingReport, reports: dict[str, RunReport]) -> None:
        self.registry = registry
        self.made = made
        self.reports = reports
        self.failed: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        for table, report in reports.items():
            self.failed.update({f"{table}: {rule.name}": rule.failed for rule in report.row_rules})
        for file in made.files:
            self.asked.update(file.rules)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    root = tmp_path_factory.mktemp("example")
    for part in ("contracts", "resources", "partitions"):
        shutil.copytree(shipped_example() / part, root / part)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
        project = Project(root)
        registry, workspace = load_project(project), Workspace(project)
        request = Request([date(2026, 2, 1)], ASKED, seed=7, thorough=True)
        made = LandingPlan(registry, project, workspace.root, request).land(spark)
        keys = [each.key for each in registry if each.place.enabled and not each.table.startswith("gold")]
        finished = run_contracts(registry, keys, workspace, spark, parallel=2)
        reports = {key[-1]: progress.result for key, progress in finished.items() if progress.result}
        found = Judged(registry, made, reports)
        for table in reports:
            contract = registry.find(table)
            bad = quarantined(workspace.destination(contract).quarantine, "/".join(contract.key))
            found.failed[f"{table}: {SCHEMA}"] = sum(n for why, n in bad.by_rule.items() if SCHEMA in why)
        yield found


def test_every_row_that_was_made_to_break_a_rule_is_held_back_by_it(judged: Judged) -> None:
    assert len(judged.asked) > 40
    assert {rule: judged.failed[rule] for rule, rows in judged.asked.items() if judged.failed[rule] < rows} == {}


def test_every_row_that_was_not_made_to_break_a_rule_passes(judged: Judged) -> None:
    for table, report in judged.reports.items():
        mine = [file for file in judged.made.files if any(rule.startswith(f"{table}:") for rule in file.rules)]
        broken = sum(number for file in mine for fault, number in file.faults.items() if f"({table}:" in fault)
        assert report.counts.quarantined == broken, table


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

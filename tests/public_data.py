"""Make data for every contract of a project and judge it: `python tests/public_data.py DIR [--env NAME] [--rows N]`.

For projects that others published: what was not made to break a rule must pass, what was must be found by that very
rule, and held back by it unless it only warns. Before that, sound rows alone go through every enabled contract: none may
be quarantined anywhere. Prints a line for each contract and the rules that no row breaks, with the reason, and ends with
1 when any row is on the wrong side. The folder is not touched.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lakelogic_assets.authoring.landing import LandingPlan, Request
from lakelogic_assets.authoring.landing_report import LandingReport
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import dataset_rules, row_rules
from lakelogic_assets.project import DEFAULT_ENVIRONMENT, Project
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.pipeline import run_contracts
from lakelogic_assets.spark.quarantined import quarantined
from lakelogic_assets.spark.session import local_session
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "Type Mismatch"
DAY = date(2026, 2, 1)


@dataclass(frozen=True)
class Judged:
    """What was made and what the engine said about it."""

    registry: Registry
    rows: int
    made: LandingReport
    reports: dict[str, RunReport]
    uncast: dict[str, int]
    """Table → rows with a value that does not fit its type."""
    not_run: dict[str, str]
    """Table → why it did not come to judge anything."""

    @cached_property
    def asked(self) -> Counter[str]:
        """`table: rule` → rows that were made to break it."""
        return sum((Counter(file.rules) for file in self.made.files), Counter[str]())

    @cached_property
    def failed(self) -> Counter[str]:
        """`table: rule` → rows that broke it; what is about all rows together fails as a whole."""
        found = Counter({f"{table}: {SCHEMA}": rows for table, rows in self.uncast.items()})
        for table, report in self.reports.items():
            found.update({f"{table}: {rule.name}": rule.failed for rule in report.row_rules})
            found.update({f"{table}: {rule.name}": self.rows for rule in report.dataset_rules if not rule.passed})
        return found

    @property
    def let_through(self) -> dict[str, int]:
        """Rules that fewer rows broke than were made to, with the rows that did."""
        return {
            rule: self.failed[rule]
            for rule, rows in self.asked.items()
            if self.failed[rule] < rows and rule.partition(":")[0] not in self.not_run
        }

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Every rule of every enabled contract, as `table: rule`."""
        contracts = [each for each in self.registry if each.place.enabled]
        return tuple(
            f"{contract.table}: {name}"
            for contract in contracts
            for name in [*(rule.name for rule in row_rules(contract)), *(rule.name for rule in dataset_rules(contract))]
        )

    @cached_property
    def left_alone(self) -> dict[str, str]:
        """Rules that no row was made to break → why."""
        told = {rule: why for rules in self.made.unbroken_rules.values() for rule, why in rules.items()}
        nobody = "its rows come from files that nobody makes"
        return {rule: told.get(rule, nobody) for rule in self.rules if rule not in self.asked}

    def broken(self, table: str) -> int:
        """How many rows were made to be held back by this table: by an error of a row, not by a warning."""
        severe = {rule.name for rule in row_rules(self.registry.find(table)) if rule.severity == "error"} | {SCHEMA}
        holding = {f"{table}: {rule}" for rule in severe}
        return sum(
            number
            for file in self.made.files
            for fault, number in file.faults.items()
            if holding & {*fault.partition(" (")[2].removesuffix(")").split("; ")}
        )

    @property
    def misjudged(self) -> dict[str, tuple[int, int]]:
        """Tables with rows on the wrong side: quarantined, and made to be."""
        pairs = {table: (report.counts.quarantined, self.broken(table)) for table, report in self.reports.items()}
        return {table: pair for table, pair in pairs.items() if pair[0] != pair[1]}


def judge_sound(project: Project, spark: SparkSession, rows: int) -> dict[str, str]:
    """Sound rows through every enabled contract; table → what is wrong, of those that held a row back or did not run."""
    registry, workspace = load_project(project), Workspace(project)
    LandingPlan(registry, project, workspace.root, Request([DAY], rows, seed=7, invalid=0.0)).land(spark)
    keys = [each.key for each in registry if each.place.enabled]
    finished = run_contracts(registry, keys, workspace, spark, parallel=2)
    wrong = {}
    for key, done in finished.items():
        if done.state != "done" or done.result is None:
            wrong[key[-1]] = f"{done.state}: {done.error or done.reason or done.waits_for}"
        elif done.result.counts.quarantined:
            wrong[key[-1]] = f"{done.result.counts.quarantined} rows held back: {done.result.failed_row_rules}"
    return wrong


def judge(project: Project, spark: SparkSession, rows: int) -> Judged:
    """Files for all contracts with every rule broken, run through whoever reads them, after what these look things up in."""
    registry, workspace = load_project(project), Workspace(project)
    made = LandingPlan(registry, project, workspace.root, Request([DAY], rows, seed=7, thorough=True)).land(spark)
    landed = {file.contract for file in made.files}
    readers = {edge.downstream for edge in registry.graph.edges if edge.via == "source" and edge.upstream in landed}
    chosen = registry.graph.around(landed | readers, up=True)
    keys = [each.key for each in registry if each.place.enabled and each.key in chosen]
    finished = run_contracts(registry, keys, workspace, spark, parallel=2)
    reports = {key[-1]: progress.result for key, progress in finished.items() if progress.result}
    failed = {
        key[-1]: str(progress.error or progress.state) for key, progress in finished.items() if not progress.result
    }
    uncast = {}
    for table in reports:
        contract = registry.find(table)
        bad = quarantined(workspace.destination(contract).quarantine, "/".join(contract.key))
        uncast[table] = sum(n for why, n in bad.by_rule.items() if SCHEMA in why)
    return Judged(registry, rows, made, reports, uncast, failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--env", default=DEFAULT_ENVIRONMENT, help="the environment of the registries")
    parser.add_argument("--rows", type=int, default=150)
    options = parser.parse_args()
    project = Project(options.folder.resolve(), options.env)
    with tempfile.TemporaryDirectory(prefix="lakelogic-data-") as lakes:
        os.environ["LAKELOGIC_VAR_LAKE"] = f"{lakes}/sound"
        wrong = judge_sound(project, local_session(), options.rows)
        os.environ["LAKELOGIC_VAR_LAKE"] = f"{lakes}/broken"
        found = judge(project, local_session(), options.rows)
    print(*(f"-- {table}: of sound rows: {why}" for table, why in sorted(wrong.items())), sep="\n")
    print(*lines(found), sep="\n")
    return 1 if wrong or found.let_through or found.misjudged else 0


def lines(found: Judged) -> Iterator[str]:
    for table, report in sorted(found.reports.items()):
        counts, rules = report.counts, [rule for rule in found.asked if rule.startswith(f"{table}:")]
        mark = "no" if table in found.misjudged or any(rule in found.let_through for rule in rules) else "ok"
        yield f"{mark} {table}: {counts.source} rows, {counts.quarantined} held back, {found.broken(table)} made to be, {len(rules)} rules broken"
    yield from (f"-- {table}: not run: {why}" for table, why in sorted(found.not_run.items()))
    for rule, rows in sorted(found.let_through.items()):
        yield f"   {rule}: {rows} of {found.asked[rule]} were found by it"
    for why, number in Counter(found.left_alone.values()).most_common():
        yield f"   {number} rules left alone: {why}"
    good = sum(report.counts.good for report in found.reports.values())
    yield f"{len(found.reports)} contracts, {good} rows passed, {len(found.asked)} rules broken by {found.asked.total()} rows"
    caught = sum(rule in found.asked and rule not in found.let_through for rule in found.rules)
    broken = sum(rule in found.asked for rule in found.rules)
    yield f"of {len(found.rules)} rules {broken} are broken, {caught} of these found it, {len(found.left_alone)} are left alone"


if __name__ == "__main__":
    sys.exit(main())

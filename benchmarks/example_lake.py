"""A copy of the example with a lakehouse of its own, days of landing files, and what stands in its tables."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from deltalake import DeltaTable

from lakelogic_assets.authoring.landing import LandingPlan, Request
from lakelogic_assets.authoring.landing_report import LandedFile
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.names import ERRORS_COLUMN
from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
from lakelogic_assets.project import Project, shipped_example
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.campaigns import Planner, follows_windows
from lakelogic_assets.spark.frames import SparkSession
from lakelogic_assets.spark.pipeline import Done, Pipeline
from lakelogic_assets.spark.reprocessing import run_to_the_end
from lakelogic_assets.spark.workspace import Workspace

ROWS, INVALID = 24, 0.04
WITH_BAD_ROWS = "bronze_pos_orders"
_ENGINE = "_lakelogic_"


@dataclass(frozen=True)
class Ran:
    """Every run of a campaign, also those that were run again for what came late."""

    seconds: float
    done: tuple[Done, ...]

    @property
    def reports(self) -> Iterator[RunReport]:
        yield from (done.result for done in self.done if done.result is not None)

    def steps(self) -> dict[str, float]:
        """Mean seconds of a run by step: those of its report, the rest of it, and what lies between two runs."""
        reports = list(self.reports)
        spent: defaultdict[str, float] = defaultdict(float)
        for report in reports:
            for step, seconds in report.timings.items():
                spent[step] += seconds
            spent["before and between the steps"] += report.seconds - sum(report.timings.values())
        spent["log, lock and planning"] = self.seconds - sum(report.seconds for report in reports)
        return {step: round(seconds / max(len(reports), 1), 3) for step, seconds in spent.items()}

    def tables(self) -> dict[str, float]:
        """Mean seconds of a run by table, the longest first."""
        spent: defaultdict[str, list[float]] = defaultdict(list)
        for report in self.reports:
            spent[report.table].append(report.seconds)
        means = {table: round(sum(seconds) / len(seconds), 3) for table, seconds in spent.items()}
        return dict(sorted(means.items(), key=lambda pair: -pair[1]))


class Lake:
    """One lakehouse; `days` of few rows each, made here or copied from another lake."""

    def __init__(self, folder: Path, spark: SparkSession, days: Sequence[date], like: Lake | None = None) -> None:
        self.spark = spark
        example = shipped_example()
        for name in ("contracts", "partitions", "resources"):
            shutil.copytree(example / name, folder / name)
        self.project = Project(folder)
        self.registry: Registry = load_project(self.project)
        self.workspace = Workspace(self.project)
        self.landing = self.workspace.root / "landing"
        self.landed: Mapping[Path, date]
        """Files, below the landing folder, by the day of their rows; files of no day are left out."""
        if like is None:
            self.landed = self._land(days)
        else:
            shutil.copytree(like.landing, self.landing)
            self.landed = like.landed

    def _land(self, days: Sequence[date]) -> Mapping[Path, date]:
        """Some order lines are broken; of what is the same every day, the broken rows of all days would be too many."""
        broken = [key for key in self.keys if self.registry.contracts[key].table == WITH_BAD_ROWS]
        others = [key for key in self.keys if key not in broken]
        files = [
            file for only, invalid in ((others, 0.0), (broken, INVALID)) for file in self._made(days, only, invalid)
        ]
        by_window = {contract.key for contract in self.contracts if self.is_by_window(contract)}
        return {file.path.relative_to(self.landing): file.day for file in files if file.contract in by_window}

    def _made(self, days: Sequence[date], only: Sequence[Key], invalid: float) -> tuple[LandedFile, ...]:
        request = Request(days, ROWS, invalid=invalid, only=only)
        return LandingPlan(self.registry, self.project, self.workspace.root, request).land(self.spark).files

    @property
    def keys(self) -> list[Key]:
        """Of all tables that are made, in the order of their graph."""
        contracts = self.registry.contracts
        return [key for level in self.registry.graph.levels for key in level if contracts[key].place.enabled]

    @property
    def contracts(self) -> list[Contract]:
        return [self.registry.contracts[key] for key in self.keys]

    def is_by_window(self, contract: Contract) -> bool:
        """Whether a day of it can be run by itself; the others are made as a whole from what there is."""
        planner = Planner(self.registry, self.workspace)
        return planner.partitions(contract) is not None or follows_windows(contract)

    def run(self, request: PipelineRequest, parallel: int = 1, tell: Callable[[Done], None] = lambda _: None) -> Ran:
        """Every table, and once more what rows came for meanwhile."""
        done: list[Done] = []

        def told(each: Done) -> None:
            if each.state != "started":
                done.append(each)
                tell(each)

        campaign = Planner(self.registry, self.workspace).campaign(request, self.keys)
        pipeline = Pipeline(self.registry, self.workspace, self.spark, request, RunPolicy(parallel=parallel))
        begun = time.monotonic()
        run_to_the_end(pipeline, campaign, self.keys, tell=told)
        wrong = [f"{each.key}: {_why(each)}" for each in done if each.state != "done"]
        if wrong:
            raise RuntimeError(f"{len(wrong)} of {len(done)} runs did not end well: {'; '.join(wrong[:3])}")
        return Ran(time.monotonic() - begun, tuple(done))

    def table(self, contract: Contract) -> DeltaTable | None:
        return _opened(self.workspace.destination(contract).target)

    def rows(self) -> dict[str, Counter[str]]:
        """Every table's rows and bad rows, each as often as it stands there, without what names a run or its time."""
        found: dict[str, Counter[str]] = {}
        for contract in self.contracts:
            place = self.workspace.destination(contract)
            found[contract.table] = _counted(_opened(place.target))
            found[f"{contract.table}, bad rows"] = _counted(_opened(place.quarantine))
        return found


def _why(done: Done) -> str:
    said = done.error or (done.result and (done.result.error or "; ".join(done.result.reasons)))
    return f"{done.state}, {said or done.reason or 'below another'}"


def _opened(path: str) -> DeltaTable | None:
    return DeltaTable(path) if DeltaTable.is_deltatable(path) else None


def _counted(table: DeltaTable | None) -> Counter[str]:
    if table is None:
        return Counter()
    found = table.to_pyarrow_table()
    kept = [name for name in found.column_names if name == ERRORS_COLUMN or not _is_of_a_run(name)]
    return Counter(str(sorted(row.items(), key=str)) for row in found.select(kept).to_pylist())


def _is_of_a_run(name: str) -> bool:
    return name.startswith(_ENGINE) or "run_id" in name


def differing(some: Mapping[str, Counter[str]], others: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Table → rows that one of the two lacks; a row that stands there twice counts twice."""
    pairs = {name: (some[name], others[name]) for name in some}
    found = {name: ((left - right) + (right - left)).total() for name, (left, right) in pairs.items()}
    return {name: rows for name, rows in found.items() if rows}

"""Ninety days of the example's tills: in order, in reverse, side by side, one by one; and five of them rebuilt."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.measurement import Bar, Claim, Measurement, Sample, Size, clocked
from lakelogic_assets.authoring.landing import make_landing_data
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.calendar import Days
from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
from lakelogic_assets.project import Project, shipped_example
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.frames import SparkSession
from lakelogic_assets.spark.pipeline import Pipeline, run_contracts
from lakelogic_assets.spark.reprocessing import run_to_the_end
from lakelogic_assets.spark.session import local_session
from lakelogic_assets.spark.workspace import Workspace

FIRST = date(2026, 2, 1)
TILLS = ("bronze_pos_orders", "silver_pos_orders", "gold_fact_sales")
BEFORE = ("gold_dim_customers", "gold_dim_products")
DAYS, REBUILT = 90, 5
REBUILD = "five days rebuilt, less one run"
WAYS = ("in order", "in reverse", "side by side", "one by one")
_ENGINE = "_lakelogic_"


class Lake:
    """A copy of the example with its own lakehouse and ninety days of landing files."""

    def __init__(self, folder: Path, landing: Path | None, spark: SparkSession, days: int) -> None:
        self.root, self.spark = folder, spark
        example = shipped_example()
        for name in ("contracts", "partitions", "resources"):
            shutil.copytree(example / name, folder / name)
        self.project = Project(folder)
        self.registry: Registry = load_project(self.project)
        self.workspace = Workspace(self.project)
        self.days: Days = (FIRST, FIRST + timedelta(days=days - 1))
        if landing is None:
            dates = [FIRST + timedelta(days=number) for number in range(days)]
            # Nothing broken on purpose: of products, which are the same every day, the gate would let none pass.
            make_landing_data(
                self.registry,
                self.project,
                storage_root=self.workspace.root,
                days=dates,
                rows=40,
                invalid=0.0,
                spark=spark,
            )
        else:
            shutil.copytree(landing / ".lakehouse" / "landing", self.workspace.root / "landing")

    def keys(self, *tables: str) -> list[Key]:
        chosen = self.registry.select(tables)
        return [key for level in self.registry.graph.levels for key in level if key in chosen]

    def run_dimensions(self) -> None:
        """What sales are joined with, once, before the days."""
        keys = self.keys(*[f"+{name}" for name in BEFORE])
        done = run_contracts(self.registry, keys, self.workspace, self.spark)
        assert {progress.state for progress in done.values()} == {"done"}

    def run(self, request: PipelineRequest, parallel: int = 1) -> tuple[float, int]:
        """Seconds and windows."""
        keys = self.keys(*TILLS)
        campaign = Planner(self.registry, self.workspace).campaign(request, keys)
        pipeline = Pipeline(self.registry, self.workspace, self.spark, request, RunPolicy(parallel=parallel))
        begun = time.monotonic()
        done = run_to_the_end(pipeline, campaign, keys)
        seconds = time.monotonic() - begun
        assert {progress.state for progress in done.values()} == {"done"}, done
        return seconds, len(done)

    def tables(self) -> dict[str, list[str]]:
        """All rows of the till's tables, without what names the run that brought them."""
        return {name: self._rows(name) for name in TILLS}

    def table(self, name: str) -> DeltaTable:
        (key,) = self.keys(name)
        return DeltaTable(self.workspace.destination(self.registry.contracts[key]).target)

    def _rows(self, name: str) -> list[str]:
        found = self.table(name).to_pyarrow_table()
        kept = [each for each in found.column_names if not each.startswith(_ENGINE) and "run_id" not in each]
        return sorted(str(sorted(row.items(), key=str)) for row in found.select(kept).to_pylist())


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    """Each way has a lakehouse of its own and is run once: days that are there already would not be run again."""
    days = size.of(DAYS, REBUILT)
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-backfill-"))
    spark = local_session()
    try:
        landing = Lake(folder / "landing", None, spark, days)
        lakes = {way: Lake(folder / way.replace(" ", "_"), landing.root, spark, days) for way in WAYS}
        for lake in lakes.values():
            lake.run_dimensions()
        yield Measurement(
            f"{days} days of {len(TILLS)} tables in every order, and {REBUILT} of them rebuilt",
            {
                **{way: lambda way=way: _filled(lakes, way, days) for way in WAYS},  # type: ignore[misc]
                REBUILD: lambda: _rebuilt(lakes[WAYS[0]], days),
            },
            (Bar(REBUILD, WAYS[0], 2 * REBUILT / days),),
            (*(Claim(way, "rows that differ", 0) for way in WAYS), Claim(REBUILD, "files of other days", 0)),
            rounds=1,
            warm_up=0,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _filled(lakes: dict[str, Lake], way: str, days: int) -> Sample:
    whole = PipelineRequest(window="backfill", days=(FIRST, FIRST + timedelta(days=days - 1)))
    requests = {
        "in order": [whole],
        "in reverse": [replace(whole, direction="reverse")],
        "side by side": [whole],
        "one by one": [PipelineRequest(window="range", days=(day, day)) for day in _days(lakes[way].days)],
    }[way]
    parallel = 2 if way == "side by side" else 1
    sample = clocked(lambda: [lakes[way].run(request, parallel) for request in requests])
    first, here = lakes[WAYS[0]].tables(), lakes[way].tables()
    differ = sum(_differences(first[name], here[name]) for name in TILLS)
    return replace(sample, facts={"rows": sum(map(len, here.values())), "rows that differ": differ})


def _differences(some: Sequence[str], others: Sequence[str]) -> int:
    """Rows that one of them lacks; a row that stands there twice counts twice."""
    left, right = Counter(some), Counter(others)
    return ((left - right) + (right - left)).total()


def _days(days: Days) -> Sequence[date]:
    return [days[0] + timedelta(days=number) for number in range((days[1] - days[0]).days + 1)]


def _rebuilt(lake: Lake, days: int) -> Sample:
    """Five days in the middle, less what one run costs anyway; and which files that touched."""
    first = FIRST + timedelta(days=days // 2 - REBUILT // 2)
    five = (first, first + timedelta(days=REBUILT - 1))
    one = clocked(lambda: lake.run(PipelineRequest(window="reprocess", days=(first, first))))
    before = {name: set(lake.table(name).file_uris()) for name in TILLS}
    sample = clocked(lambda: lake.run(PipelineRequest(window="reprocess", days=five)))
    rebuilt = {day.isoformat() for day in _days(five)}
    strange = [
        file
        for name, files in before.items()
        for file in files ^ set(lake.table(name).file_uris())
        if not any(f"={day}" in file for day in rebuilt)
    ]
    facts = {"seconds": sample.wall, "one day seconds": one.wall, "files of other days": len(strange)}
    return replace(sample, wall=max(sample.wall - one.wall, 0.0), cpu=max(sample.cpu - one.cpu, 0.0), facts=facts)

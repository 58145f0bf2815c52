"""Ninety days of the example's tills: in order, in reverse, side by side, one by one; and five of them rebuilt."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from benchmarks.machine import write_result
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
REBUILT = 5
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


def measure(days: int = 90, chosen: Sequence[str] = WAYS) -> dict[str, Any]:
    spark = local_session()
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-backfill-"))
    whole = PipelineRequest(window="backfill", days=(FIRST, FIRST + timedelta(days=days - 1)))
    ways = {
        "in order": (whole, 1),
        "in reverse": (replace(whole, direction="reverse"), 1),
        "side by side": (whole, 2),
    }
    seconds: dict[str, float] = {}
    tables: dict[str, dict[str, list[str]]] = {}
    lakes: list[Lake] = []
    for name, (request, parallel) in ways.items():
        if name not in chosen:
            continue
        lake = Lake(folder / name.replace(" ", "_"), lakes[0].root if lakes else None, spark, days)
        lakes.append(lake)
        lake.run_dimensions()
        seconds[name], windows = lake.run(request, parallel)
        tables[name] = lake.tables()
        print(f"{name}: {windows} windows in {seconds[name]:.1f} s", flush=True)
    if "one by one" in chosen:
        lake = Lake(folder / "one_by_one", lakes[0].root, spark, days)
        lake.run_dimensions()
        requests = [PipelineRequest(window="range", days=(day, day)) for day in _days(lake.days)]
        seconds["one by one"] = sum(lake.run(request)[0] for request in requests)
        tables["one by one"] = lake.tables()
    equal = all(found == tables["in order"] for found in tables.values())
    rebuilt = _rebuilt(lakes[0], days)
    shutil.rmtree(folder)
    return {"days": days, "seconds": seconds, "same rows": equal, **rebuilt}


def _days(days: Days) -> Sequence[date]:
    return [days[0] + timedelta(days=number) for number in range((days[1] - days[0]).days + 1)]


def _rebuilt(lake: Lake, days: int) -> dict[str, Any]:
    """Five days in the middle: what they cost, what one run costs anyway, and which files they touched."""
    first = FIRST + timedelta(days=days // 2)
    five = (first, first + timedelta(days=REBUILT - 1))
    fixed, _ = lake.run(PipelineRequest(window="reprocess", days=(first, first)))
    before = {name: set(lake.table(name).file_uris()) for name in TILLS}
    seconds, windows = lake.run(PipelineRequest(window="reprocess", days=five))
    rebuilt = {day.isoformat() for day in _days(five)}
    strange = [
        file
        for name, files in before.items()
        for file in files ^ set(lake.table(name).file_uris())
        if not any(f"={day}" in file for day in rebuilt)
    ]
    return {
        "rebuild seconds": seconds,
        "rebuild windows": windows,
        "one day seconds": fixed,
        "files of other days": len(strange),
    }


def main(days: int = 90, chosen: Sequence[str] = WAYS) -> bool:
    """Measure, print and write the result; gives whether every bar is met."""
    found = measure(days, chosen)
    full = found["seconds"]["in order"]
    bar = 2 * REBUILT / days * full + found["one day seconds"]
    print(f"backfill: {days} days of {len(TILLS)} tables; load {os.getloadavg()[0]:.1f}")
    for name, seconds in found["seconds"].items():
        print(f"  {name:14} {seconds:8.1f} s")
    print(f"  same rows in every table: {found['same rows']}")
    print(f"  {REBUILT} days rebuilt {found['rebuild seconds']:6.1f} s (bar {bar:.1f}: twice their share and one run)")
    print(f"  files of other days that were touched: {found['files of other days']}")
    write_result("backfill", {**found, "bar": round(bar, 1), "load": os.getloadavg()[0]})
    return found["same rows"] and not found["files of other days"] and found["rebuild seconds"] <= bar


if __name__ == "__main__":
    # `python -m benchmarks.backfill 30 "in order" "in reverse"`: fewer days, some of the ways.
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 90, sys.argv[2:] or WAYS) else 1)

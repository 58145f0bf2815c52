"""The same work through `lakelogic` 1.84 on its three engines: rows of 12 columns, merged by key into a Delta table.

Each makes the table of the rows and then merges the same rows into it, all of them updated: both are measured
together. It runs in an environment of its own, which `make bench-peers` makes. On Spark both begin with a session that
has just been started; beside Polars and DuckDB, which need no warming, ours is warm as in a run of Dagster.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.by_hand import make_source
from benchmarks.machine import ROOT, in_fresh_process
from benchmarks.measurement import Bar, Job, Measurement, Sample, Size
from benchmarks.memory import in_process_of_its_own
from benchmarks.workbench import BASE, Workbench, quarantine_of, ruled, workbench
from lakelogic_assets.spark.frames import SparkSession
from lakelogic_assets.spark.jars import cached_jars

PYTHON = ROOT / ".cache" / "peers" / "venv" / "bin" / "python"
WARM, COLD = "ours, warm", "ours, cold"
ENGINES = {"spark": "its Spark engine", "polars": "its Polars engine", "duckdb": "its DuckDB engine"}


@dataclass(frozen=True)
class Load:
    """How many rows meet how many rules, and where they lie: as they first came, and as they came again."""

    rows: int
    rules: int
    folder: Path

    def of(self, what: str) -> str:
        return f"{what}, {self.rules} rules"

    @property
    def sources(self) -> tuple[Path, Path]:
        return self.folder / "first", self.folder / "again"

    @property
    def contracts(self) -> list[dict[str, Any]]:
        return [{**ruled(source, self.rules, strategy="merge"), "primary_key": ["id"]} for source in self.sources]

    def make(self, spark: SparkSession) -> None:
        first, again = self.sources
        make_source(spark, first, self.rows)
        changed = spark.read.parquet(str(first)).selectExpr("* EXCEPT (d0)", "(d0 + 1) % 1000 AS d0")
        changed.write.parquet(str(again))

    def check(self, good: int) -> None:
        """Every fiftieth row is bad; who has other rows has not done the same work."""
        assert good == self.rows - (self.rows + 49) // 50, good


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    if not PYTHON.exists():
        raise SystemExit("error: `make bench-peers` makes the environment that lakelogic is measured in; run it first.")
    with workbench("peers") as bench:
        loads = (Load(size.rows, 8, bench.kept / "in_8"), Load(size.of(1_000_000), 40, bench.kept / "in_40"))
        for load in loads:
            load.make(bench.spark)
        jobs = {name: job for load in loads for name, job in _jobs(bench, load).items()}
        jobs[loads[0].of(WARM)]()
        yield Measurement(
            " and ".join(f"{load.rows:,} rows with {load.rules} rules" for load in loads)
            + ", 2 % bad, merged by key into a new table and, all of them changed, into the same again",
            jobs,
            tuple(bar for load in loads for bar in _bars(load)),
            # The others are processes that begin cold; a second round would take as long and tell the same.
            rounds=1,
            warm_up=0,
            before_each=bench.clear,
        )


def _bars(load: Load) -> Iterator[Bar]:
    yield Bar(load.of(COLD), load.of(ENGINES["spark"]), 1 / 5)
    yield Bar(load.of(WARM), load.of(ENGINES["polars"]), 1.0)
    if load.rules == 8:
        yield Bar(load.of(WARM), load.of(ENGINES["duckdb"]), 2.5)


def _jobs(bench: Workbench, load: Load) -> dict[str, Job]:
    target = bench.folder / "ours"

    def run() -> None:
        for contract in load.contracts:
            load.check(bench.run_contract(contract, target).counts.good)

    ours = {
        WARM: bench.job(load.of(WARM), run, good=target, bad=quarantine_of(target)),
        COLD: lambda: in_process_of_its_own([*load.sources], load.rules, "merge"),
    }
    theirs = {name: lambda engine=engine: _peer(bench, engine, load) for engine, name in ENGINES.items()}
    return {load.of(name): job for name, job in {**ours, **theirs}.items()}


def _peer(bench: Workbench, engine: str, load: Load) -> Sample:
    """The same contracts, with the places of their tables, which each of us names in its own way."""
    home = bench.folder / engine
    home.mkdir()
    file = home / "contracts.json"
    file.write_text(json.dumps([_placed(contract, home) for contract in load.contracts]))
    jars = ",".join(jar.as_uri() for jar in cached_jars())
    sample = Sample(**in_fresh_process("benchmarks.peer_worker", engine, str(file), jars, python=str(PYTHON)))
    load.check(sample.facts["rows good"])
    return sample


def _placed(contract: dict[str, Any], home: Path) -> dict[str, Any]:
    said = {**BASE, **contract, "quarantine": {"target": str(home / "bad")}}
    said["materialization"] = {**contract["materialization"], "target_path": str(home / "good"), "format": "delta"}
    return said

"""The same work through `lakelogic` 1.84 on its three engines: rows of 12 columns, merged by key into a Delta table.

It runs in an environment of its own, which `make bench-peers` makes. On Spark both begin with a session that has just
been started; beside Polars and DuckDB, which need no warming, ours is warm as in a run of Dagster.
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
from lakelogic_assets.spark.jars import cached_jars

PYTHON = ROOT / ".cache" / "peers" / "venv" / "bin" / "python"
ENGINES = {"spark": "its Spark engine", "polars": "its Polars engine", "duckdb": "its DuckDB engine"}


@dataclass(frozen=True)
class Load:
    """How many rows meet how many rules."""

    rows: int
    rules: int
    source: Path

    def of(self, what: str) -> str:
        return f"{what}, {self.rules} rules"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    if not PYTHON.exists():
        raise SystemExit("error: `make bench-peers` makes the environment that lakelogic is measured in; run it first.")
    with workbench("peers") as bench:
        loads = (Load(size.rows, 8, bench.kept / "in_8"), Load(size.of(1_000_000), 40, bench.kept / "in_40"))
        for load in loads:
            make_source(bench.spark, load.source, load.rows)
        yield Measurement(
            " and ".join(f"{load.rows:,} rows with {load.rules} rules" for load in loads) + ", 2 % bad, merged by key",
            {name: job for load in loads for name, job in _jobs(bench, load).items()},
            tuple(bar for load in loads for bar in _bars(load)),
            rounds=2,
            before_each=bench.clear,
        )


def _bars(load: Load) -> Iterator[Bar]:
    yield Bar(load.of("ours, cold"), load.of(ENGINES["spark"]), 1 / 5)
    yield Bar(load.of("ours, warm"), load.of(ENGINES["polars"]), 1.0)
    if load.rules == 8:
        yield Bar(load.of("ours, warm"), load.of(ENGINES["duckdb"]), 2.5)


def _jobs(bench: Workbench, load: Load) -> dict[str, Job]:
    target = bench.folder / "ours"
    contract = {**ruled(load.source, load.rules, strategy="merge"), "primary_key": ["id"]}
    warm = bench.job(
        load.of("ours, warm"), lambda: bench.run_contract(contract, target), good=target, bad=quarantine_of(target)
    )
    cold = lambda: in_process_of_its_own(load.source, load.rules, "merge")  # noqa: E731 - one of several jobs
    theirs = {load.of(name): lambda engine=engine: _peer(bench, engine, contract) for engine, name in ENGINES.items()}
    return {load.of("ours, warm"): warm, load.of("ours, cold"): cold, **theirs}


def _peer(bench: Workbench, engine: str, contract: dict[str, Any]) -> Sample:
    """The same contract, with the places of its tables, which each of us names in its own way."""
    home = bench.folder / engine
    home.mkdir()
    said = {**BASE, **contract, "quarantine": {"target": str(home / "bad")}}
    said["materialization"] = {**contract["materialization"], "target_path": str(home / "good"), "format": "delta"}
    file = home / "contract.json"
    file.write_text(json.dumps(said))
    jars = ",".join(jar.as_uri() for jar in cached_jars())
    return Sample(**in_fresh_process("benchmarks.peer_worker", engine, str(file), jars, python=str(PYTHON)))

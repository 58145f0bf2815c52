"""A folder, a session and contracts to run in them, for everything that is measured on Spark."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measurement import Job, Sample
from benchmarks.spark_facts import Watch, rows_of
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.frames import SparkSession
from lakelogic_assets.spark.session import local_session


@dataclass(frozen=True)
class Workbench:
    """What stands in `kept` stays from round to round; everything else is cleared before each job."""

    name: str
    folder: Path
    spark: SparkSession
    kept: Path

    def clear(self) -> None:
        for left in self.folder.iterdir():
            if left.is_file():
                left.unlink()  # the lock of a table lies beside it
            elif left != self.kept:
                shutil.rmtree(left)

    def job(
        self, name: str, run: Callable[[], object], before: Callable[[], object] = lambda: None, **tables: Path
    ) -> Job:
        """A job that tells how many rows it left in its tables, in how many Spark jobs, and by which plan.

        `before` makes what it needs anew in each round, and is not measured.
        """
        watch = Watch(self.spark)
        plan = f"{self.name}-{name}".replace(" ", "_").replace(",", "")

        def watched() -> Sample:
            before()
            sample = watch.watched(run, plan)
            return replace(sample, facts={**sample.facts, **rows_of(**tables)})

        return watched

    def run_contract(self, contract: Mapping[str, Any], target: Path) -> RunReport:
        """The contract as a user would run it from Python, on a session that is warm."""
        return self.processor(contract, target).run()

    def processor(self, contract: Mapping[str, Any], target: Path) -> DataProcessor:
        home = target.parent / f"contract_{target.name}"
        home.mkdir(parents=True, exist_ok=True)
        file = home / "bench.yaml"
        file.write_text(yaml.safe_dump({**BASE, **contract}, sort_keys=False))
        return DataProcessor(file, spark=self.spark, target=target)


BASE: Mapping[str, Any] = {"version": "1.0.0", "info": {"title": "Bench", "table_name": "bench"}}


def quarantine_of(target: Path) -> Path:
    return target.parent / f"_{target.name}_quarantine"


@contextlib.contextmanager
def workbench(name: str) -> Iterator[Workbench]:
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-bench-"))
    kept = folder / "kept"
    kept.mkdir()
    try:
        yield Workbench(name, folder, local_session(), kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def row_rules(count: int) -> dict[str, str]:
    """Rules of eight forms, of which only `status = 'ok'` is ever broken."""
    forms = (
        "d{a} >= 0", "i{b} < {n}", "status = 'ok'", "email LIKE '%@%.%'", "LENGTH(s0) > {c}", "day >= DATE'2023-01-01'",
        "d{a} <= {n}", "code IS NOT NULL",
    )  # fmt: skip
    return {f"r{n}": forms[n % 8].format(a=n % 4, b=n % 3, c=n % 3, n=1000 + n) for n in range(count)}


def ruled(source: Path, rules: int, **materialization: Any) -> dict[str, Any]:
    """A contract over a folder of parquet files with so many row rules."""
    return {
        "source": {"type": "landing", "path": str(source), "format": "parquet"},
        "quality": {"row_rules": [{"name": name, "sql": sql} for name, sql in row_rules(rules).items()]},
        "materialization": materialization or {"strategy": "append"},
    }

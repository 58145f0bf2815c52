"""A run of an incremental contract that finds nothing new, against a bare look at the table's snapshot."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.by_hand import make_source
from benchmarks.measurement import Bar, Claim, Measurement, Size
from benchmarks.workbench import ruled, workbench

OURS, BARE = "nothing new", "a look at the snapshot"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("noop") as bench:
        source, target = bench.kept / "in", bench.kept / "table"
        make_source(bench.spark, source, size.of(400_000, 1000))
        contract = ruled(source, 40)
        contract["source"] |= {"load_mode": "incremental", "watermark_strategy": "pipeline_log"}
        processor = bench.processor(contract, target)
        processor.run()

        def run() -> None:
            assert processor.run().status == "no_new_data"

        yield Measurement(
            "an incremental contract of 40 rules, when no file is new",
            {BARE: bench.job(BARE, lambda: _look(bench.spark, target)), OURS: bench.job(OURS, run)},
            (Bar(OURS, BARE, 3.0),),
            (Claim(OURS, "rows read", 0),),
            rounds=15,
            warm_up=3,
        )


def _look(spark: SparkSession, target: Path) -> None:
    """The files of a table at its newest version, through a session of its own as every run has one."""
    assert spark.newSession().read.format("delta").load(str(target)).inputFiles()

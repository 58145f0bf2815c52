"""Forty million rows, merged in eight gigabytes: ten times what a small machine is usually asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.by_hand import make_source
from benchmarks.measurement import Claim, Measurement, Size
from benchmarks.memory import in_process_of_its_own
from benchmarks.workbench import workbench

GIGABYTES = 8.0
JOB = "40 M rows, 8 rules, merge"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    rows = 10 * size.rows
    with workbench("large") as bench:
        source = bench.kept / "in"
        make_source(bench.spark, source, rows)
        yield Measurement(
            f"{rows:,} rows of 12 columns, 8 rules, 2 % bad, merged into a new Delta table",
            {JOB: lambda: in_process_of_its_own([source], 8, "merge")},
            claims=(Claim(JOB, "gb", GIGABYTES),),
            rounds=1,
            warm_up=0,
        )

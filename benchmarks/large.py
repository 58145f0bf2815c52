"""Forty million rows, merged twice in eight gigabytes: ten times what a small machine is usually asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.measurement import Claim, Measurement, Sample, Size
from benchmarks.memory import in_process_of_its_own
from benchmarks.peers import Load
from benchmarks.workbench import workbench

GIGABYTES = 8.0
JOB = "40 M rows, 8 rules, merge"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("large") as bench:
        load = Load(10 * size.rows, 8, bench.kept / "in")
        load.make(bench.spark)
        yield Measurement(
            f"{load.rows:,} rows of 12 columns, 8 rules, 2 % bad, merged into a new Delta table and, all of them "
            "changed, into the same again",
            {JOB: lambda: _merged(load)},
            claims=(Claim(JOB, "gb", GIGABYTES),),
            rounds=1,
            warm_up=0,
        )


def _merged(load: Load) -> Sample:
    sample = in_process_of_its_own([*load.sources], load.rules, "merge")
    load.check(sample.facts["rows good"])
    return sample

"""The most memory that a run ever holds, for four million rows and for four times as many: nothing is collected.

A JVM takes what its heap may have before it looks for garbage, so both get the same small heap: who needs more ends in
an error. Python has no such limit and is held to a figure of its own.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.by_hand import make_source
from benchmarks.machine import in_fresh_process
from benchmarks.measurement import Bar, Claim, Measurement, Sample, Size
from benchmarks.workbench import workbench

SMALL, LARGE = "rows as usual", "four times as many"
TIMES = {SMALL: 1, LARGE: 4}
HEAP = "640m"
PYTHON_MB = 300


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("memory") as bench:
        sources = {name: bench.kept / str(times) for name, times in TIMES.items()}
        for name, path in sources.items():
            make_source(bench.spark, path, TIMES[name] * size.rows)
        yield Measurement(
            f"{size.rows:,} and {4 * size.rows:,} rows, 40 rules, 2 % bad, append to Delta; a process for each run",
            {
                name: lambda path=path: in_process_of_its_own([path], 40, "append", HEAP)
                for name, path in sources.items()
            },  # type: ignore[misc]
            (Bar(LARGE, SMALL, 1.2, "memory_mb"),),
            (Claim(LARGE, "python mb", PYTHON_MB),),
            rounds=2,
            warm_up=0,
        )


def in_process_of_its_own(sources: Sequence[Path], rules: int, strategy: str, heap: str | None = None) -> Sample:
    """One run for each source, one after the other, into the same table."""
    more = {"LAKELOGIC_DRIVER_MEMORY": heap} if heap else {}
    found = in_fresh_process("benchmarks.memory", strategy, str(rules), *map(str, sources), more=more)
    return Sample(found["wall"], found["cpu"], found["memory_mb"], found["facts"])


def _worker(strategy: str, rules: int, sources: Sequence[Path]) -> dict[str, Any]:
    """What runs on a session that was started for them take, and what Python and its JVM held at most."""
    import os
    from dataclasses import asdict

    from benchmarks.machine import peak_mb
    from benchmarks.workbench import quarantine_of, ruled
    from lakelogic_assets.spark.session import jvm_pid

    with workbench("worker") as bench:
        target = bench.folder / "ours"
        contracts = [{**ruled(source, rules, strategy=strategy), "primary_key": ["id"]} for source in sources]

        def run() -> None:
            for contract in contracts:
                bench.run_contract(contract, target)

        job = bench.job("worker", run, good=target, bad=quarantine_of(target))
        sample = job()
        assert isinstance(sample, Sample)
        python, jvm = peak_mb(os.getpid()), peak_mb(jvm_pid(bench.spark) or 0)
        facts = {**sample.facts, "python mb": round(python), "jvm mb": round(jvm), "gb": (python + jvm) / 1024}
        return {**asdict(sample), "memory_mb": python + jvm, "facts": facts}


if __name__ == "__main__":
    print(json.dumps(_worker(sys.argv[1], int(sys.argv[2]), [Path(source) for source in sys.argv[3:]])))

"""`python -m faults.soak [--runs 500]`: small runs of one asset in one process; nothing may grow with their number.

The last twenty are compared with the twenty around the twentieth: seconds, memory of Python, heap of the JVM after a
collection, open files, sessions and views. What lies on the disk grows with what is kept; it is told and not judged.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from faults.scene import Scene, draw_rows
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark.session import jvm_pid, local_session

BAR: Final = 1.3
_WIDTH: Final = 20
_FIRST: Final = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process looks like after a run."""

    seconds: float
    cpu: float
    python_mb: float
    heap_mb: float
    files: int
    views: int


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m faults.soak")
    parser.add_argument("--runs", type=int, default=500)
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="lakelogic-soak-") as folder:
        samples = soak(Path(folder), asked.runs)
        sizes = _sizes(Path(folder))
    print("\n".join(f"{name}: {size:,} bytes" for name, size in sizes.items()))
    return 0 if judged(samples) else 1


def soak(folder: Path, runs: int) -> list[Sample]:
    """Each run finds one new file of a few rows, as a table does that is fed every minute."""
    scene = Scene(folder, "append", windowed=False)
    scene.write_contract()
    rng, samples = random.Random(7), []
    for number in range(runs):
        scene.land(0, draw_rows(rng, 0, count=6, first_id=number * 10), part=number)
        begun, worked = time.perf_counter(), _cpu_seconds()
        report = DataProcessor(scene.contract).run()
        taken, worked = time.perf_counter() - begun, _cpu_seconds() - worked
        assert report.counts.source == 6, report
        samples.append(_sample(taken, worked, number, runs))
        if (number + 1) % 50 == 0:
            print(f"{number + 1:5} runs, last {samples[-1]}", flush=True)
    return samples


def judged(samples: list[Sample]) -> bool:
    """Print the comparison; whether nothing grew beyond the bar."""
    early, late = samples[_FIRST - _WIDTH // 2 : _FIRST + _WIDTH // 2], samples[-_WIDTH:]
    fine = True
    print(f"{'':12}{'run ' + str(_FIRST):>12}{'the end':>12}{'ratio':>8}   bar {BAR}")
    for name in Sample.__slots__:
        first, last = (statistics.median(getattr(each, name) for each in part) for part in (early, late))
        ratio = last / first if first else 1.0
        fine &= ratio <= BAR
        print(f"{name:12}{first:12.2f}{last:12.2f}{ratio:8.2f}")
    return fine


def _sample(seconds: float, cpu: float, number: int, runs: int) -> Sample:
    """Looking costs a collection in the JVM, so only the runs that are compared are looked at closely."""
    close = abs(number - _FIRST) <= _WIDTH or number >= runs - _WIDTH or number % 50 == 49
    spark = local_session()
    if close:
        gc.collect()
    return Sample(
        seconds,
        cpu,
        _resident_mb(),
        _heap_mb(spark) if close else 0.0,
        len(list(Path("/proc/self/fd").iterdir())),
        len(spark.catalog.listTables()) if close else 0,
    )


def _cpu_seconds() -> float:
    """Of Python and its JVM."""
    tick, total = os.sysconf("SC_CLK_TCK"), 0
    for pid in (os.getpid(), jvm_pid(local_session())):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / tick


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _heap_mb(spark: Any) -> float:
    jvm = spark._jvm
    jvm.System.gc()
    used = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    return float(used) / 1e6


def _sizes(folder: Path) -> dict[str, int]:
    """The logs, without landing files."""
    lake = folder / ".lakehouse"
    kinds = {"log of the table": "**/t_append/_delta_log/*", "run log": "**/_pipeline_run_log/**/*"}
    return {
        name: sum(file.stat().st_size for file in lake.glob(pattern) if file.is_file())
        for name, pattern in kinds.items()
    }


if __name__ == "__main__":
    sys.exit(main())

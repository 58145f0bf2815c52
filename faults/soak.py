"""`python -m faults.soak [--runs 500]`: small runs of one asset in one process; nothing may grow with their number.

The last twenty are compared with the twenty around the twentieth: seconds, memory of Python, heap of the JVM after a
collection and what the JVM has beside its heap, open files of both, sessions that the engine has not given back,
sessions and views that the JVM still holds, and bytes that a run adds to the logs. What lies on the disk as a whole
grows with what is kept; it is told and not judged, and neither are Delta's checkpoints, which hold what it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest import mock

from pyspark.sql import SparkSession

from faults.record import record
from faults.scene import Scene, draw_rows
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark.driver.classic import ClassicDriver
from lakelogic_assets.spark.session import jvm_pid, local_session

BAR: Final = 1.3
_FULL: Final = 500
_WIDTH: Final = 20
_FIRST: Final = 20
Compared: TypeAlias = dict[str, tuple[float, float, float]]
_CLASSES: Final = {
    "sessions": "org.apache.spark.sql.classic.SparkSession",
    "views": "org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process looks like after a run."""

    seconds: float
    cpu: float
    python_mb: float
    heap_mb: float
    beside_heap_mb: float
    """What the JVM has of the machine's memory that is not its heap: classes, code, threads, buffers."""
    python_files: int
    jvm_files: int
    sessions_begun: int
    """That the engine has begun and not given back."""
    sessions: int
    views: int
    """In whatever session they were made: what the JVM cannot let go of."""
    log_bytes: int
    """What this run has added to the logs of the table and of the runs."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m faults.soak")
    parser.add_argument("--runs", type=int, default=_FULL)
    parser.add_argument("--record", action="store_true", help="keep the figures of fewer runs, too")
    asked, begun = parser.parse_args(argv), time.monotonic()
    _touch_the_whole_heap()
    with tempfile.TemporaryDirectory(prefix="lakelogic-soak-") as folder:
        samples = soak(Path(folder), asked.runs)
        sizes = _sizes(Path(folder))
    print("\n".join(f"{name}: {size:,} bytes" for name, size in sizes.items()))
    found = compared(samples)
    if asked.record or asked.runs >= _FULL:
        record("soak", begun, {"runs": asked.runs, "bar": BAR, "figures": found})
    return 0 if judged(found) else 1


def _touch_the_whole_heap() -> None:
    """From the start, so that the rest of the JVM's memory is what it has beside its heap."""
    memory = os.environ.setdefault("LAKELOGIC_DRIVER_MEMORY", "1g")
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{options} -Xms{memory} -XX:+AlwaysPreTouch".strip()


def soak(folder: Path, runs: int) -> list[Sample]:
    """Each run finds one new file of a few rows, as a table does that is fed every minute."""
    scene = Scene(folder, "append", windowed=False)
    scene.write_contract()
    rng, samples, logs = random.Random(7), [], 0
    with _not_given_back() as begun:
        for number in range(runs):
            scene.land(0, draw_rows(rng, 0, count=6, first_id=number * 10), part=number)
            began, worked = time.perf_counter(), _cpu_seconds()
            report = DataProcessor(scene.contract).run()
            taken, worked = time.perf_counter() - began, _cpu_seconds() - worked
            assert report.counts.source == 6, report
            before, logs = logs, sum(_sizes(folder).values())
            close = runs < _FULL or abs(number - _FIRST) <= _WIDTH or number >= runs - _WIDTH or number % 50 == 49
            samples.append(_sample(taken, worked, len(begun), logs - before, close=close))
            if (number + 1) % 50 == 0:
                print(f"{number + 1:5} runs, last {samples[-1]}", flush=True)
    return samples


def compared(samples: list[Sample], around: int = _FIRST, width: int = _WIDTH) -> Compared:
    """Of each figure the medians of some runs around an early one and of the last ones, and their ratio."""
    early, late = samples[around - width // 2 : around + width // 2], samples[-width:]
    found = {}
    for name in Sample.__slots__:
        first, last = (statistics.median(getattr(each, name) for each in part) for part in (early, late))
        found[name] = (first, last, last / first if first else math.inf if last else 1.0)
    return found


def judged(found: Compared) -> bool:
    """Print the comparison; whether nothing grew beyond the bar, and nothing came to be that was not there."""
    print(f"{'':16}{'run ' + str(_FIRST):>12}{'the end':>12}{'ratio':>8}   bar {BAR}")
    for name, (first, last, ratio) in found.items():
        print(f"{name:16}{first:12.2f}{last:12.2f}{ratio:8.2f}")
    return all(ratio <= BAR for _, _, ratio in found.values())


@contextlib.contextmanager
def _not_given_back() -> Iterator[set[int]]:
    """The sessions that the engine has begun and not given back, by number."""
    begun: dict[int, int] = {}
    numbers = itertools.count()
    open_now: set[int] = set()
    new_session = ClassicDriver.new_session

    def noted(self: ClassicDriver, spark: SparkSession) -> SparkSession:
        made = new_session(self, spark)
        begun[id(made)] = number = next(numbers)
        open_now.add(number)
        return made

    @contextlib.contextmanager
    def released(_: ClassicDriver, session: SparkSession) -> Iterator[None]:
        try:
            yield
        finally:
            open_now.discard(begun.pop(id(session), -1))

    with mock.patch.multiple(ClassicDriver, new_session=noted, released=released):
        yield open_now


def _sample(seconds: float, cpu: float, begun: int, log_bytes: int, *, close: bool) -> Sample:
    """Looking costs a collection in the JVM, so only the runs that are compared are looked at closely."""
    spark = local_session()
    alive: Counter[str] = Counter()
    used, kept = 0.0, 0.0
    if close:
        gc.collect()
        alive = held_by_the_jvm(spark)
        used, kept = _heap_mb(spark)
    return Sample(
        seconds,
        cpu,
        _resident_mb("self"),
        used,
        _resident_mb(jvm_pid(spark)) - kept,
        _open_files("self"),
        _open_files(jvm_pid(spark)),
        begun,
        alive["sessions"],
        alive["views"],
        log_bytes,
    )


def held_by_the_jvm(spark: Any) -> Counter[str]:
    """How many sessions and views there are after a collection, by the JVM's own count of its objects."""
    lines = (line.split() for line in _histogram(spark).splitlines())
    counts = {words[3]: int(words[1]) for words in lines if words[:1] and words[0].rstrip(":").isdigit()}
    return Counter({what: counts.get(name, 0) for what, name in _CLASSES.items()})


def _histogram(spark: Any) -> str:
    """`jcmd PID GC.class_histogram`, by Java's reflection: py4j finds no method of a class that is not exported."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway

    def array(kind: Any, *values: Any) -> Any:
        made = gateway.new_array(kind, len(values))
        for index, value in enumerate(values):
            made[index] = value
        return made

    text, any_object = jvm.java.lang.String, jvm.java.lang.Object
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    commands = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    given = array(any_object, array(text))
    asked = array(any_object, commands, "gcClassHistogram", given, array(text, "[Ljava.lang.String;"))
    return str(invoke.invoke(jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer(), asked))


def _open_files(process: int | str | None) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def _cpu_seconds() -> float:
    """Of Python and its JVM."""
    tick, total = os.sysconf("SC_CLK_TCK"), 0
    for pid in (os.getpid(), jvm_pid(local_session())):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / tick


def _resident_mb(process: int | str | None) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _heap_mb(spark: Any) -> tuple[float, float]:
    """After a collection: what is used of the heap, and what the JVM keeps for it."""
    jvm = spark._jvm
    jvm.System.gc()
    heap = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    return heap.getUsed() / 1e6, heap.getCommitted() / 1e6


def _sizes(folder: Path) -> dict[str, int]:
    """The logs, without landing files, and without checkpoints, which grow with what the table holds."""
    lake = folder / ".lakehouse"
    kinds = {
        "log of the table": "**/t_append/_delta_log/*.json",
        "run log": "**/_pipeline_run_log/**/*",
        "runs": "_logs/**/*",
    }
    return {
        name: sum(
            file.stat().st_size for file in lake.glob(pattern) if file.is_file() and ".checkpoint" not in file.name
        )
        for name, pattern in kinds.items()
    }


if __name__ == "__main__":
    sys.exit(main())

"""What one more run costs in a log that has grown: writing its row, and finding the last success of its contract."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measurement import Bar, Measurement, Size
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import Counts, RunReport
from lakelogic_assets.spark.run_log import append_run, last_success

FEW, CONTRACTS = 100, 100
TIMES = 20
"""So many at once: of one alone the clock of the processor is too coarse to tell."""
BEGIN = datetime(2026, 2, 1, tzinfo=UTC)
SMALL, LARGE = "a run in a log of 100", "a run in a log that has grown"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    many = size.of(2000, 200)
    with tempfile.TemporaryDirectory() as folder:
        logs = {SMALL: (str(Path(folder, "small")), FEW), LARGE: (str(Path(folder, "large")), many)}
        for path, rows in logs.values():
            for number in range(rows):
                append_run(path, None, _report(number), "prod")
        yield Measurement(
            f"{TIMES} rows, each with a last success, in a log of {FEW} and one of {many:,} runs",
            {name: _job(path) for name, (path, _) in logs.items()},
            (Bar(LARGE, SMALL, 1.5, "cpu"),),
            rounds=5,
        )


def _job(path: str) -> Callable[[], None]:
    def run() -> None:
        for _ in range(TIMES):
            append_run(path, None, _report(0), "prod")
            last_success(path, "t0", None, None, None)

    return run


def _report(number: int) -> RunReport:
    name = f"t{number % CONTRACTS}"
    at = BEGIN + timedelta(minutes=number)
    return RunReport(
        "success", f"r{number}", f"p{number}", f"shop/{name}", name, FULL.as_dict(), at, at, counts=Counts(9, 9)
    )

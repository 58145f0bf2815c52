"""One day merged into a table of thirty days, against the same day merged into a table of three.

The cost should follow the change, not the table. Each round brings the day anew with other values, so that every row of
it is an update and the table keeps its size. Both tables are partitioned by day; rows are known by an id that grows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.by_hand import source_rows
from benchmarks.measurement import Bar, Job, Measurement, Size
from benchmarks.workbench import Workbench, ruled, workbench

DAYS = {"a day into 30 days": 30, "a day into 3 days": 3}


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("merge") as bench:
        large, small = DAYS
        yield Measurement(
            f"a day of {size.rows:,} rows, all of them changed, merged into tables of 30 days and of 3",
            {name: _merged(bench, name, days, size.rows) for name, days in DAYS.items()},
            (Bar(large, small, 1.3),),
        )


def _merged(bench: Workbench, name: str, days: int, rows: int) -> Job:
    """The first day is written by the engine, the further ones are copies of it with other ids."""
    target, source = bench.kept / f"of_{days}_days", bench.kept / f"day_for_{days}"
    contract = {**ruled(source, 8, strategy="merge", partition_by=["day"]), "primary_key": ["id"]}
    rounds = count()
    _make_day(bench, source, rows, next(rounds))
    bench.run_contract(contract, target)
    first = bench.spark.read.format("delta").load(str(target)).where("id < " + str(rows))
    for day in range(1, days):
        moved = first.selectExpr(*[_moved(column, day, rows) for column in first.columns])
        moved.write.format("delta").mode("append").save(str(target))

    def make() -> None:
        _make_day(bench, source, rows, next(rounds))

    return bench.job(name, lambda: _run(bench, contract, target, rows), make, table=target)


def _run(bench: Workbench, contract: dict[str, Any], target: Path, rows: int) -> None:
    report = bench.run_contract(contract, target)
    assert report.counts.good == rows, report


def _make_day(bench: Workbench, source: Path, rows: int, value: int) -> None:
    changed = source_rows(bench.spark, rows, clean=True).selectExpr(
        "* EXCEPT (day, d0)", f"(d0 + {value}) % 1000 AS d0", "DATE'2024-01-01' AS day"
    )
    changed.write.mode("overwrite").parquet(str(source))


def _moved(column: str, day: int, rows: int) -> str:
    changes = {"id": f"id + {day * rows} AS id", "day": f"DATE_ADD(day, {day}) AS day"}
    return changes.get(column, f"`{column}`")

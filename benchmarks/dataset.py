"""Rules over all rows together, against a copy and one hand-written aggregation that asks the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarks.by_hand import copy_and_count, make_source
from benchmarks.measurement import Bar, Measurement, Size
from benchmarks.workbench import ruled, workbench

UNIQUE = ("id", "email", "code", "s0", "day")
NULLS = ("d0", "d1", "i0", "i1", "status")
OURS, HAND = "ours", "copy and one aggregation"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("dataset") as bench:
        spark, source, ours, hand = bench.spark, bench.kept / "in", bench.folder / "ours", bench.folder / "hand"
        make_source(spark, source, size.rows, clean=True)
        contract = {**ruled(source, 0), "quality": {"dataset_rules": _rules(size.rows)}}
        yield Measurement(
            f"{size.rows:,} rows appended to Delta; are {len(UNIQUE)} columns unique, how often are {len(NULLS)} NULL, "
            "how many rows are there",
            {
                HAND: bench.job(HAND, lambda: copy_and_count(spark, source, hand, UNIQUE, NULLS), table=hand),
                OURS: bench.job(OURS, lambda: bench.run_contract(contract, ours), table=ours),
            },
            (Bar(OURS, HAND, 1.3),),
            before_each=bench.clear,
        )


def _rules(rows: int) -> list[dict[str, Any]]:
    """Two of the columns are not unique, which is counted and only warned about."""
    return [
        *({"unique": {"fields": [name], "severity": "warning"}} for name in UNIQUE),
        *({"null_ratio": {"field": name, "max": 0.1}} for name in NULLS),
        {"row_count_between": {"min": rows, "max": rows}},
    ]

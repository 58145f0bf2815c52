"""A dimension of two million keys of which one in a hundred has changed, against a hand-written MERGE.

Each round brings all keys, as a daily extract does, and another hundredth of them with a new value and a later time.
Both end with the same columns and rows, which is checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.by_hand import begin_history, merge_history
from benchmarks.measurement import Bar, Measurement, Size
from benchmarks.workbench import Workbench, workbench
from lakelogic_assets.spark.frames import DataFrame

KEYS = 2_000_000
OURS, HAND = "ours", "MERGE by hand"
TRACKED = ("name", "city", "level", "credit")


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    keys = size.of(KEYS, 1000)
    with workbench("scd2") as bench:
        spark, ours, hand = bench.spark, bench.kept / "ours", bench.kept / "hand"
        sources = {name: bench.kept / f"in_{name}" for name in ("ours", "hand")}
        rounds = {name: count() for name in sources}

        def arrives(name: str) -> None:
            _make_extract(bench, sources[name], keys, next(rounds[name]))

        for name in sources:
            arrives(name)
        contract = _contract(sources["ours"])
        bench.run_contract(contract, ours)
        begin_history(spark, sources["hand"], hand)
        yield Measurement(
            f"an extract of {keys:,} keys, 1 % of them changed, into a history",
            {
                HAND: bench.job(
                    HAND,
                    lambda: merge_history(spark, sources["hand"], hand, TRACKED, "changed_at"),
                    lambda: arrives("hand"),
                    table=hand,
                ),
                OURS: bench.job(OURS, lambda: bench.run_contract(contract, ours), lambda: arrives("ours"), table=ours),
            },
            (Bar(OURS, HAND, 1.2),),
        )
        differ = _differences(spark.read.format("delta").load(str(ours)), spark.read.format("delta").load(str(hand)))
        assert differ == 0, f"{differ} versions differ: the MERGE by hand does not do the same"


def _differences(ours: DataFrame, hand: DataFrame) -> int:
    same = hand.select(*ours.columns)
    return ours.exceptAll(same).count() + same.exceptAll(ours).count()


def _contract(source: Path) -> dict[str, object]:
    return {
        "source": {"type": "landing", "path": str(source), "format": "parquet"},
        "primary_key": ["id"],
        "materialization": {
            "strategy": "scd2",
            "scd2": {"timestamp_field": "changed_at", "track_columns": list(TRACKED)},
        },
    }


def _make_extract(bench: Workbench, path: Path, keys: int, day: int) -> None:
    """All keys as they are after so many days; on day n the keys that end in n change."""
    changed = f"id % 100 > 0 AND id % 100 <= {day}"
    bench.spark.range(keys).selectExpr(
        "id",
        "CONCAT('name_', id) AS name",
        f"IF({changed}, CONCAT('moved_', id % 100), CONCAT('city_', id % 500)) AS city",
        "CAST(id % 7 AS INT) AS level",
        "CAST(id % 10000 AS DOUBLE) AS credit",
        f"TIMESTAMP'2024-01-01' + MAKE_DT_INTERVAL(IF({changed}, CAST(id % 100 AS INT), 0)) AS changed_at",
    ).write.mode("overwrite").parquet(str(path))

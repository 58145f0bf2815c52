"""The soak can say no: to what grows, and to what is there at the end and was not there at the beginning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.soak import BAR, Sample, compared, judged, soak

STEADY = Sample(
    seconds=1.0, cpu=1.5, python_mb=120.0, heap_mb=90.0, beside_heap_mb=300.0, python_files=40, jvm_files=300,
    sessions_begun=0, sessions=4, views=0, log_bytes=9_000,
)  # fmt: skip


def test_what_stays_as_it_was_is_fine() -> None:
    assert judged(compared([STEADY] * 60))
    assert judged(compared([*[STEADY] * 40, *[replace(STEADY, seconds=1.3)] * 20]))


@pytest.mark.parametrize("name", Sample.__slots__)
def test_nothing_may_grow_by_more_than_the_bar_nor_come_from_nothing(name: str) -> None:
    """Views most of all: a process has none, so a single one that stays is one too many."""
    more = getattr(STEADY, name) * 2 or 1
    assert not judged(compared([*[STEADY] * 40, *[replace(STEADY, **{name: more})] * 20]))


def test_twenty_small_runs_leave_no_session_no_view_and_no_open_file(tmp_path: Path, spark: SparkSession) -> None:
    """So few say nothing of time and memory, which other tests of the same process move; these they do not."""
    found = compared(soak(tmp_path, 20), around=7, width=6)
    kept = {name: found[name] for name in ("sessions_begun", "sessions", "views", "python_files", "log_bytes")}
    assert {name: figures for name, figures in kept.items() if figures[2] > BAR} == {}
    assert spark.range(1).count() == 1

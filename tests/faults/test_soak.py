"""The soak can say no: to what grows, and to what is there at the end and was not there at the beginning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from faults.soak import Sample, held_by_the_jvm, judged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEADY = Sample(
    seconds=1.0, cpu=1.5, python_mb=120.0, heap_mb=90.0, python_files=40, jvm_files=300,
    sessions_begun=0, sessions=4, views=0, log_bytes=9_000,
)  # fmt: skip


def test_what_stays_as_it_was_is_fine() -> None:
    assert judged([STEADY] * 60)
    assert judged([*[STEADY] * 40, *[replace(STEADY, seconds=1.3)] * 20])


@pytest.mark.parametrize("name", Sample.__slots__)
def test_nothing_may_grow_by_more_than_the_bar_nor_come_from_nothing(name: str) -> None:
    """Views most of all: a process has none, so a single one that stays is one too many."""
    more = getattr(STEADY, name) * 2 or 1
    assert not judged([*[STEADY] * 40, *[replace(STEADY, **{name: more})] * 20])


def test_a_view_of_any_session_is_seen_as_long_as_it_is_held(spark: SparkSession) -> None:
    before = held_by_the_jvm(spark)
    held = [spark.newSession() for _ in range(20)]
    for session in held:
        session.range(1).createOrReplaceTempView("kept")
    after = held_by_the_jvm(spark)
    assert after["sessions"] - before["sessions"] > 10
    assert after["views"] - before["views"] > 10

"""What the soak counts in the JVM: sessions and views, in whatever session they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faults.soak import held_by_the_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_view_of_any_session_is_seen_as_long_as_it_is_held(spark: SparkSession) -> None:
    before = held_by_the_jvm(spark)
    held = [spark.newSession() for _ in range(20)]
    for session in held:
        session.range(1).createOrReplaceTempView("kept")
    after = held_by_the_jvm(spark)
    assert after["sessions"] - before["sessions"] > 10
    assert after["views"] - before["views"] > 10

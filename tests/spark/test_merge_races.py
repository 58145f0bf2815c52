"""Between the look at a table and the MERGE into it another program may commit: Delta alone would not notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.materialization import merge, scd2, transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.conftest import Sandbox


@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_what_another_program_commits_while_changes_are_worked_out_is_not_overlooked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    text = f"model: {{fields: [{{name: id, type: int}}, {{name: v, type: string}}]}}\nprimary_key: [id]\nmaterialization: {{strategy: {strategy}}}"
    sandbox.run(text, [(1, "a")], "id int, v string")
    target = sandbox.processor(text).destination.target
    foreign = sandbox.spark.read.format("delta").load(target).withColumn("id", F.lit(2)).localCheckpoint()
    plain = transaction.read_at
    raced: list[str] = []

    def read_then_raced(spark: SparkSession, path: str) -> tuple[DataFrame, int]:
        found = plain(spark, path)
        if not raced:
            raced.append(path)
            foreign.write.format("delta").mode("append").save(path)
        return found

    monkeypatch.setattr({"merge": merge, "scd2": scd2}[strategy], "read_at", read_then_raced)
    report = sandbox.run(text, [(1, "b"), (2, "b")], "id int, v string")
    assert any("Evaluated again" in warning for warning in report.warnings)
    current = "true" if strategy == "merge" else "is_current"
    rows = sandbox.spark.read.format("delta").load(target).where(current).select("id", "v").collect()
    assert sorted(map(tuple, rows)) == [(1, "b"), (2, "b")]

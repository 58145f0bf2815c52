"""A contract and its tables in a folder of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakelogic_assets.processor import DataProcessor, Outcome
    from lakelogic_assets.report.run import RunReport


class Sandbox:
    """Runs contracts given as text; every test has its own lakehouse."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def processor(self, text: str, name: str = "orders") -> DataProcessor:
        from lakelogic_assets.processor import DataProcessor

        path = self.folder / f"{name}.yaml"
        head = "" if "version:" in text else f"version: 1.0.0\ninfo: {{title: T, table_name: {name}}}\n"
        path.write_text(head + text, encoding="utf-8")
        return DataProcessor(path, spark=self.spark)

    def frame(self, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
        return self.spark.createDataFrame(rows, schema)

    def validate(self, text: str, rows: list[tuple[Any, ...]], schema: str) -> Outcome:
        return self.processor(text).validate(self.frame(rows, schema))

    def run(self, text: str, rows: list[tuple[Any, ...]], schema: str, **options: Any) -> RunReport:
        return self.processor(text).run(self.frame(rows, schema), **options)

    def target(self, text: str, *columns: str) -> list[tuple[Any, ...]]:
        return self.rows(self.processor(text).destination.target, *columns)

    def quarantine(self, text: str, *columns: str) -> list[tuple[Any, ...]]:
        return self.rows(self.processor(text).destination.quarantine, *columns)

    def rows(self, path: str, *columns: str) -> list[tuple[Any, ...]]:
        frame = self.spark.read.format("delta").load(path)
        found = (frame.select(*columns) if columns else frame).collect()
        return sorted((tuple(row) for row in found), key=repr)


@pytest.fixture
def sandbox(spark: SparkSession, tmp_path: Path) -> Sandbox:
    return Sandbox(spark, tmp_path)


def column(frame: DataFrame, name: str) -> list[Any]:
    return sorted((row[name] for row in frame.collect()), key=repr)

"""A contract and its tables in a folder of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import read_link
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def scope_of(spark: SparkSession, tmp_path: Path, warnings: list[str]) -> Callable[..., Scope]:
    """A scope for a contract given as a mapping: its own session, a folder as lakehouse, its links read."""

    def made(**contract: Any) -> Scope:
        bare = Scope(
            spark=spark.newSession(),
            contract=Contract.model_validate({"info": {"title": "t", "table_name": "made"}, **contract}),
            lakehouse=Lakehouse(tmp_path / "lake", project_root=tmp_path, contract_folder=tmp_path),
            run_id="run-1",
            pipeline_run_id="run-1",
            started_at=datetime(2026, 2, 3, 12, tzinfo=UTC),
            warn=warnings.append,
        )
        return replace(bare, links={link.name: read_link(bare, link) for link in bare.contract.links})

    return made

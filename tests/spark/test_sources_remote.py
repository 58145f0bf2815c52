"""Files that Hadoop finds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakelogic_assets.spark.sources.files import FileSet, read_file_set
from lakelogic_assets.spark.sources.remote import list_remote
from lakelogic_assets.spark.sources.snapshot import SourceSnapshot

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def landed(folder: Path) -> None:
    for name in ("a.csv", "b.csv", "_SUCCESS", ".hidden.csv", "day=1/c.csv", "deep/d.csv"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id\n1\n")


def test_files_are_found_with_size_and_time(spark: SparkSession, tmp_path: Path) -> None:
    landed(tmp_path)
    found = list_remote(spark, f"file:{tmp_path}")
    assert [file.path.removeprefix(f"file:{tmp_path}/") for file in found] == ["a.csv", "b.csv", "day=1/c.csv"]
    assert found[0].size == 5
    assert abs(found[0].mtime - (tmp_path / "a.csv").stat().st_mtime) < 1
    assert len(list_remote(spark, f"file:{tmp_path}", recursive=True)) == 4
    assert len(list_remote(spark, f"file:{tmp_path}/*.csv", pattern="b*")) == 1
    assert list_remote(spark, f"file:{tmp_path}/nothing") == []


def test_a_file_that_changes_changes_what_the_source_is_called(spark: SparkSession, tmp_path: Path) -> None:
    landed(tmp_path)

    def identity() -> str:
        return SourceSnapshot(files=tuple(list_remote(spark, f"file:{tmp_path}"))).identity

    before = identity()
    assert identity() == before
    os.utime(tmp_path / "a.csv", (1, 1))
    assert identity() != before


def test_only_the_files_that_were_found_are_read(spark: SparkSession, tmp_path: Path) -> None:
    landed(tmp_path)
    files = tuple(list_remote(spark, f"file:{tmp_path}", pattern="a*"))
    chosen = FileSet(f"file:{tmp_path}", "csv", {}, None, remote=files)
    assert [row.id for row in read_file_set(spark, chosen).collect()] == ["1"]

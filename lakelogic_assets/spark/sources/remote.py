"""Files of an object store: found by Spark, told apart by path, size and time of change like those of a disk."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pyspark.sql import SparkSession

from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.sources.snapshot import FileStat


def list_remote(
    spark: SparkSession, path: str, *, pattern: str | None = None, recursive: bool = False
) -> list[FileStat]:
    """The files that an address stands for, sorted by path; a folder or a glob that is not there stands for none."""
    files = {file.path: file for file in driver_of(spark).files_at(spark, path, recursive=recursive)}
    return [files[key] for key in sorted(files) if pattern is None or fnmatchcase(PurePosixPath(key).name, pattern)]

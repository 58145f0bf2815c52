"""Files of an object store: found by Hadoop, told apart by path, size and time of change like those of a disk."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from pyspark.sql import SparkSession

from lakelogic_assets.spark.sources.snapshot import FileStat


def list_remote(
    spark: SparkSession, path: str, *, pattern: str | None = None, recursive: bool = False
) -> list[FileStat]:
    """The files that an address stands for, sorted by path; a folder or a glob that is not there stands for none."""
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(spark._jsc.hadoopConfiguration())
    found = system.globStatus(place) or ()
    files = {file.path: file for status in found for file in _below(system, status, recursive)}
    return [files[key] for key in sorted(files) if pattern is None or fnmatchcase(PurePosixPath(key).name, pattern)]


def _below(system: Any, status: Any, recursive: bool) -> Iterator[FileStat]:
    if not status.isDirectory():
        yield FileStat(str(status.getPath()), int(status.getLen()), status.getModificationTime() / 1000)
        return
    for each in system.listStatus(status.getPath()):
        name = each.getPath().getName()
        if name[0] in "._" and "=" not in name:
            continue
        if not each.isDirectory() or recursive or "=" in name:
            yield from _below(system, each, recursive)

"""Rows → files, the same bytes for the same rows: a task writes a file, and nothing is sorted or moved about."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.synthetic import FileForm
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.synthetic.frame import FilePlace, Rows
from lakelogic_assets.spark.synthetic.rendering import json_array_line, json_line, text_columns, typed_columns

_ESCAPED: Final = {"\\t": "\t", "\\u0001": "\x01", "\\x01": "\x01"}


@contextmanager
def written(
    spark: SparkSession, rows: Rows, form: FileForm, places: Sequence[FilePlace], beside: Path
) -> Iterator[list[Path]]:
    """The files of some places, in their order, in a folder that is gone afterwards: take what you want to keep."""
    beside.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".made-", dir=beside))
    try:
        try:
            _write(spark, rows, form, places, folder / "rows")
        except SparkFailure as error:
            raise EngineError(f"{rows.batch.feed.asset[-1]}: its rows could not be made: {one_line(error)}") from error
        parts = sorted((folder / "rows").glob("part-*"))
        if len(parts) != len(places):
            raise EngineError(f"{rows.batch.feed.asset[-1]}: {len(parts)} files were written instead of {len(places)}.")
        yield parts
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def collected(spark: SparkSession, rows: Rows, places: Sequence[FilePlace]) -> list[dict[str, str | None]]:
    """All rows as text in the order of the places; for the few that something else than Spark writes."""
    return [row.asDict() for row in rows.frame(_session(spark), places).selectExpr(*text_columns(rows)).collect()]


def _write(spark: SparkSession, rows: Rows, form: FileForm, places: Sequence[FilePlace], folder: Path) -> None:
    frame = rows.frame(_session(spark), places)
    packed = {"compression": "gzip"} if form.compressed else {}
    match form.format:
        case "parquet":
            _writer(frame, typed_columns(rows)).option("compression", "snappy").parquet(str(folder))
        case "csv":
            _writer(frame, text_columns(rows)).options(**_csv_options(form), **packed).csv(str(folder))
        case "json" if (form.option("multiline") or "true").casefold() != "false":
            _writer(frame, [f"{json_array_line(rows)} as value"]).options(**packed).text(str(folder))
        case _:
            _writer(frame, [f"{json_line(rows)} as value"]).options(**packed).text(str(folder))


def _writer(frame: DataFrame, columns: Sequence[str]) -> DataFrameWriter:
    return frame.selectExpr(*columns).write


def _session(spark: SparkSession) -> SparkSession:
    """Settings of its own: one method for a whole row of many columns is too long for the JVM to compile."""
    session = driver_of(spark).new_session(spark)
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return session


def _csv_options(form: FileForm) -> dict[str, str]:
    said = form.option("sep", "delimiter") or ","
    quote = form.option("quote") or '"'
    return {
        "sep": _ESCAPED.get(said, said),
        "quote": quote,
        "escape": form.option("escape") or quote,
        "header": str((form.option("header") or "true").casefold() != "false").lower(),
        "encoding": form.option("encoding", "charset") or "UTF-8",
        "nullValue": "",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    }

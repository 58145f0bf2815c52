"""The declared source of a contract as a lazy frame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import and_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.reader_options import FILE_TYPES
from lakelogic_assets.contract.source import Source
from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark import parquet_table
from lakelogic_assets.spark.identifiers import column, find_column, find_name
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.changes import equals, read_delta
from lakelogic_assets.spark.sources.columnar import parquet_rows
from lakelogic_assets.spark.sources.files import FORMATS, FileSet, empty_frame, format_of, read_file_set
from lakelogic_assets.spark.sources.needed import needed_columns
from lakelogic_assets.spark.sources.nested import flattened
from lakelogic_assets.spark.sources.reader import option_texts
from lakelogic_assets.spark.sources.selection import select_files
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH, Boundary, SourceRead, SourceSnapshot
from lakelogic_assets.spark.tables import Lakehouse, is_uri
from lakelogic_assets.spark.windows import rows_of_window

_HIDDEN = (SOURCE_PATH, CORRUPT)


def read_source(scope: Scope, boundary: Boundary) -> SourceRead:
    """The rows of the contract's source within the boundary; nothing is computed yet."""
    source = scope.contract.source
    if source and source.type is not None and source.type not in FILE_TYPES:
        raise SourceError(
            f"{scope.contract.table} reads from `{source.type}`, which is not supported: land it as files."
        )
    if source is None or not source.path:
        raise SourceError(f"{scope.contract.table} does not say where it reads from: write `source.path`.")
    read = _table(scope, source, boundary) or _files(scope, source, source.path, boundary)
    frame = _projected(_rows(scope, read, source, boundary), needed_columns(scope.contract))
    has_files = SOURCE_PATH in frame.columns
    is_whole = not boundary.where and boundary.window is None and not source.partition_filters
    return SourceRead(
        frame,
        read.name,
        read.snapshot,
        rereadable=True,
        row_source=column(SOURCE_PATH) if has_files else None,
        corrupt=CORRUPT if CORRUPT in frame.columns else None,
        rows=read.rows if is_whole else None,
    )


def _rows(scope: Scope, read: SourceRead, source: Source, boundary: Boundary) -> DataFrame:
    """The rows within the boundary, flattened.

    To tell what is in a text every row of it is read, so rows go before, unless what they are judged by is in there.
    """
    declared = scope.contract.model.by_name
    if source.flatten_nested:
        with contextlib.suppress(AnalysisException, SourceError):
            few = _filtered(read.frame, source, boundary)
            _ = few.schema
            return flattened(few, source.flatten_nested, read.name, declared)
    whole = flattened(read.frame, source.flatten_nested, read.name, declared)
    return _filtered(whole, source, boundary)


def _table(scope: Scope, source: Source, boundary: Boundary) -> SourceRead | None:
    """The source as a Delta table; None when it is files."""
    path = source.path or ""
    if source.table is not None:
        place = scope.lakehouse.table_path(path)
        if parquet_table.is_table(place):
            plain = source.model_copy(update={"format": parquet_table.FORMAT, "options": None, "pattern": None})
            return replace(_files(scope, plain, place, boundary), name=source.table)
        return read_delta(scope, place, source.table, boundary)
    found = delta_place(scope.lakehouse, source)
    return None if found is None else read_delta(scope, found, path, boundary)


def delta_place(lakehouse: Lakehouse, source: Source) -> str | None:
    """Where the Delta table is that a source names or that lies at its path; None when it is files."""
    path = source.path or ""
    if source.table is not None:
        return lakehouse.table_path(path)
    declared = source.format or (source.type if source.type in ("delta", "table") else None)
    place = lakehouse.source_path(path)
    if declared in ("delta", "table"):
        return place if lakehouse.exists(place) else lakehouse.table_path(path)
    return place if declared is None and lakehouse.exists(place) else None


def _files(scope: Scope, source: Source, path: str, boundary: Boundary) -> SourceRead:
    contract = scope.contract
    place = scope.lakehouse.source_path(path)
    options = option_texts(source.options)
    declared = source.format or (source.type if source.type in FORMATS.values() else None)
    positional = tuple(field.name for field in contract.model.fields if not field.generated)
    if boundary.from_version is not None:
        raise SourceError(f"`watermark_strategy: delta_version` needs a Delta table; {path} is files.", path)
    files = select_files(scope, source, place, boundary)
    snapshot = SourceSnapshot(files=files, description=place)
    if not files:
        columns = dict.fromkeys((*positional, *_cut_by(source, boundary)))
        return SourceRead(empty_frame(scope.spark, [*columns]), place, snapshot)
    if is_uri(place):
        chosen = FileSet(place, format_of(declared, place, files), options, None, positional, remote=files)
        return SourceRead(read_file_set(scope.spark, chosen), place, snapshot)
    chosen = FileSet(
        place, format_of(declared, place, files), options, files, positional, _wanted(contract), _names_files(contract)
    )
    for file in files:
        if file.size == 0 and chosen.format not in ("parquet", "orc", "avro"):
            scope.warn(f"{file.path} is empty.")
    frame = read_file_set(scope.spark, chosen)
    return SourceRead(frame, place, snapshot, rows=parquet_rows(files) if chosen.format == "parquet" else None)


def _cut_by(source: Source, boundary: Boundary) -> Iterator[str]:
    """The columns that the source has to have, whether or not the contract declares them."""
    yield from boundary.cut_by
    parts = source.watermark_date_parts or ()
    yield from parts.values() if isinstance(parts, dict) else parts
    yield from source.partition_filters
    yield from (name for name, _ in boundary.window.values) if boundary.window else ()
    if source.watermark_field:
        yield source.watermark_field


def _names_files(contract: Contract) -> bool:
    """Whether anything asks which file a row is from."""
    return "source_path" in contract.lineage.columns or contract.extraction is not None


def _wanted(contract: Contract) -> T.StructType | None:
    """What to read from JSON without looking at all of the data first; None when a look is needed."""
    needed = needed_columns(contract)
    if needed is None:
        return None
    declared = contract.model.by_name
    fields = []
    for name in sorted(needed, key=lambda each: (each not in declared, each)):
        if name not in declared and name.startswith((names.ENGINE_PREFIX, "_upstream")):
            continue  # stamps of an upstream table, which files do not have
        kind = T._parse_datatype_string(declared[name].spark_type) if name in declared else T.StringType()
        fields.append(T.StructField(name, _of_texts(kind)))
    return T.StructType(fields)


def _of_texts(kind: T.DataType) -> T.DataType:
    """The same structure with text at its ends, so that a wrong value is a matter of its row."""
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(field.name, _of_texts(field.dataType)) for field in kind.fields])
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_of_texts(kind.elementType))
    if isinstance(kind, T.MapType):
        return T.MapType(T.StringType(), _of_texts(kind.valueType))
    return T.StringType()


def _projected(frame: DataFrame, needed: frozenset[str] | None) -> DataFrame:
    if needed is None:
        return frame
    kept = [name for name in frame.columns if name in _HIDDEN or find_name(needed, name)]
    return frame.select(*[column(name) for name in kept])


def _filtered(frame: DataFrame, source: Source, boundary: Boundary) -> DataFrame:
    tests: list[Column] = [F.expr(each) if isinstance(each, str) else each for each in boundary.where]
    for name, value in source.partition_filters.items():
        found = find_column(frame, name)
        if found is None:
            raise SourceError(f"`partition_filters` names `{name}`, which is not a column of {source.path}.")
        tests.append(equals(found, value, frame))
    if boundary.window is not None:
        tests += rows_of_window(frame, boundary.cut_by, boundary.window, source.path or "the source")
    if not tests:
        return frame
    test = reduce(and_, tests)
    # A malformed line has no values to be judged by, and must not get lost.
    return frame.where(test | column(CORRUPT).isNotNull() if CORRUPT in frame.columns else test)

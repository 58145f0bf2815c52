"""Files as a source: which of them a run reads, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.sources.columnar import SHIPPED_READERS, read_columnar
from lakelogic_assets.spark.sources.delimited import Dialect, read_delimited
from lakelogic_assets.spark.sources.heads import plain_suffix
from lakelogic_assets.spark.sources.json_files import read_json
from lakelogic_assets.spark.sources.reader import NOWHERE, corrupt_column, file_column, passed_on, reader
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH, FileStat
from lakelogic_assets.spark.sources.unions import together, union
from lakelogic_assets.spark.sources.widths import (
    most_columns,
    refuse_endless_elements,
    refuse_endless_lines,
    refuse_many_names,
    schema_within,
)
from lakelogic_assets.spark.tables import fixed_prefix

FORMATS: Final = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".avro": "avro", ".orc": "orc", ".xml": "xml", ".pdf": "pdf",
    ".txt": "text", ".log": "text",
}  # fmt: skip
_SAME: Final = {"ndjson": "jsonl"}
_UNSUPPORTED: Final = {
    "iceberg": "Iceberg tables are not read yet; use a Delta table",
    "excel": "save the sheet as CSV",
    "xlsx": "save the sheet as CSV",
    "fixed_width": "read it as `format: text` and cut the columns with `derive`",
}
KNOWN: Final = ("csv", "tsv", "json", "jsonl", "parquet", "avro", "orc", "xml", "text", "pdf")


@dataclass(frozen=True)
class FileSet:
    """Files of one format and how to read them; `files` is None where Spark looks for them itself."""

    path: str
    format: str
    options: Mapping[str, str]
    files: tuple[FileStat, ...] | None
    positional: tuple[str, ...] = ()
    """Names for the columns of files that have no header."""
    wanted: T.StructType | None = None
    """The keys to read from JSON, which does not say what it holds."""
    names_files: bool = True
    """Whether each row shall say which file it is from."""
    remote: tuple[FileStat, ...] = ()
    """What was found where Spark alone can look into files; nothing where it finds them by itself."""

    @property
    def root(self) -> str:
        """The source's own folder."""
        prefix = fixed_prefix(self.path)
        return prefix if Path(prefix).is_dir() else str(PurePosixPath(prefix).parent)


def format_of(declared: str | None, path: str, files: Sequence[FileStat] = ()) -> str:
    """The declared format, else what the names say."""
    named = [path, *[file.path for file in files[:1]]]
    found = declared or next((FORMATS[suffix] for each in named if (suffix := plain_suffix(each)) in FORMATS), None)
    if found is None:
        raise SourceError(f"The format of {path} cannot be told from its name: say `format`.", path)
    found = _SAME.get(found, found)
    if reason := _UNSUPPORTED.get(found):
        raise SourceError(f"{path} is declared as {found}: {reason}.", path)
    if found not in KNOWN:
        raise SourceError(f"{path} is declared as {found!r}; files are one of {', '.join(KNOWN)}.", path)
    return found


def read_file_set(spark: SparkSession, chosen: FileSet) -> DataFrame:
    """The rows of the files, with the file of each row and, where the format has them, its malformed input."""
    if chosen.files is None:
        return _read_by_spark(spark, chosen)
    for file in chosen.files:
        if ":" in file.path:
            raise SourceError(f"{file.path} has a colon in its name, which Hadoop cannot read: rename it.", file.path)
    frame = _read_listed(spark, chosen, chosen.files)
    return _without_voids(frame)


def _read_listed(spark: SparkSession, chosen: FileSet, files: Sequence[FileStat]) -> DataFrame:
    match chosen.format:
        case "csv" | "tsv":
            dialect = Dialect(chosen.options, "\t" if chosen.format == "tsv" else ",")
            frame = read_delimited(spark, files, dialect, chosen.root, chosen.positional)
            return empty_frame(spark, chosen.positional) if frame is None else frame
        case "json" | "jsonl":
            lines = chosen.format == "jsonl"
            return read_json(spark, files, chosen.options, chosen.root, lines=lines, wanted=chosen.wanted)
        case "parquet" | "orc" | "avro":
            return read_columnar(
                spark, files, chosen.format, chosen.options, chosen.root, names_files=chosen.names_files
            )
        case "xml":
            return _read_xml(spark, chosen, files)
        case "pdf":
            frame = _plain(spark, chosen, files, "binaryFile")
            return frame.withColumn("path", column(SOURCE_PATH))
        case _:
            for file in files:
                refuse_endless_lines(file)
            return _plain(spark, chosen, files, "text")


def _plain(spark: SparkSession, chosen: FileSet, files: Sequence[FileStat], file_format: str) -> DataFrame:
    settings = passed_on(chosen.options, file_format)
    frames = []
    for paths in together([file.path for file in files]):
        frame = reader(spark, settings).format(file_format).load(paths)
        frames.append(frame.withColumn(SOURCE_PATH, file_column(paths)))
    return union(frames)


def _read_xml(spark: SparkSession, chosen: FileSet, files: Sequence[FileStat]) -> DataFrame:
    if not any(name.lower() == "rowtag" for name in chosen.options):
        raise SourceError(
            f"{chosen.path} is XML: name the element of a row with `options: {{rowTag: …}}`.", chosen.path
        )
    paths = [file.path for file in files if file.size]
    if not paths:
        return empty_frame(spark, chosen.positional)
    settings = {
        **passed_on(chosen.options, "xml"),
        "inferSchema": "false",
        "columnNameOfCorruptRecord": CORRUPT,
        "mode": "PERMISSIVE",
    }
    most = most_columns(chosen.options)
    for file in files:
        refuse_endless_elements(file)
    if sum(file.size for file in files) > most:
        refuse_many_names(spark, paths, most)
    return union([_read_xml_together(spark, settings, each, most) for each in together(paths)])


def _read_xml_together(spark: SparkSession, settings: Mapping[str, str], paths: list[str], most: int) -> DataFrame:
    content = schema_within(reader(spark, settings).format("xml").load(paths), paths, most)
    fields = [field for field in content.fields if field.name != CORRUPT]
    schema = T.StructType([*fields, *[T.StructField(name, T.StringType()) for name in (CORRUPT, NOWHERE)]])
    frame = reader(spark, settings).schema(schema).format("xml").load(paths)
    kept = [column(field.name) for field in fields]
    return frame.select(*kept, corrupt_column(), file_column(paths).alias(SOURCE_PATH))


def _read_by_spark(spark: SparkSession, chosen: FileSet) -> DataFrame:
    """Files of an object store: Spark takes each format's columns as it finds them."""
    place = [file.path for file in chosen.remote] or chosen.path
    spark_format = {"tsv": "csv", "jsonl": "json", "pdf": "binaryFile"}.get(chosen.format, chosen.format)
    given = passed_on(chosen.options, spark_format)
    made = spark.read.format(SHIPPED_READERS.get(spark_format, spark_format)).options(**given)
    made = made.options(columnNameOfCorruptRecord=CORRUPT, mode="PERMISSIVE")
    if spark_format == "csv":
        dialect = Dialect(chosen.options, "\t" if chosen.format == "tsv" else ",")
        # With the header enforced a file whose columns stand in another order fails instead of swapping values.
        made = made.options(header=str(dialect.has_header).lower(), sep=dialect.delimiter, quote=dialect.quote)
        made = made.options(escape=dialect.escape, enforceSchema="false", multiLine=str(dialect.is_multiline).lower())
        names = made.load(place).columns if dialect.has_header or not chosen.positional else chosen.positional
        texts = [T.StructField(name, T.StringType()) for name in (*names, CORRUPT)]
        made = made.schema(T.StructType(texts))
    elif spark_format == "json":
        multiline = next((value for name, value in chosen.options.items() if name.lower() == "multiline"), "false")
        made = made.options(multiLine=multiline, primitivesAsString="true")
    frame = made.load(place)
    if spark_format == "json" and CORRUPT not in frame.columns:
        frame = frame.withColumn(CORRUPT, F.lit(None).cast("string"))
    return frame.withColumn(SOURCE_PATH, F.col("_metadata.file_path"))


def empty_frame(spark: SparkSession, names: Sequence[str]) -> DataFrame:
    """No rows, but columns."""
    fields = [T.StructField(name, T.StringType()) for name in (*names, CORRUPT, SOURCE_PATH)]
    return spark.createDataFrame([], T.StructType(fields))


def _without_voids(frame: DataFrame) -> DataFrame:
    """A column in which no file ever held a value has no type; as text it can be written."""
    voids = [field.name for field in frame.schema.fields if isinstance(field.dataType, T.NullType)]
    return frame.withColumns({name: column(name).cast("string") for name in voids}) if voids else frame

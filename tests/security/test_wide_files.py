"""Files without an end to their columns or their lines: refused in a sentence, in little time and memory."""

from __future__ import annotations

import gzip
import json
import re
import resource
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark.sources.widths import LONGEST_RECORD, MOST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

CONTRACT = """
version: 1.0.0
info: {title: T, table_name: orders}
model: {fields: [{name: id, type: int}, {name: v, type: string}]}
source: {type: landing, path: in, format: %s, options: {%s}}
materialization: {strategy: append}
schema_policy: {unknown_fields: drop}
"""
MANY = 1_000_000
SECONDS = 120


def _fill(file: IO[bytes], head: bytes) -> None:
    file.write(head)
    for _ in range(200):
        file.write(b"x" * 1_000_000)


def _most_memory() -> int:
    """The most that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def wide_csv(folder: Path) -> None:
    (folder / "wide.csv").write_text("id,v," + ",".join(f"c{n}" for n in range(MANY)) + "\n1,a\n")


def wide_json(folder: Path) -> None:
    (folder / "wide.jsonl").write_text(json.dumps({"ID": 1, **{f"c{n}": n for n in range(MANY)}}) + "\n")


def wide_struct(folder: Path) -> None:
    record = {"ID": 1, "v": {f"c{n}": n for n in range(MANY // 10)}}
    (folder / "wide.jsonl").write_text(json.dumps(record) + "\n")


def wide_parquet(folder: Path) -> None:
    table = pa.table({f"c{n}": pa.array([1], pa.int8()) for n in range(MOST_COLUMNS + 1)})
    parquet.write_table(table, folder / "wide.parquet", write_statistics=False)


def wide_xml(folder: Path) -> None:
    (folder / "wide.xml").write_text("<rows><row>" + "".join(f"<c{n}/>" for n in range(MANY)) + "</row></rows>")


def wide_orc(folder: Path) -> None:
    orc.write_table(pa.table({f"c{n}": pa.array([1], pa.int8()) for n in range(MOST_COLUMNS + 1)}), folder / "wide.orc")


def wide_avro(folder: Path) -> None:
    """Of an Avro file its header alone, which says what the columns are."""
    fields = ",".join(f'{{"name":"c{n}","type":"int"}}' for n in range(MOST_COLUMNS + 1))
    schema = f'{{"type":"record","name":"r","fields":[{fields}]}}'.encode()
    head = b"Obj\x01" + _long(1) + _long(11) + b"avro.schema" + _long(len(schema)) + schema + _long(0) + b"s" * 16
    (folder / "wide.avro").write_bytes(head)


def _long(number: int) -> bytes:
    """A number as Avro writes it."""
    number, written = number << 1, b""
    while number > 0x7F:
        written, number = written + bytes([number & 0x7F | 0x80]), number >> 7
    return written + bytes([number])


def endless_xml(folder: Path) -> None:
    with (folder / "wide.xml").open("wb") as file:
        _fill(file, b"<rows><row><id>1</id><v>a</v></row><row><v>")


def endless_text(folder: Path) -> None:
    with (folder / "wide.txt").open("wb") as file:
        _fill(file, b"a\n")


def endless_header(folder: Path) -> None:
    with (folder / "wide.csv").open("wb") as file:
        _fill(file, b"")


def endless_row(folder: Path) -> None:
    with (folder / "wide.csv").open("wb") as file:
        _fill(file, b"id,v\n1,a\n2,")


def packed_row(folder: Path) -> None:
    with gzip.GzipFile(folder / "wide.csv.gz", "wb", 1) as file:
        _fill(file, b"id,v\n1,a\n2,")


def endless_json(folder: Path) -> None:
    with (folder / "wide.jsonl").open("wb") as file:
        _fill(file, b'{"id": 1, "v": "a"}\n{"id": 2, "v": "')


@pytest.mark.parametrize(
    ("made", "file_format", "says"),
    [
        (wide_csv, "csv", f"wide.csv has {MANY + 2:,} columns, and at most {MOST_COLUMNS:,} are read"),
        (wide_json, "jsonl", f"wide.jsonl has {MANY + 1:,} columns, and at most {MOST_COLUMNS:,} are read"),
        (wide_struct, "jsonl", f"columns, and at most {MOST_COLUMNS:,} are read"),
        (wide_parquet, "parquet", f"wide.parquet has {MOST_COLUMNS + 1:,} columns"),
        (wide_xml, "xml", f"wide.xml has {MANY + 2:,} columns, and at most {MOST_COLUMNS:,} are read"),
        (wide_orc, "orc", f"wide.orc has {MOST_COLUMNS + 1:,} columns"),
        (wide_avro, "avro", f"wide.avro has {MOST_COLUMNS + 1:,} columns"),
        (endless_xml, "xml", f"wide.xml has more than {LONGEST_RECORD:,} bytes without a tag"),
        (endless_text, "text", f"wide.txt has a line of more than {LONGEST_RECORD:,} bytes"),
        (endless_header, "csv", "wide.csv has no line end in its first 16,777,216 bytes"),
        (endless_row, "csv", f"wide.csv has a line of more than {LONGEST_RECORD:,} bytes"),
        (packed_row, "csv", f"wide.csv.gz has a line of more than {LONGEST_RECORD:,} bytes"),
        (endless_json, "jsonl", f"wide.jsonl has a line of more than {LONGEST_RECORD:,} bytes"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_without_end_is_refused_by_its_name_and_count(
    spark: SparkSession, tmp_path: Path, made: Callable[[Path], None], file_format: str, says: str
) -> None:
    (tmp_path / "in").mkdir()
    made(tmp_path / "in")
    (tmp_path / "orders.yaml").write_text(CONTRACT % (file_format, "rowTag: row" if file_format == "xml" else ""))
    processor = DataProcessor(tmp_path / "orders.yaml", spark=spark)
    began, most = time.monotonic(), _most_memory()
    with pytest.raises(LakeLogicError, match=re.escape(says)) as refusal:
        processor.run()
    assert "\n" not in str(refusal.value)
    assert _most_memory() - most < 1 << 30
    assert time.monotonic() - began < SECONDS


def test_as_many_columns_as_the_contract_says_are_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/rows.csv").write_text("id,v,a,b\n1,x,,\n")
    (tmp_path / "orders.yaml").write_text(CONTRACT % ("csv", "maxColumns: 3"))
    with pytest.raises(LakeLogicError, match=r"rows\.csv has 4 columns, and at most 3 are read: say `options: "):
        DataProcessor(tmp_path / "orders.yaml", spark=spark).run()
    (tmp_path / "orders.yaml").write_text(CONTRACT % ("csv", "maxColumns: 4"))
    assert DataProcessor(tmp_path / "orders.yaml", spark=spark).run().counts.good == 1


def test_many_short_lines_in_a_long_file_are_no_long_line(tmp_path: Path) -> None:
    from lakelogic_assets.spark.sources.snapshot import FileStat
    from lakelogic_assets.spark.sources.widths import refuse_endless_lines

    path = tmp_path / "rows.csv"
    path.write_bytes(b"1,a\r\n" * (LONGEST_RECORD // 5 + 100_000))
    refuse_endless_lines(FileStat(str(path), path.stat().st_size, 0.0))

from __future__ import annotations

import json
import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyarrow import orc, parquet
from pyspark.errors import PySparkException

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import Boundary, SourceRead, explain_failure, read_source
from lakelogic_assets.spark.sources.reader import option_texts, passed_on
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH

if TYPE_CHECKING:
    from collections.abc import Callable


Read = Any
SPARK_FAILURES = (PySparkException, Py4JJavaError)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def read(scope_of: Callable[..., Scope], folder: Path) -> Read:
    def made(file_format: str | None = None, boundary: Boundary | None = None, **contract: Any) -> SourceRead:
        source = {"path": folder.name, "format": file_format, **contract.pop("source", {})}
        return read_source(scope_of(source=source, **contract), boundary or Boundary())

    return made


def rows(read: SourceRead) -> list[dict[str, Any]]:
    found = [row.asDict(recursive=True) for row in read.frame.drop(CORRUPT, SOURCE_PATH).collect()]
    return sorted(found, key=str)


def malformed(read: SourceRead) -> list[str]:
    return [row[CORRUPT] for row in read.frame.where(f"{CORRUPT} IS NOT NULL").collect()]


def model(**kinds: str) -> dict[str, Any]:
    return {"fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}


DROPPING = {"schema_policy": {"unknown_fields": "drop"}}


@pytest.mark.parametrize("name", ["avroSchemaUrl", "rowValidationXSDPath", "fs.s3a.endpoint"])
def test_an_option_that_leads_away_never_reaches_spark(name: str) -> None:
    with pytest.raises(SourceError, match=f"`{name}` is not allowed: it leads away"):
        option_texts({name: "x"})
    assert passed_on({"path": "/etc", name: "x", "nullValue": "-"}, "csv") == {"nullValue": "-"}


def test_json_values_arrive_as_the_text_that_was_written(read: Read, folder: Path) -> None:
    lines = ['{"id": 1.10, "b": true, "o": {"a": 1, "l": [1, 2.5]}}', '{"id": "x", "new": null, "s": "é"}']
    (folder / "a.jsonl").write_text("\n".join(lines))
    found = read()
    assert rows(found) == [
        {"b": "true", "id": "1.10", "new": None, "o": {"a": 1, "l": [1.0, 2.5]}, "s": None},
        {"b": None, "id": "x", "new": None, "o": None, "s": "é"},
    ]
    assert found.row_source is not None


def test_broken_json_lines_are_kept(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(b'{"id": 1}\n{broken\n"no object"\n{"id": "\xe9"}\n')
    found = read()
    assert malformed(found)[:2] == ["{broken", '"no object"']
    assert len(malformed(found)) == 3
    assert found.frame.where(f"{CORRUPT} IS NULL").count() == 1


def test_a_file_of_nothing_but_broken_lines_is_all_malformed(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_text("{a\n{b\n")
    found = read()
    assert found.frame.count() == 2
    assert malformed(found) == ["{a", "{b"]
    (folder / "a.jsonl").rename(folder / "a.xml")
    assert malformed(read(source={"options": {"rowTag": "row"}})) == ["{a\n{b\n"]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": 1},\n {"id": 2}]',
        '{"id": 1}\n{"id": 2}\n',
        ' [ {"id": 1}, {"id": 2} ] ',
        '\ufeff[{"id": 1}, {"id": 2}]',
    ],
)
def test_json_is_lines_or_one_array(read: Read, folder: Path, text: str) -> None:
    (folder / "a.json").write_text(text)
    assert rows(read()) == [{"id": "1"}, {"id": "2"}]


def test_one_object_over_many_lines_is_one_row(read: Read, folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps({"id": 1, "l": [1, 2]}, indent=2))
    (folder / "b.json").write_text('{"id": 2}\n{"id": 3}\n')
    assert [row["id"] for row in rows(read())] == ["1", "2", "3"]


def test_objects_that_spark_would_drop_are_refused(read: Read, folder: Path) -> None:
    (folder / "a.json").write_text('{\n"id": 1}\n{\n"id": 2}\n')
    with pytest.raises(SourceError, match=r"a\.json holds several JSON objects one after the other"):
        read()


@pytest.mark.parametrize("line", ['{"id": 1, "ID": 2}', '{"id": 1, "id": 2}', '{"a": {"x": 1, "X": 2}}'])
def test_keys_that_cannot_be_told_apart_are_refused(read: Read, folder: Path, line: str) -> None:
    (folder / "a.jsonl").write_text('{"ok": 1}\n')
    (folder / "b.jsonl").write_text(line + "\n")
    with pytest.raises(SourceError, match=r"b\.jsonl has (both|the column)"):
        read()


def test_only_needed_keys_are_read_and_the_data_is_not_looked_at_first(read: Read, folder: Path, spark: Any) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "other": 2, "tags": ["a"]}\n')
    spark.sparkContext.setJobGroup("look", "look")
    found = read(model=model(id="int", tags="array<string>"), **DROPPING)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("look")) == 0
    assert rows(found) == [{"id": "1", "tags": ["a"]}]


def test_a_wanted_key_that_is_nowhere_does_not_become_a_column(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "other": 2}\n')
    assert rows(read(model=model(id="int", name="string"), **DROPPING)) == [{"id": "1"}]


def test_a_key_in_another_case_is_not_lost(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"ID": 1, "other": 2}\n')
    assert rows(read(model=model(id="int"), **DROPPING)) == [{"ID": "1"}]


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "ISO-8859-1", "windows-1252"])
def test_json_in_other_encodings(read: Read, folder: Path, encoding: str) -> None:
    (folder / "a.json").write_bytes('[{"id": "é"}]'.encode(encoding))
    assert rows(read(source={"options": {"encoding": encoding}})) == [{"id": "é"}]


def test_structs_are_flattened_when_asked_for(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "a": {"b": {"c": 2}, "l": [{"x": 1}], "p": [1]}, "z": {"y": 3}}\n')
    assert rows(read(source={"flatten_nested": True})) == [
        {"a_b_c": 2, "a_l": '[{"x":1}]', "a_p": [1], "id": "1", "z_y": 3}
    ]
    assert set(rows(read(source={"flatten_nested": ["z"]}))[0]) == {"a", "id", "z_y"}


def test_json_text_in_a_column_is_flattened_when_named(read: Read, folder: Path) -> None:
    (folder / "a.csv").write_text('id,meta\n1,"{""a"": 5, ""b"": ""x""}"\n2,\n')
    assert rows(read(source={"flatten_nested": ["meta"]}))[0] == {"id": "1", "meta_a": 5, "meta_b": "x"}


def test_flattened_names_that_collide_are_refused(read: Read, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"a_b": 1, "a": {"b": 2}}\n')
    with pytest.raises(SourceError, match="`a_b` twice"):
        read(source={"flatten_nested": True})


def write_parquet(path: Path, **columns: Any) -> None:
    parquet.write_table(pa.table(columns), path)


def test_parquet_goes_by_name_and_types_that_disagree_become_text(read: Read, folder: Path) -> None:
    write_parquet(folder / "a.parquet", id=pa.array([1], pa.int32()), v=["x"], n=[None], s=[{"a": 1}])
    write_parquet(folder / "b.parquet", v=[2.5], ID=pa.array([2], pa.int64()), s=["text"], extra=[True])
    found = read()
    assert dict(found.frame.drop(SOURCE_PATH).dtypes) == {
        "id": "bigint", "v": "string", "n": "string", "s": "string", "extra": "boolean",
    }  # fmt: skip
    assert rows(found) == [
        {"id": 1, "v": "x", "n": None, "s": '{"a":1}', "extra": None},
        {"id": 2, "v": "2.5", "n": None, "s": "text", "extra": True},
    ]


def test_parquet_types_are_those_that_spark_finds(read: Read, folder: Path, spark: Any) -> None:
    columns = {
        "u8": pa.array([1], pa.uint8()), "u32": pa.array([1], pa.uint32()), "u64": pa.array([1], pa.uint64()),
        "f": pa.array([1.5], pa.float32()), "d": [date(2026, 2, 3)], "dec": [Decimal("1.10")], "bin": [b"x"],
        "ts": pa.array([datetime(2026, 2, 3)], pa.timestamp("us")),
        "tz": pa.array([datetime(2026, 2, 3)], pa.timestamp("ms", "UTC")),
        "ls": [["a"]], "st": [{"a": 1, "b": "x"}], "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        "dict": pa.array(["x"]).dictionary_encode(), "large": pa.array(["x"], pa.large_string()), "b": [True],
    }  # fmt: skip
    write_parquet(folder / "a.parquet", **columns)
    expected = spark.read.parquet(str(folder / "a.parquet"))
    found = read().frame.drop(SOURCE_PATH)
    assert found.dtypes == expected.dtypes
    assert found.collect() == expected.collect()


def test_nanoseconds_and_times_of_day_are_read(read: Read, folder: Path) -> None:
    nanos = pa.array([1_770_076_800_123_456_789, -1], pa.timestamp("ns"))
    zoned = pa.array([1_770_076_800_123_456_789, -1], pa.timestamp("ns", "UTC"))
    times = pa.array([3_723_500_000, None], pa.time64("us"))
    write_parquet(folder / "a.parquet", n=nanos, z=zoned, t=times)
    found = read().frame
    assert found.dtypes[:3] == [("n", "timestamp_ntz"), ("z", "timestamp"), ("t", "string")]
    texts = found.selectExpr("cast(n AS string) n", "cast(z AS string) z", "t").collect()
    assert sorted(texts) == [
        ("1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", None),
        ("2026-02-03 00:00:00.123456", "2026-02-03 00:00:00.123456", "01:02:03.5"),
    ]


def test_timestamps_of_old_writers_are_read(read: Read, folder: Path) -> None:
    table = pa.table({"n": pa.array([datetime(2026, 2, 3)], pa.timestamp("ns"))})
    parquet.write_table(table, folder / "a.parquet", use_deprecated_int96_timestamps=True)
    assert read().frame.selectExpr("cast(n AS string) AS n").collect() == [("2026-02-03 00:00:00",)]


def test_files_that_spark_wrote_keep_their_types(read: Read, folder: Path, spark: Any) -> None:
    spark.sql("SELECT timestamp'2026-02-03' t, named_struct('a', 1) s, cast(1 AS decimal(5,1)) d").write.mode(
        "overwrite"
    ).parquet(str(folder))
    assert read().frame.drop(SOURCE_PATH).dtypes == [("t", "timestamp"), ("s", "struct<a:int>"), ("d", "decimal(5,1)")]


@pytest.mark.parametrize(("name", "suffix"), [("parquet", "parquet"), ("orc", "orc"), ("avro", "avro")])
@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"Obj\x01\x02", "cut off"])
def test_files_that_are_not_what_they_should_be_are_named(
    read: Read, folder: Path, name: str, suffix: str, content: Any
) -> None:
    if content == "cut off":
        parquet.write_table(pa.table({"a": list(range(1000))}), folder / "whole")
        content = (folder / "whole").read_bytes()[:-20]
        (folder / "whole").unlink()
    (folder / f"bad.{suffix}").write_bytes(content)
    with pytest.raises(SourceError, match=rf"bad\.{suffix} is (empty|damaged)") as caught:
        read(name)
    assert caught.value.file == str(folder / f"bad.{suffix}")


def test_columns_of_parquet_that_differ_in_case_only_are_refused(read: Read, folder: Path) -> None:
    write_parquet(folder / "a.parquet", id=[1], ID=[2])
    with pytest.raises(SourceError, match="both `id` and `ID`"):
        read()


def test_orc_goes_by_name_too(read: Read, folder: Path) -> None:
    orc.write_table(pa.table({"id": [1], "v": ["x"]}), str(folder / "a.orc"))
    orc.write_table(pa.table({"v": ["y"], "id": [2]}), str(folder / "b.orc"))
    assert rows(read()) == [{"id": 1, "v": "x"}, {"id": 2, "v": "y"}]


def test_xml_rows_and_what_is_malformed(read: Read, folder: Path) -> None:
    (folder / "a.xml").write_text('<r><row id="1"><a>007</a></row><row id="2"><a>x</row></r>')
    found = read(source={"options": {"rowTag": "row"}})
    assert found.frame.where(f"{CORRUPT} IS NULL").select("_id", "a").collect() == [("1", "007")]
    assert len(malformed(found)) == 1
    with pytest.raises(SourceError, match="rowTag"):
        read()


def test_text_and_documents(read: Read, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    found = read()
    assert rows(found) == [{"value": "one"}, {"value": "two"}]
    assert found.corrupt is None
    (folder / "a.txt").rename(folder / "a.pdf")
    assert read("pdf").frame.select("path", "length").collect() == [(str(folder / "a.pdf"), 8)]


@pytest.mark.parametrize(("file_format", "cure"), [("iceberg", "Delta"), ("excel", "CSV"), ("fixed_width", "text")])
def test_formats_that_are_not_read_say_what_to_do(read: Read, folder: Path, file_format: str, cure: str) -> None:
    (folder / "a.bin").write_text("x")
    with pytest.raises(SourceError, match=cure):
        read(file_format)


def test_a_format_that_cannot_be_told_is_asked_for(read: Read, folder: Path) -> None:
    (folder / "a.bin").write_text("x")
    with pytest.raises(SourceError, match="say `format`"):
        read()


def test_nothing_there_is_an_empty_frame_of_the_model(read: Read) -> None:
    found = read("csv", model=model(id="int", v="string"))
    assert found.snapshot.is_empty
    assert found.frame.count() == 0
    assert set(found.frame.columns) >= {"id", "v"}


def failure_of(read: SourceRead) -> str | None:
    with pytest.raises(SPARK_FAILURES) as caught:
        read.frame.collect()
    return explain_failure(caught.value)


def test_a_file_that_vanishes_is_named_in_one_line(read: Read, folder: Path) -> None:
    (folder / "a.csv").write_text("id\n1\n")
    found = read()
    (folder / "a.csv").unlink()
    assert failure_of(found) == f"{folder / 'a.csv'} cannot be read: it was listed but is gone now."


def test_a_packed_file_that_is_cut_off_is_named(read: Read, folder: Path) -> None:
    import gzip

    packed = gzip.compress(("id,v\n" + "".join(f"{n * 7919 % 10007},{n}\n" for n in range(50_000))).encode())
    (folder / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
    assert failure_of(read("csv")) == f"{folder / 'a.csv.gz'} cannot be read: it is cut off."


def test_a_damaged_page_is_named_and_no_value_is_shown(read: Read, folder: Path) -> None:
    parquet.write_table(pa.table({"a": [f"secret{n}" for n in range(1000)]}), folder / "a.parquet", compression="none")
    content = bytearray((folder / "a.parquet").read_bytes())
    content[4:60] = b"\xff" * 56
    (folder / "a.parquet").write_bytes(content)
    told = failure_of(read())
    assert told is not None
    assert told.startswith(f"{folder / 'a.parquet'} cannot be read: ")
    assert "secret" not in told
    assert "\n" not in told


def test_other_failures_are_not_explained(spark: Any) -> None:
    with pytest.raises(SPARK_FAILURES) as caught:
        spark.sql("SELECT cast('secret' AS int)").collect()
    assert explain_failure(caught.value) is None


def test_filters_and_columns_reach_the_scan(read: Read, folder: Path) -> None:
    write_parquet(folder / "a.parquet", id=[1, 2], at=[date(2026, 2, 3), date(2026, 2, 4)], unused=["x", "y"])
    boundary = Boundary(where=("at > date'2026-02-03'",))
    found = read(
        boundary=boundary, model=model(id="int", at="date"), source={"partition_filters": {"id": "2"}}, **DROPPING
    )
    plan = found.frame.drop(SOURCE_PATH)._jdf.queryExecution().executedPlan().toString()
    assert "unused" not in plan.replace(str(folder), "")
    assert "GreaterThan(at,2026-02-03)" in plan
    assert "EqualTo(id,2)" in plan or "In(id, [2])" in plan
    assert rows(found) == [{"id": 2, "at": date(2026, 2, 4)}]


def test_a_boundary_does_not_lose_malformed_rows(read: Read, folder: Path) -> None:
    (folder / "a.csv").write_text("id,at\n1,2026-02-03\n2,2026-02-04\nbroken\n")
    found = read(boundary=Boundary(where=("at > '2026-02-03'",)))
    assert malformed(found) == ["broken"]
    assert found.frame.count() == 2


def test_the_identity_of_a_source_changes_with_its_files_only(read: Read, folder: Path) -> None:
    (folder / "a.csv").write_text("id\n1\n")
    first = read().snapshot
    assert read().snapshot.identity == first.identity
    assert first.max_mtime == first.files[0].mtime
    os.utime(folder / "a.csv", (1, 1))
    assert read().snapshot.identity != first.identity


def test_avro_is_read_with_what_spark_ships(read: Read, folder: Path, spark: Any) -> None:
    writer = spark.sql("SELECT 1 AS id, 'x' AS v, DATE'2026-02-03' AS day").coalesce(1).write.mode("overwrite")
    writer.format("org.apache.spark.sql.avro.AvroFileFormat").save(str(folder))
    assert rows(read("avro")) == [{"id": 1, "v": "x", "day": date(2026, 2, 3)}]

from __future__ import annotations

import bz2
import gzip
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import Boundary, SourceRead, read_source
from lakelogic_assets.spark.sources.snapshot import CORRUPT, SOURCE_PATH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def read(scope_of: Callable[..., Scope], tmp_path: Path) -> Callable[..., SourceRead]:
    (tmp_path / "in").mkdir()

    def made(path: str = "in", **contract: Any) -> SourceRead:
        source = {"path": path, "format": "csv", **contract.pop("source", {})}
        return read_source(scope_of(source=source, **contract), Boundary())

    return made


def rows(read: SourceRead) -> list[dict[str, Any]]:
    hidden = (CORRUPT, SOURCE_PATH)
    found = [{k: v for k, v in row.asDict().items() if k not in hidden} for row in read.frame.collect()]
    return sorted(found, key=str)


def malformed(read: SourceRead) -> list[str]:
    return sorted(row[CORRUPT] for row in read.frame.where(f"{CORRUPT} IS NOT NULL").collect())


def test_columns_go_by_name_whatever_their_order_and_number(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text("id,name,city\n1,ann,Ulm\n")
    (tmp_path / "in/b.csv").write_text("city,id,name\nBonn,2,bob\n")
    (tmp_path / "in/c.csv").write_text("ID,extra\n3,x\n")
    assert rows(read()) == [
        {"id": "1", "name": "ann", "city": "Ulm", "extra": None},
        {"id": "2", "name": "bob", "city": "Bonn", "extra": None},
        {"id": "3", "name": None, "city": None, "extra": "x"},
    ]


def test_every_value_is_text_and_empty_is_null_unless_quoted(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text('id,v,w\n007,,""\n1.10,"{""a"":1}","x, y"\n')
    found = read()
    assert found.frame.dtypes[:3] == [("id", "string"), ("v", "string"), ("w", "string")]
    assert rows(found) == [{"id": "007", "v": None, "w": ""}, {"id": "1.10", "v": '{"a":1}', "w": "x, y"}]


def test_lines_of_another_length_are_kept_as_malformed(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text('id,v,w\n1,a,b\n2,a\n3,a,b,c\n4,"a,b\n')
    found = read()
    assert found.corrupt == CORRUPT
    assert malformed(found) == ["2,a", "3,a,b,c", '4,"a,b']
    assert found.frame.where(f"{CORRUPT} IS NULL").count() == 1


def test_bytes_that_are_not_of_the_encoding_are_malformed(read: Any, tmp_path: Path) -> None:
    bad = "x,é\n".encode("latin-1")
    good = "".join(f"{n},é\n" for n in range(20_000)).encode()
    (tmp_path / "in/a.csv").write_bytes(b"id,v\n" + bad + good + bad)
    assert malformed(read()) == ["x,\ufffd", "x,\ufffd"]


def test_a_header_in_another_encoding_is_refused_by_name(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/latin.csv").write_bytes("id,é\n1,x\n".encode("latin-1"))
    with pytest.raises(SourceError, match=r"The header of .*latin\.csv is not UTF-8: name its encoding") as caught:
        read()
    assert caught.value.file is not None


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252", "UTF-16", "UTF-16LE"])
def test_a_declared_encoding_is_used(read: Any, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in/a.csv").write_bytes("id,v\n1,é\n2,ü\n".encode(encoding))
    assert rows(read(source={"options": {"encoding": encoding}})) == [{"id": "1", "v": "é"}, {"id": "2", "v": "ü"}]


def test_a_byte_order_mark_is_understood(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_bytes("id,v\n1,é\n".encode("utf-8-sig"))
    (tmp_path / "in/b.csv").write_bytes("v,id\nü,2\n".encode("utf-16"))
    assert rows(read()) == [{"id": "1", "v": "é"}, {"id": "2", "v": "ü"}]


def test_packed_files_are_read_as_what_they_hold(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv.gz").write_bytes(gzip.compress(b"id,v\n1,a\n"))
    (tmp_path / "in/b.csv.bz2").write_bytes(bz2.compress(b"v,id\nb,2\n"))
    with pa.output_stream(str(tmp_path / "in/c.csv.zst"), compression="zstd") as file:
        file.write(b"id,v\n3,c\n")
    assert [row["id"] for row in rows(read(source={"format": None}))] == ["1", "2", "3"]


def test_what_is_no_text_is_refused_by_name(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(SourceError, match=r"a\.csv is a zip archive; unpack it"):
        read()
    (tmp_path / "in/a.csv").unlink()
    (tmp_path / "in/b.csv.gz").write_bytes(b"id,v\n1,a\n")
    with pytest.raises(SourceError, match=r"b\.csv\.gz is damaged or not packed"):
        read()


@pytest.mark.parametrize(("header", "what"), [("id,v,id", "the column `id` twice"), ("id,v,ID", "both `id` and `ID`")])
def test_columns_that_cannot_be_told_apart_are_refused(read: Any, tmp_path: Path, header: str, what: str) -> None:
    (tmp_path / "in/a.csv").write_text(header + "\n1,2,3\n")
    with pytest.raises(SourceError, match=what):
        read()


def test_without_a_header_the_model_names_the_columns(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text("1,a\n2\n")
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "v"}]}
    found = read(source={"options": {"header": False}}, model=model)
    assert rows(found)[0] == {"id": "1", "v": "a"}
    assert malformed(found) == ["2"]


def test_delimiters_of_any_kind_work(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.tsv").write_text("id\tv\n1\ta b\n")
    assert rows(read(source={"format": "tsv"})) == [{"id": "1", "v": "a b"}]
    (tmp_path / "in/a.tsv").write_text("id||v\n1||a\n")
    assert rows(read(source={"options": {"delimiter": "||"}})) == [{"id": "1", "v": "a"}]


def test_strange_names_stay_as_they_are(read: Any, tmp_path: Path) -> None:
    strange = ["a.b", "a b", "a`b", "🦆", "é", "", "x" * 300]
    quoted = ",".join(f'"{name}"' for name in strange)
    (tmp_path / "in/a.csv").write_text(quoted + "\n" + ",".join("1234567") + "\n")
    assert list(rows(read())[0].values()) == list("1234567")
    assert read().frame.columns[:7] == ["a.b", "a b", "a`b", "🦆", "é", "_c5", "x" * 300]


def test_a_cell_may_be_long_and_a_row_wide(read: Any, tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(2000)]
    (tmp_path / "in/a.csv").write_text(",".join(names) + "\n" + ",".join(["x" * 100_000] + ["1"] * 1999) + "\n")
    row = read().frame.selectExpr("length(c0) AS c0", "c1999", CORRUPT).first()
    assert row == (100_000, "1", None)


def test_cells_with_line_ends_are_read_when_asked_for(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text('"i\nd",v\n1,"a\nb"\n')
    assert rows(read(source={"options": {"multiLine": True}})) == [{"i\nd": "1", "v": "a\nb"}]


def test_empty_files_have_no_rows_and_are_told(read: Any, tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "in/a.csv").write_text("")
    (tmp_path / "in/b.csv").write_text("id\n")
    found = read()
    assert found.frame.count() == 0
    assert not found.snapshot.is_empty
    assert any("a.csv is empty" in warning for warning in warnings)


def test_folders_with_keys_are_columns(read: Any, tmp_path: Path) -> None:
    for day in ("2026-02-03", "2026-02-04"):
        (tmp_path / f"in/day={day}").mkdir()
        (tmp_path / f"in/day={day}/a.csv").write_text("id\n1\n")
    (tmp_path / "in/b.csv").write_text("id,day\n2,2026-02-05\n")
    assert sorted(row["day"] for row in rows(read())) == ["2026-02-03", "2026-02-04", "2026-02-05"]
    assert rows(read(source={"partition_filters": {"day": "2026-02-04"}})) == [{"id": "1", "day": "2026-02-04"}]


def test_rows_know_their_file_whatever_it_is_called(read: Any, tmp_path: Path) -> None:
    names = ["plain.csv", "two words.csv", "a+b.csv", "50%.csv", "a[1].csv", "é🦆.csv", "st*r.csv"]
    for name in names:
        (tmp_path / "in" / name).write_text("id\n1\n")
    found = read()
    assert sorted(row[0] for row in found.frame.select(found.row_source).collect()) == sorted(
        str(tmp_path / "in" / name) for name in names
    )


def test_a_colon_in_a_name_is_refused_by_name(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/10:30.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match=r"10:30\.csv has a colon.*rename"):
        read()


@pytest.mark.parametrize("option", [{"mode": "DROPMALFORMED"}, {"ignoreCorruptFiles": True}])
def test_options_that_lose_rows_are_refused(read: Any, tmp_path: Path, option: dict[str, Any]) -> None:
    (tmp_path / "in/a.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match="is not allowed"):
        read(source={"options": option})


def test_only_needed_columns_are_read_where_others_are_dropped(read: Any, tmp_path: Path) -> None:
    (tmp_path / "in/a.csv").write_text("id,v,w,unused\n1,a,b,c\n")
    contract = {
        "model": {"fields": [{"name": "id"}]},
        "schema_policy": {"unknown_fields": "drop"},
        "quality": {"row_rules": [{"name": "r", "sql": "w IS NOT NULL"}]},
    }
    assert read(**contract).frame.columns == ["id", "w", CORRUPT, SOURCE_PATH]
    free = {**contract, "transformations": [{"sql": "SELECT * FROM source"}]}
    assert read(**free).frame.columns == ["id", "v", "w", "unused", CORRUPT, SOURCE_PATH]

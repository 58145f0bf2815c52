"""Contracts drafted from landing files: which files are one table, which columns they have, what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic_assets.authoring.bootstrap import bootstrap
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import NotFoundError, RequestError
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from pathlib import Path


def drafted(root: Path, **options: Any) -> dict[str, Contract]:
    """The contracts by table, as the project then loads them without a complaint."""
    output = root / "contracts" / "new"
    bootstrap(root / "landing", output, output / "_registry.yaml", **options)
    registry = load_project(Project(root), {})
    assert registry.errors == ()
    return {contract.table: contract for contract in registry}


def types(contract: Contract) -> dict[str, str]:
    return {field.name: field.type for field in contract.model.fields}


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


def test_files_that_differ_in_a_date_are_one_table(landing: Path) -> None:
    for day in ("2026-02-06", "2026-02-07"):
        (landing / f"claims_cdc_{day}.csv").write_text("id,paid\n1,2.5\n")
    for name in ("Policies_v2.csv", "claims_20260206.csv", "rates.2026.csv"):
        (landing / name).write_text("no\nP1\n")
    found = drafted(landing.parent, pattern="*.csv")
    assert {table: contract.source and contract.source.pattern for table, contract in found.items()} == {
        "bronze_claims_cdc": "claims_cdc_[0-9]*.csv",
        "bronze_claims": "claims_[0-9]*.csv",
        "bronze_policies_v2": "Policies_v2.csv",
        "bronze_rates": "rates.[0-9]*.csv",
    }
    listed = (landing.parent / "contracts/new/_registry.yaml").read_text()
    assert "entity: claims_cdc" in listed
    assert "bronze: bronze_claims_cdc.yaml" in listed


def test_a_time_with_its_zone_is_no_part_of_a_name(landing: Path) -> None:
    for name in ("orders_20260101T1000Z.csv", "orders_20260102T1000Z.csv", "size_1Z.csv"):
        (landing / name).write_text("id\n1\n")
    found = drafted(landing.parent)
    patterns = {table: contract.source and contract.source.pattern for table, contract in found.items()}
    assert patterns == {"bronze_orders": "orders_[0-9]*.csv", "bronze_size_1z": "size_1Z.csv"}


def test_a_column_that_files_spell_in_two_cases_is_one(landing: Path) -> None:
    (landing / "a_1.csv").write_text("Id,more\n1,x\n")
    (landing / "a_2.csv").write_text("id\n1.5\n")
    assert types(drafted(landing.parent)["bronze_a"]) == {"Id": "double", "more": "string"}


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"a,a,b\n1,2,3\n", "csv", r"columns of .*f\.csv 'a' stands twice: rename one in the file"),
        (b"Id,id\n1,2\n", "csv", r"columns of .*f\.csv 'Id' and 'id' differ only in case: rename one"),
        (b'{"Id": 1, "id": 2}\n', "jsonl", r"f\.jsonl 'Id' and 'id' differ only in case"),
        (b"a,,b\n1,2,3\n", "csv", r"Column 2 of .*f\.csv has no name: give it one in the file"),
        (b"id,stra\xdfe\n1,x\n", "csv", r"f\.csv is not UTF-8 \(line 1\): convert it"),
        (b"id,n\n1,M\xfcller\n", "csv", r"f\.csv is not UTF-8 \(line 2\): .*`options: \{encoding: ISO-8859-1\}`"),
        (b'{"n": "M\xfcller"}\n', "jsonl", r"f\.jsonl is not UTF-8 \(line 1\)"),
    ],
)
def test_a_file_whose_names_or_signs_no_table_can_have_is_named_with_its_cure(
    landing: Path, content: bytes, kind: str, message: str
) -> None:
    (landing / f"f.{kind}").write_bytes(content)
    output = landing.parent / "contracts"
    with pytest.raises(RequestError, match=message):
        bootstrap(landing, output, output / "_registry.yaml", kind=kind)
    assert not output.exists()


def test_columns_are_what_the_files_show_and_codes_keep_their_zeros(landing: Path) -> None:
    head = "id;code;amount;on;at;paid;note\n"
    (landing / "a_1.csv").write_text(head + "1;007;1;2026-02-06;2026-02-06 10:00:00;true;\n")
    (landing / "a_2.csv").write_text(head.replace("note", "more") + "2;010;1.5;2026-02-07;;false;x\n")
    contract = drafted(landing.parent)["bronze_a"]
    assert types(contract) == {
        "id": "long", "code": "string", "amount": "double", "on": "date", "at": "timestamp", "paid": "boolean",
        "note": "string", "more": "string",
    }  # fmt: skip
    assert contract.source
    assert contract.source.options == {"delimiter": ";"}


def test_nested_values_of_json_and_the_types_of_parquet_are_kept(landing: Path) -> None:
    (landing / "b.jsonl").write_text(json.dumps({"id": 1, "who": {"name": "a", "tags": ["x"]}}) + "\n")
    found = types(drafted(landing.parent, kind="jsonl")["bronze_b"])
    assert found == {"id": "long", "who": "struct<name:string,tags:array<string>>"}
    (landing / "d.json").write_text(json.dumps([{"id": 1}, {"id": 2, "name": "x"}], indent=1))
    bootstrap(landing, landing.parent / "lists", landing.parent / "lists/_registry.yaml", kind="json")
    assert "name: name" in (landing.parent / "lists/bronze_d.yaml").read_text()
    pq.write_table(pa.table({"n": pa.array([1], pa.decimal128(10, 2)), "b": [b"x"]}), landing / "c.parquet")
    output = landing.parent / "more"
    bootstrap(landing, output, output / "_registry.yaml", kind="parquet")
    assert "decimal(10,2)" in (output / "bronze_c.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "xml"}, "'xml' is no format that contracts are drafted from; choose one of csv"),
        ({"pattern": "*.txt"}, "fits '\\*.txt'"),
        ({"kind": "parquet", "pattern": "a.csv"}, "a.csv cannot be read as --format says"),
        (
            {"pattern": "b*.csv"},
            "No pattern such as 'b-\\[0-9\\]\\*.csv' fits all files of 'b'; say a narrower --pattern",
        ),
        ({"pattern": "empty.csv"}, "empty.csv cannot be read as --format says: Empty CSV file"),
    ],
)
def test_what_cannot_be_drafted_is_refused_and_nothing_is_written(
    landing: Path, options: dict[str, str], message: str
) -> None:
    (landing / "a.csv").write_text("id\n1\n")
    (landing / "empty.csv").write_text("")
    for name in ("b-1.csv", "b_2.csv"):
        (landing / name).write_text("id\n1\n")
    output = landing.parent / "contracts"
    with pytest.raises((NotFoundError, RequestError), match=message):
        bootstrap(landing, output, output / "_registry.yaml", **options)
    assert not output.exists()


def test_what_is_there_is_not_written_over(landing: Path) -> None:
    (landing / "a.csv").write_text("id\n1\n")
    output = landing.parent / "contracts"
    bootstrap(landing, output, output / "_registry.yaml")
    with pytest.raises(RequestError, match=r"bronze_a.yaml is there already"):
        bootstrap(landing, output, output / "_registry.yaml")

"""Files and rows that nobody wants: quarantined, or refused in one line that names the file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.spark import delta_log

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

CONTRACT = """
model: {fields: [{name: id, type: int}, {name: v, type: string}]}
source: {type: landing, path: in, format: %s}
materialization: {strategy: append}
"""


def landing(sandbox: Sandbox, name: str, content: bytes) -> Path:
    folder = sandbox.folder / "in"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def good_parquet(sandbox: Sandbox) -> bytes:
    path = sandbox.folder / "made"
    sandbox.spark.range(50).selectExpr("CAST(id AS INT) id", "'x' v").coalesce(1).write.parquet(str(path))
    return next(path.glob("*.parquet")).read_bytes()


@pytest.mark.parametrize("damage", ["empty", "truncated", "not parquet"])
def test_a_damaged_parquet_file_is_named_and_nothing_is_written(sandbox: Sandbox, damage: str) -> None:
    whole = good_parquet(sandbox)
    content = {"empty": b"", "truncated": whole[: len(whole) // 2], "not parquet": b"hello" * 50}[damage]
    landing(sandbox, "good.parquet", whole)
    landing(sandbox, "bad.parquet", content)
    processor = sandbox.processor(CONTRACT % "parquet")
    with pytest.raises(LakeLogicError, match=r"bad\.parquet") as failure:
        processor.run()
    assert "\n" not in str(failure.value)
    assert not delta_log.is_table(processor.destination.target)


def test_a_cut_off_gzip_file_is_named_and_nothing_is_written(sandbox: Sandbox) -> None:
    whole = gzip.compress(b"id,v\n" + b"".join(b"%d,%d\n" % (n, n * 7919) for n in range(20_000)))
    landing(sandbox, "rows.csv.gz", whole[: len(whole) // 2])
    processor = sandbox.processor(CONTRACT % "csv")
    with pytest.raises(LakeLogicError, match=r"rows\.csv\.gz"):
        processor.run()
    assert not delta_log.is_table(processor.destination.target)


def test_short_long_and_broken_rows_are_quarantined_and_the_others_are_not(sandbox: Sandbox) -> None:
    landing(sandbox, "rows.csv", b'id,v\n1,a\n2\n3,b,c\n4,"d ""quoted"" d"\n')
    report = sandbox.processor(CONTRACT % "csv").run()
    assert (report.counts.source, report.counts.good, report.counts.quarantined) == (4, 2, 2)


def test_a_broken_json_line_is_quarantined(sandbox: Sandbox) -> None:
    landing(sandbox, "rows.jsonl", b'{"id": 1, "v": "a"}\n{"id": 2, "v": \n{"id": 3, "v": "c"}\n')
    report = sandbox.processor(CONTRACT % "jsonl").run()
    assert (report.counts.source, report.counts.good, report.counts.quarantined) == (3, 2, 1)


def test_a_reordered_header_does_not_swap_values(sandbox: Sandbox) -> None:
    landing(sandbox, "a.csv", b"id,v\n1,a\n")
    landing(sandbox, "b.csv", b"v,id\nb,2\n")
    landing(sandbox, "c.csv", b"v,extra,id\nc,x,3\n")
    text = CONTRACT % "csv"
    sandbox.processor(text).run()
    assert sandbox.target(text, "id", "v") == [(1, "a"), (2, "b"), (3, "c")]


def test_columns_that_differ_only_in_case_are_refused_by_name(sandbox: Sandbox) -> None:
    landing(sandbox, "rows.csv", b"id,ID,v\n1,2,a\n")
    with pytest.raises(LakeLogicError, match=r"rows\.csv"):
        sandbox.processor(CONTRACT % "csv").run()


def test_a_very_long_cell_and_very_many_columns_pass(sandbox: Sandbox) -> None:
    cell = "x" * 100_000
    header = ",".join(["id", "v", *(f"c{n}" for n in range(2_000))])
    landing(sandbox, "rows.csv", f"{header}\n1,{cell}{',' * 2_000}\n".encode())
    text = CONTRACT % "csv" + "schema_policy: {unknown_fields: drop}\n"
    assert sandbox.processor(text).run().counts.good == 1
    assert len(sandbox.target(text, "v")[0][0]) == 100_000


def test_a_file_that_vanishes_between_listing_and_reading_ends_the_run_in_one_line(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic_assets.spark import execute

    gone = landing(sandbox, "rows.csv", b"id,v\n1,a\n")
    evaluated = execute.evaluate_source

    def after_listing(*arguments: object, **options: object) -> object:
        gone.unlink(missing_ok=True)
        return evaluated(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "evaluate_source", after_listing)
    processor = sandbox.processor(CONTRACT % "csv")
    with pytest.raises(LakeLogicError, match=r"rows\.csv") as failure:
        processor.run()
    assert "\n" not in str(failure.value)
    assert not delta_log.is_table(processor.destination.target)


def test_an_empty_landing_zone_is_no_new_data_unless_the_contract_wants_some(sandbox: Sandbox) -> None:
    text = CONTRACT % "csv"
    assert sandbox.processor(text).run().status == "no_new_data"
    strict = text.replace("format: csv", "format: csv, empty_behavior: fail")
    with pytest.raises(LakeLogicError, match="nothing to read"):
        sandbox.processor(strict).run()

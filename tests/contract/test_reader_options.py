"""What a contract may say to Spark's readers."""

from __future__ import annotations

import pytest

from lakelogic_assets.contract.reader_options import SETTABLE, is_passed, leads_away, lint_reader_options
from lakelogic_assets.contract.source import Source


@pytest.mark.parametrize(
    ("name", "file_format", "passed"),
    [
        ("nullValue", "csv", True), ("NULLVALUE", "csv", True), ("rowTag", "xml", True), ("avroSchema", "avro", True),
        ("mergeSchema", "parquet", True), ("wholetext", "text", True), ("modifiedAfter", "binaryFile", True),
        ("nullValue", "parquet", False), ("avroSchemaUrl", "avro", False), ("rowValidationXSDPath", "xml", False),
        ("fs.s3a.endpoint", "csv", False), ("parquet.crypto.factory.class", "parquet", False), ("path", "csv", False), ("cloudFiles.format", "csv", False),
        ("inputBufferSize", "csv", False), ("anything", "csv", False), ("nullValue", "jdbc", False),
    ],
)  # fmt: skip
def test_a_reader_sees_the_options_of_its_format_alone(name: str, file_format: str, *, passed: bool) -> None:
    assert is_passed(name, file_format) is passed


def test_what_may_be_set_for_one_run_leads_nowhere() -> None:
    assert "header" in SETTABLE
    assert not any(leads_away(name) for name in SETTABLE)


def test_options_of_a_source_that_is_not_read_here_are_for_whoever_lands_it() -> None:
    options = {"fetch_size": 1000, "cdc_provider": "azuresql", "fs.x": "y"}
    assert [*lint_reader_options(Source(type="database", options=options))] == []
    assert [each[0] for each in lint_reader_options(Source(type="landing", options=options))] == ["LL432", "LL435"]


def test_options_of_other_readers_are_told_of_and_leave_no_contract_out() -> None:
    def said(name: str) -> list[tuple[str, str]]:
        return [each[:2] for each in lint_reader_options(Source(type="landing", options={name: "x"}))]

    assert [said(name)[0][0] for name in ("cloudFiles.format", "inputBufferSize")] == ["LL432", "LL432"]
    machinery = (
        "fs.s3a.endpoint",
        "spark.jars",
        "hadoop.x",
        "parquet.crypto.factory.class",
        "Spark.x",
        "avroSchemaURL",
    )
    assert [said(name)[0][0] for name in machinery] == ["LL435"] * len(machinery)
    message = "The reader option `pathGlobFilter` is not passed on; write `source.pattern`."
    assert said("pathGlobFilter") == [("LL432", message)]

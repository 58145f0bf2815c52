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
        ("fs.s3a.endpoint", "csv", False), ("parquet.crypto.factory.class", "parquet", False), ("path", "csv", False),
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

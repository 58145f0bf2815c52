"""Columns read out of text and of documents."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import extraction
from lakelogic_assets.spark.extraction import extract, register_provider
from lakelogic_assets.spark.pdf_text import text_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.tables import Lakehouse

LICENCE = [
    {"name": "file_path", "type": "string"},
    {"name": "full_name", "extraction_task": "metadata", "extraction_examples": [r"Name:\s+(.+)"]},
    {"name": "licence_number", "extraction_task": "metadata", "extraction_examples": [r"Licence No:\s+(\S+)"]},
    {"name": "expiry_date", "type": "date", "extraction_task": "metadata", "extraction_examples": [r"EXP:\s+([\d-]+)"]},
    {"name": "mood", "extraction_task": "sentiment", "extraction_examples": ["angry"]},
]


def scope(spark: SparkSession, said: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> Scope:
    contract = Contract.model_validate({"extraction": said, "model": {"fields": fields or []}})
    return Scope(spark, contract, Lakehouse(Path("lake")), "run", "run", datetime.now(UTC), warnings.append)


warnings: list[str] = []


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    warnings.clear()
    monkeypatch.setattr(extraction, "_providers", dict(extraction._providers))
    return


def test_a_pattern_gives_its_first_group_or_nothing(spark: SparkSession) -> None:
    patterns = {
        "temperature": r"temperature=(\d+)",
        "status": r"status=(\w+)",
        "whole": r"ok$",
        "either": r"(?:low|high)=(?<level>\d)",
        "literal": r"\(([a-z])\)",
    }
    rows = [("temperature=72 status=active ok",), ("low=5 (x)",), ("",), (None,)]
    frame = spark.createDataFrame(rows, "Note string")
    found = extract(frame, scope(spark, {"provider": "regex", "text_column": "note", "patterns": patterns}))
    assert found.columns == ["Note", *patterns]
    assert [tuple(row[1:]) for row in found.collect()] == [
        ("72", "active", "ok", None, None),
        (None, None, None, "5", "x"),
        (None,) * 5,
        (None,) * 5,
    ]


def test_how_sure_a_row_is_is_told_where_it_is_asked_for(spark: SparkSession) -> None:
    said = {"provider": "regex", "text_column": "t", "patterns": {"a": "a=(.)", "b": "b=(.)"}, "confidence": {}}
    frame = spark.createDataFrame([("a=1 b=2",), ("a=1",)], "t string")
    found = extract(frame, scope(spark, said))
    assert [row._lakelogic_extraction_confidence for row in found.collect()] == [1.0, 0.5]


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"provider": "regex", "patterns": {"a": "(.)"}}, "needs `text_column`"),
        ({"provider": "regex", "text_column": "nope", "patterns": {"a": "(.)"}}, "text_column: nope"),
        ({"provider": "regex", "text_column": "id"}, "has no patterns"),
        ({"provider": "pdfplumber"}, "format: pdf"),
        ({"provider": "openai"}, "provider: openai` is not known here .*register_provider"),
    ],
)
def test_what_cannot_be_extracted_is_said_in_one_line(
    spark: SparkSession, said: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(EngineError, match=complaint) as refused:
        extract(spark.range(1), scope(spark, said))
    assert "\n" not in str(refused.value)


def test_other_providers_can_be_plugged_in(spark: SparkSession) -> None:
    def shout(frame: DataFrame, run: Scope) -> DataFrame:
        assert run.contract.extraction is not None
        return frame.withColumn("said", F.lit(run.contract.extraction.model))

    register_provider("Shout", shout)
    assert extract(spark.range(1), scope(spark, {"provider": "shout", "model": "loud"})).collect()[0].said == "loud"
    rescued = extract(spark.range(1), scope(spark, {"provider": "openai", "fallback_provider": "shout"}))
    assert "said" in rescued.columns
    assert "openai" in warnings[0]


def pdf(*streams: tuple[bytes, bytes]) -> bytes:
    """A document of content streams, each with the filters that its dictionary names."""
    parts = [b"%PDF-1.4\n"]
    for number, (filters, data) in enumerate(streams, start=4):
        parts.append(
            b"%d 0 obj\n<< /Length %d %s >>\nstream\n%s\nendstream\nendobj\n" % (number, len(data), filters, data)
        )
    return b"".join([*parts, b"trailer << /Root 1 0 R >>\n%%EOF\n"])


LINES = (
    b"BT /F1 12 Tf 72 720 Td (Name: Jos\\351 \\(Pepe\\) Ruiz) Tj 0 -14 Td (Licence No: D12-345) Tj "
    b"T* (EXP: 2031-05-06) Tj ET"
)


def test_the_text_of_simple_documents_is_read_without_a_library() -> None:
    expected = "Name: José (Pepe) Ruiz\nLicence No: D12-345\nEXP: 2031-05-06"
    flat = zlib.compress(LINES)
    assert text_of(pdf((b"", LINES))) == expected
    assert text_of(pdf((b"/Filter /FlateDecode", flat))) == expected
    assert text_of(pdf((b"/Filter [/ASCII85Decode /FlateDecode]", base64.a85encode(flat) + b"~>"))) == expected
    kerned = b"BT 1 0 0 1 50 700 Tm [(Na) 20 (me:) -300 <4A6F>] TJ 1 0 0 1 90 700 Tm <FEFF00E9> Tj (a) ' ET"
    assert text_of(pdf((b"", kerned), (b"/Subtype /Image", b"BT (no) Tj"))) == "Name: Jo é\na"


@pytest.mark.parametrize(
    "content", [None, b"", b"not a pdf", b"%PDF-1.4", pdf((b"/Filter /FlateDecode", b"broken")), pdf((b"", LINES))[:60]]
)
def test_a_broken_document_has_no_text(content: bytes | None) -> None:
    assert text_of(content) is None


PDF: dict[str, Any] = {"provider": "pdfplumber", "preprocessing": {"content_type": "pdf"}}
ASKING_FOR_TEXT = (
    (PDF, LICENCE),
    (PDF, [*LICENCE, {"name": "_extracted_text", "type": "string"}]),
    (PDF | {"preprocessing": {"content_type": "pdf", "text_output_column": "text"}}, LICENCE),
)


def test_each_document_becomes_a_row_and_its_text_a_column_only_where_that_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a b.pdf").write_bytes(pdf((b"", LINES)))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    frame = spark.read.format("binaryFile").load(str(tmp_path)).withColumn("__ll_source", F.lit("x"))
    found = extract(frame, scope(spark, {"provider": "pdfplumber"}, LICENCE))
    assert sorted(found.columns) == ["__ll_source", "expiry_date", "file_path", "full_name", "licence_number"]
    rows = [tuple(row) for row in found.select("file_path", "full_name", "licence_number", "expiry_date").collect()]
    assert sorted(rows) == [
        (f"{tmp_path}/a b.pdf", "José (Pepe) Ruiz", "D12-345", "2031-05-06"),
        (f"{tmp_path}/broken.pdf", None, None, None),
    ]
    kept = [extract(frame, scope(spark, asked, fields)).columns for asked, fields in ASKING_FOR_TEXT]
    assert [[name for name in columns if "text" in name] for columns in kept] == [[], ["_extracted_text"], ["text"]]

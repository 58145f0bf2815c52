"""Documents that hold a row each, read back by the engine."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lakelogic_assets.authoring.documents import document_lines, pdf
from lakelogic_assets.authoring.landing import LandingPlan, LandingReport, Request
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.project import Project
from lakelogic_assets.spark.pdf_text import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FIELDS: list[dict[str, Any]] = [
    {"name": "file_path"},
    {"name": "licence_number", "extraction_task": "metadata", "extraction_examples": [r"Licen[cs]e\s*(?:No|Number)[.:]?\s*([A-Z]{2}[0-9]{6})", "other"]},
    {"name": "full_name", "extraction_task": "metadata", "extraction_examples": [r"Name:\s*([A-Z][a-z]+ [A-Z][a-z]+)"]},
    {"name": "expiry_date", "extraction_task": "metadata", "extraction_examples": [r"Expires(?: on)?:\s*(\d{2}/\d{2}/\d{4})"]},
    {"name": "licence_class", "extraction_task": "metadata", "extraction_examples": [r"Class:\s*(B|C1|D)\b"]},
]  # fmt: skip


def write(root: Path) -> Path:
    contract = {
        "version": "1.0.0",
        "info": {"title": "Driver licences", "table_name": "bronze_checks_licences"},
        "model": {"fields": FIELDS},
        "source": {"type": "landing", "path": "lake/licences/**/*.pdf", "format": "pdf"},
        "extraction": {"provider": "pdfplumber"},
        "quality": {"row_rules": [{"not_null": ["licence_number"]}]},
        "server": {"cast_to_string": True},
        "materialization": {"strategy": "append"},
    }
    path = root / "bronze_checks_licences.yaml"
    path.write_text(yaml.safe_dump(contract, sort_keys=False))
    return path


def landed(root: Path, **options: Any) -> LandingReport:
    project = Project(root)
    request = Request([date(2026, 2, 3)], **options)
    return LandingPlan(load_project(project, {}), project, root / "lake", request).land()


def test_lines_say_the_values_as_their_patterns_want_them(tmp_path: Path) -> None:
    registry = load_project(Project(write(tmp_path).parent), {})
    lines = document_lines(registry.find("bronze_checks_licences"))
    assert [line.text("*") for line in lines] == ["License No: *", "Name: *", "Expires: *", "Class: *"] or [
        line.text("*") for line in lines
    ] == ["Licence No *", "Name: *", "Expires: *", "Class: *"]


def test_the_engine_reads_every_value_and_holds_back_what_misses_one(spark: SparkSession, tmp_path: Path) -> None:
    contract = write(tmp_path)
    made = landed(tmp_path, rows=12, invalid=0.2, thorough=True)
    assert made.rows == len(made.files) == 12
    missing = made.broken_rules(made.files[0].contract)["bronze_checks_licences: licence_number_not_null"]
    assert missing >= 1
    report = DataProcessor(contract, spark=spark, target=tmp_path / "out").run()
    assert (report.counts.source, report.counts.quarantined) == (12, missing)
    rows = spark.read.format("delta").load(str(tmp_path / "out")).collect()
    assert all(row[name["name"]] for row in rows for name in FIELDS)
    assert len({row["licence_number"] for row in rows}) == len(rows) - made.broken + missing
    assert {row["licence_class"] for row in rows} <= {"B", "C1", "D"}


def test_the_same_seed_gives_the_same_documents(tmp_path: Path) -> None:
    write(tmp_path)
    first = {file.path: file.path.read_bytes() for file in landed(tmp_path, rows=3, invalid=0.0).files}
    again = landed(tmp_path, rows=3, invalid=0.0)
    assert {file.state for file in again.files} == {"unchanged"}
    other = landed(tmp_path, rows=3, invalid=0.0, seed=5)
    assert all(file.path.read_bytes() != first[file.path] for file in other.files)


@pytest.mark.parametrize("line", ["plain", "(brackets) and \\ backslash", "Zoë Müller – 5 €"])
def test_a_page_says_what_was_written_on_it(line: str) -> None:
    assert text_of(pdf(["Title", line])) == f"Title\n{line}"

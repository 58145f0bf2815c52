"""Licences that arrive as PDF files become rows, are held to the contract, and go on to silver without their path."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project
from lakelogic_assets.spark.pdf_text import text_of
from lakelogic_assets.spark.pipeline import run_contracts
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = {
    "people/_domain.yaml": "domain: people\n",
    "people/checks/_system.yaml": """
        domain: people
        system: checks
        storage:
          domain_catalog: "`{catalog}`.{domain}"
          landing_root: "/Volumes/{catalog}/landing_{domain}"
        contracts:
          - {layer: bronze, entity: licences, path: contracts/bronze_checks_licences.yaml}
          - {layer: silver, entity: licences, path: contracts/silver_checks_licences.yaml}
        lineage: {enabled: true}
        materialization:
          bronze: {strategy: append}
          silver: {strategy: merge, merge_dedup_guard: true}
        server:
          bronze: {cast_to_string: true, schema_policy: {evolution: append, unknown_fields: allow}}
          silver: {schema_policy: {evolution: strict, unknown_fields: quarantine}}
        environments: {local: {catalog: local}}
    """,
    "people/checks/contracts/bronze_checks_licences.yaml": r"""
        version: 1.0.0
        info: {title: Licences as they come, table_name: bronze_checks_licences, target_layer: bronze}
        source:
          type: landing
          path: "{landing_root}/licences/**/*.pdf"
          format: pdf
          load_mode: full
          watermark_strategy: none
        extraction: {provider: pdfplumber}
        model:
          fields:
            - {name: file_path, type: string}
            - {name: licence_number, type: string, extraction_task: metadata, extraction_examples: ['LICENCE NO:\s*([A-Z]{2}\d{4})', 'unused']}
            - {name: full_name, type: string, pii: true, extraction_task: metadata, extraction_examples: ['Name:\s*(.+)']}
            - {name: expires, type: date, extraction_task: metadata, extraction_examples: ['EXP:\s*(\d{4}-\d{2}-\d{2})']}
        quality:
          row_rules:
            - not_null: licence_number
    """,
    "people/checks/contracts/silver_checks_licences.yaml": """
        version: 1.0.0
        info: {title: Licences, table_name: silver_checks_licences, target_layer: silver}
        primary_key: [licence_number]
        source: {type: table, path: "table:{domain_catalog}.bronze_checks_licences", load_mode: full}
        transformations:
          - drop: {columns: [file_path]}
          - deduplicate: {by: [licence_number]}
        model:
          fields:
            - {name: licence_number, type: string, required: true}
            - {name: full_name, type: string, pii: true, masking: redact}
            - {name: expires, type: date}
    """,
}


def document(*lines: str) -> bytes:
    """A PDF of one page, whole enough for every reader."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    content = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(written)
    return written + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def licence(number: str, name: str) -> bytes:
    return document("DRIVING LICENCE", f"LICENCE NO: {number}", f"Name: {name}", "EXP: 2031-05-06")


@pytest.mark.parametrize("without", [(), ("pdfplumber",), ("pdfplumber", "pypdf")], ids=["library", "other", "own"])
def test_every_reader_finds_the_same_lines(without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for library in without:
        monkeypatch.setitem(sys.modules, library, None)
    found = text_of(licence("AB1234", "Ann Other"))
    assert (found or "").split("\n") == ["DRIVING LICENCE", "LICENCE NO: AB1234", "Name: Ann Other", "EXP: 2031-05-06"]


def test_documents_become_rows_and_silver_drops_their_path(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(lake))
    for name, text in FILES.items():
        (tmp_path / "mesh" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mesh" / name).write_text(textwrap.dedent(text))
    landing = lake / "volumes/local/landing_people/licences"
    for place, content in {
        "a.pdf": licence("AB1234", "Ann Other"),
        "2026/02/b.pdf": licence("CD5678", "Bob Else"),
        "2026/02/c.pdf": licence("MISSING", "Cid Nobody"),
        "2026/02/notes.txt": b"not a document",
    }.items():
        (landing / place).parent.mkdir(parents=True, exist_ok=True)
        (landing / place).write_bytes(content)

    project = Project(tmp_path / "mesh")
    registry, workspace = load_project(project), Workspace(project)
    assert registry.errors == ()
    done = run_contracts(registry, registry.contracts, workspace, spark)
    reports = {key[-1]: progress.result or progress.error for key, progress in done.items()}
    bronze, silver = (registry.find(f"{layer}_checks_licences") for layer in ("bronze", "silver"))
    rows = spark.read.format("delta").load(workspace.destination(bronze).target)
    assert dict(rows.dtypes)["expires"] == "string", reports
    assert {Path(row.file_path).name: row.full_name for row in rows.collect()} == {
        "a.pdf": "Ann Other",
        "b.pdf": "Bob Else",
    }
    held = spark.read.format("delta").load(workspace.destination(bronze).quarantine).collect()
    assert Counter(error for row in held for error in row["_lakelogic_errors"]) == {
        "[pre] Rule failed: licence_number_not_null (licence_number IS NOT NULL)": 1
    }
    clean = spark.read.format("delta").load(workspace.destination(silver).target)
    assert "file_path" not in clean.columns
    assert {(row.licence_number, row.full_name, str(row.expires)) for row in clean.collect()} == {
        ("AB1234", "***REDACTED***", "2031-05-06"),
        ("CD5678", "***REDACTED***", "2031-05-06"),
    }

"""Made-up rows beside Spark writing as many from plain expressions: the same columns, format and number of files.

The bar is three times as long. The contract has twenty columns of all kinds and rules over most of them; 2 % of the
rows are broken on purpose. The figures are the least of several rounds, as everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measurement import Bar, Job, Measurement, Size
from benchmarks.workbench import workbench
from lakelogic_assets.authoring.landing import LandingPlan, Request
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project

ROWS = 1_000_000
FORMS = ("csv", "jsonl", "parquet")
FILES = 2
# ruff: noqa: E501 - a column and its plain counterpart on one line
FIELDS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": "order_id", "description": "Format: O########"}, "concat('O', lpad(cast(id as string), 8, '0'))"),
    ({"name": "customer_id", "description": "Format: C######"}, "concat('C', lpad(cast(id % 1000000 as string), 6, '0'))"),
    ({"name": "full_name"}, "concat('First', id % 400, ' Last', id % 397)"),
    ({"name": "email", "required": True}, "concat('first', id % 400, '.last', id % 397, id, '@example.com')"),
    ({"name": "phone", "description": "Format: +49 ### #######"}, "concat('+49 ', 100 + id % 900, ' ', 1000000 + id)"),
    ({"name": "street"}, "concat(id % 120, ' Long Street')"),
    ({"name": "city"}, "concat('City', id % 400)"),
    ({"name": "country", "accepted_values": ["DE", "AT", "CH"]}, "array('DE', 'AT', 'CH')[cast(id % 3 as int)]"),
    ({"name": "status", "accepted_values": ["new", "new", "paid", "sent"]}, "array('new', 'paid', 'sent')[cast(id % 3 as int)]"),
    ({"name": "code"}, "concat('AB-', 1000 + id % 9000)"),
    ({"name": "quantity", "type": "int", "min": 1, "max": 12}, "cast(id % 12 + 1 as int)"),
    ({"name": "unit_price", "type": "decimal(10,2)", "min": 1, "max": 400}, "cast((100 + id % 39900) / 100 as decimal(10,2))"),
    ({"name": "discount_pct", "type": "double", "min": 0, "max": 30}, "(id % 3001) / 100"),
    ({"name": "rating", "type": "int", "min": 1, "max": 5}, "cast(id % 5 + 1 as int)"),
    ({"name": "weight", "type": "double", "min": 0, "max": 50}, "(id % 5001) / 100"),
    ({"name": "is_gift", "type": "boolean"}, "id % 2 = 0"),
    ({"name": "birth_date", "type": "date", "description": "Format: YYYY-MM-DD, 1940 to 2005"}, "date_add(DATE'1940-01-01', cast(id % 24000 as int))"),
    ({"name": "ordered_at", "type": "timestamp"}, "timestamp_seconds(1770000000 + id % 86400)"),
    ({"name": "shipped_at", "type": "timestamp"}, "timestamp_seconds(1770000600 + id % 86400)"),
    ({"name": "delivered_on", "type": "date", "description": "Equals the folder the file lands in."}, "DATE'2026-02-03'"),
)  # fmt: skip
RULES = (
    {"regex_match": {"field": "code", "pattern": "^[A-Z]{2}-[0-9]{4}$"}},
    {"not_null": ["order_id", "customer_id", "quantity"]},
    {"name": "price_positive", "sql": "unit_price > 0"},
    {"name": "sent_after_ordered", "sql": "shipped_at IS NULL OR shipped_at >= ordered_at"},
)


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    rows = size.of(ROWS, 1000)
    with workbench("generate") as bench:
        jobs: dict[str, Job] = {}
        for form in FORMS:
            jobs[f"plain, {form}"] = lambda form=form: _plain(bench.spark, bench.folder / "plain", form, rows)  # type: ignore[misc]
            jobs[f"made, {form}"] = lambda form=form: _made(bench.spark, bench.folder / "lake", form, rows)  # type: ignore[misc]
        yield Measurement(
            f"{rows:,} rows of {len(FIELDS)} columns in {FILES} files, 2 % broken",
            jobs,
            tuple(Bar(f"made, {form}", f"plain, {form}", 3.0) for form in FORMS),
            before_each=bench.clear,
        )


def _plain(spark: Any, folder: Path, form: str, rows: int) -> None:
    columns = [f"{sql} as {field['name']}" for field, sql in FIELDS]
    writer = spark.range(0, rows, 1, FILES).selectExpr(*columns).write
    if form == "csv":
        writer.option("header", "true").csv(str(folder))
    else:
        writer.format("json" if form == "jsonl" else form).save(str(folder))


def _made(spark: Any, lake: Path, form: str, rows: int) -> None:
    lake.mkdir()
    contract = {
        "version": "1.0.0",
        "info": {"title": "Bench", "table_name": "silver_bench"},
        "source": {"type": "landing", "path": str(lake / "bench"), "format": form, "partition": {"format": "%Y/%m/%d"}},
        "model": {"fields": [field for field, _ in FIELDS]},
        "quality": {"row_rules": list(RULES)},
        "primary_key": ["order_id"],
    }
    (lake / "silver_bench.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    project = Project(lake)
    plan = LandingPlan(load_project(project, {}), project, lake, Request([date(2026, 2, 3)], rows))
    report = plan.land(spark)
    assert (report.rows, report.broken, len(report.files)) == (rows, rows // 50, FILES), report

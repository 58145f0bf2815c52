"""Contracts written by a test, the feeds that come of them, and their rows."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lakelogic_assets.authoring.synthetic.feeds import plan_feeds
from lakelogic_assets.authoring.synthetic.sizes import Wish, plan_sizes
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.synthetic import EPOCH, Batch, Feed
from lakelogic_assets.project import Project
from lakelogic_assets.spark.synthetic.frame import FilePlace, Rows
from lakelogic_assets.spark.synthetic.rendering import typed_columns
from lakelogic_assets.spark.synthetic.values import Values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = date(2026, 2, 3)


def feeds_of(root: Path, *contracts: dict[str, Any]) -> dict[str, Feed]:
    for contract in contracts:
        table = contract["info"]["table_name"]
        (root / f"{table}.yaml").write_text(yaml.safe_dump({"version": "1.0.0", **contract}, sort_keys=False))
    registry = load_project(Project(root), {})
    assert registry.errors == ()
    files = [contract for contract in registry if not (contract.source and contract.source.is_table)]
    return {key[-1]: feed for key, feed in plan_feeds(registry, files).items()}


def landing(table: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    source = {"type": "landing", "path": f"lake/{table}", "format": "csv"}
    return {"info": {"title": table, "table_name": table}, "model": {"fields": list(fields)}, "source": source, **more}


def reading(table: str, upstream: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return landing(table, *fields, **more) | {"source": {"type": "table", "path": f"table:{upstream}"}}


def rows_of(
    spark: SparkSession, feeds: dict[str, Feed], table: str, *, rows: int = 50, day: date = DAY
) -> list[dict[str, Any]]:
    """The rows of a table's feed on a day."""
    by_key = {feed.asset: feed for feed in feeds.values()}
    nothing: dict[tuple[str, ...], tuple[()]] = dict.fromkeys(by_key, ())
    sizes = plan_sizes(by_key, Wish(rows, 0.0), nothing, nothing, frozenset(), dict.fromkeys(by_key, 1))
    batches = {key: Batch(feed, sizes[key]) for key, feed in by_key.items()}
    batch = batches[feeds[table].asset]
    made = Rows(batch, Values(batches, 1, "en_US"), 1)
    place = FilePlace((day - EPOCH).days, 0, 0, batch.size.rows)
    return [row.asDict() for row in made.frame(spark, [place]).selectExpr(*typed_columns(made)).collect()]

"""`quality_dashboard`: one page over all products, because Dagster shows checks asset by asset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.report import dashboard
from lakelogic_assets.spark.quality_facts import product_of, runs_of
from lakelogic_assets.spark.workspace import Workspace

KEY = dg.AssetKey("quality_dashboard")


def quality_dashboard(products: Sequence[Product], workspace: Workspace) -> dg.AssetsDefinition:
    """An asset that writes the page and shows its summary; it reads the run logs and needs no Spark."""

    contracts = [product.contract for product in products]

    @dg.asset(
        key=KEY,
        group_name="lakelogic",
        kinds={"html"},
        description="Quality of all data products over time: rules, quarantine, freshness, cost of time. "
        "The page is one file that opens from disk; its summary is in the metadata of each materialization.",
        automation_condition=dg.AutomationCondition.on_cron("45 * * * *"),
        # A range of days over everything is one run only where every asset says so.
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def page() -> dg.MaterializeResult[Any]:
        summary = dashboard.summarise(
            runs_of(contracts, workspace), [product_of(each) for each in contracts], datetime.now(UTC)
        )
        path = workspace.root / "_reports" / "quality.html"
        write_page(path, dashboard.as_html(summary))
        return dg.MaterializeResult(metadata=_metadata(path, dashboard.as_markdown(summary)))

    return page


def write_page(path: Path, text: str) -> None:
    """Whole or not at all: somebody may have the page open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _metadata(path: Path, summary: str) -> dict[str, Any]:
    return {"summary": dg.MetadataValue.md(summary), "page": dg.MetadataValue.url(path.absolute().as_uri())}

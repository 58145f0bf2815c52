"""`quality_dashboard`: one page over all products, because Dagster shows checks asset by asset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from lakelogic_assets.contract.objectives import freshness_objective
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.report import dashboard
from lakelogic_assets.spark.run_log import read_runs
from lakelogic_assets.spark.workspace import Workspace

KEY = dg.AssetKey("quality_dashboard")
_LOOKED_BACK = timedelta(days=90)


def quality_dashboard(products: Sequence[Product], workspace: Workspace) -> dg.AssetsDefinition:
    """An asset that writes the page and shows its summary; it reads the run logs and needs no Spark."""

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
            runs_of(products, workspace), [_shown(each) for each in products], datetime.now(UTC)
        )
        path = workspace.root / "_reports" / "quality.html"
        write_page(path, dashboard.as_html(summary))
        return dg.MaterializeResult(metadata=_metadata(path, dashboard.as_markdown(summary)))

    return page


def runs_of(products: Iterable[Product], workspace: Workspace) -> list[dict[str, Any]]:
    """The runs of the last months from every log of the project; several contracts share one."""
    logs = dict.fromkeys(workspace.destination(product.contract).run_log for product in products)
    since = datetime.now(UTC) - _LOOKED_BACK
    return [run for log in logs for run in read_runs(log, since=since, with_reports=True)]


def write_page(path: Path, text: str) -> None:
    """Whole or not at all: somebody may have the page open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _shown(product: Product) -> dashboard.Product:
    contract = product.contract
    freshness = freshness_objective(contract)
    reads_news = contract.source is not None and contract.source.load_mode != "full"
    return dashboard.Product(
        key="/".join(product.key),
        domain=contract.domain or "",
        layer=contract.layer or "",
        title=contract.info.title or contract.table,
        owner=contract.info.owner,
        freshness_seconds=freshness.seconds if freshness else None,
        checks=sum(check.kind in ("row", "dataset") for check in product.checks),
        incremental=reads_news or contract.materialization.strategy == "append",
    )


def _metadata(path: Path, summary: str) -> dict[str, Any]:
    return {"summary": dg.MetadataValue.md(summary), "page": dg.MetadataValue.url(path.absolute().as_uri())}

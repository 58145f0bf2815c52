"""What the pages about quality are made from: contracts as they show them, and the runs of their logs. No Spark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.objectives import freshness_objective
from lakelogic_assets.contract.rules import dataset_rules, row_rules
from lakelogic_assets.report.dashboard_records import Product
from lakelogic_assets.spark.run_log import read_runs
from lakelogic_assets.spark.workspace import Workspace

_LOOKED_BACK = timedelta(days=90)


def runs_of(contracts: Iterable[Contract], workspace: Workspace) -> list[dict[str, Any]]:
    """The runs of the last months from every log of the project, newest first in each; several contracts share one."""
    logs = dict.fromkeys(workspace.destination(contract).run_log for contract in contracts)
    since = datetime.now(UTC) - _LOOKED_BACK
    return [run for log in logs for run in read_runs(log, since=since, with_reports=True)]


def product_of(contract: Contract) -> Product:
    """A contract as the dashboard and the site know it."""
    freshness = freshness_objective(contract)
    reads_news = contract.source is not None and contract.source.load_mode != "full"
    return Product(
        key="/".join(contract.key),
        domain=contract.domain or "",
        layer=contract.layer or "",
        title=contract.info.title or contract.table,
        owner=contract.info.owner,
        freshness_seconds=freshness.seconds if freshness else None,
        checks=len(row_rules(contract)) + len(dataset_rules(contract)),
        incremental=reads_news or contract.materialization.strategy == "append",
    )

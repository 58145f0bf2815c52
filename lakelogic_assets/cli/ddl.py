"""`lakelogic ddl`: tables from contracts, without running them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import say, say_json, shown_path
from lakelogic_assets.cli.selecting import chosen_keys, loaded
from lakelogic_assets.cli.settings import settings_of


def ddl(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts; without them, all.")
    ] = None,
) -> None:
    """Create the tables of contracts, or add the columns they lack; no rows are touched."""
    from lakelogic_assets.spark.ddl import apply_ddl
    from lakelogic_assets.spark.session import local_session
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    registry, project = loaded(settings.project, select or ())
    workspace = Workspace(project)
    spark = local_session(conf=workspace.spark_conf)
    changes = [apply_ddl(registry.contracts[key], spark, workspace) for key in chosen_keys(registry, select or ())]
    if settings.as_json:
        say_json([asdict(change) for change in changes])
        return
    for change in changes:
        added = f": {', '.join(change.columns)}" if change.columns and change.what == "altered" else ""
        say(f"{change.what:<9}  {change.contract}  {shown_path(change.target)}{added}")

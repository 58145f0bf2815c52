"""`lakelogic ddl`: tables from contracts, without running them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import say, say_json, shown_path
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of


def ddl(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts; without them, all.")
    ] = None,
) -> None:
    """Create the tables of contracts, or add the columns they lack; no rows are touched."""
    from lakelogic_assets.spark.ddl import apply_ddl
    from lakelogic_assets.spark.session import open_session
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    found = chosen(settings.project, select or ())
    workspace = Workspace(found.project)
    spark = open_session(workspace.spark_conf)
    changes = [apply_ddl(found.registry.contracts[key], spark, workspace) for key in found.keys]
    if settings.as_json:
        say_json([asdict(change) for change in changes])
    for change in changes if not settings.as_json else ():
        added = f": {', '.join(change.columns)}" if change.columns and change.what == "altered" else ""
        say(f"{change.what:<9}  {change.contract}  {shown_path(change.target)}{added}")
    raise typer.Exit(name_left_out(found.left_out, found.project, as_json=settings.as_json))

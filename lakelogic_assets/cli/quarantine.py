"""`lakelogic quarantine`: which rows are held back, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.printing import say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.contract.document import Contract
    from lakelogic_assets.spark.workspace import Workspace


def quarantine(
    ctx: typer.Context,
    contract: Annotated[str | None, typer.Argument(help="A contract; without it, all are counted.")] = None,
    rows: Annotated[int, typer.Option(min=0, help="Show this many rows.")] = 0,
) -> None:
    """Count quarantined rows by rule, and show some of them, masked as they are stored."""
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    meant = chosen(settings.project, [contract] if contract else ())
    workspace, contracts = Workspace(meant.project), meant.registry.contracts
    found = {"/".join(key): _look(contracts[key], workspace, rows) for key in meant.keys}
    found = {name: value for name, value in found.items() if value["count"] or contract}
    if settings.as_json:
        say_json(found)
    else:
        _print(found)
    raise typer.Exit(name_left_out(meant.left_out, meant.project, as_json=settings.as_json))


def _print(found: dict[str, dict[str, Any]]) -> None:
    for name, value in found.items():
        say(f"{name}: {value['count']:,} rows in {value['path']}")
        for rule, count in value["by_rule"].items():
            say(f"  {count:>8,}  {rule}")
        for row in value["rows"]:
            say("  " + ", ".join(f"{key}={item}" for key, item in row.items() if item is not None))
    if not found:
        say("nothing is in quarantine")


def _look(contract: Contract, workspace: Workspace, rows: int) -> dict[str, Any]:
    from lakelogic_assets.spark.quarantined import quarantined

    path = workspace.destination(contract).quarantine
    return quarantined(path, "/".join(contract.key), rows=rows).as_dict()

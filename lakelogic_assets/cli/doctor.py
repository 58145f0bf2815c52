"""`lakelogic doctor`: what dead runs and dying disks have left behind, and what can be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.spark.doctor import Ailment


def doctor(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts to look at; without them, all.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended without a person.")] = False,
) -> None:
    """List runs that never ended, files that belong to nothing and commits that a disk has lost.

    The next run of a table finishes its dead runs by itself; --repair does so now, and removes what no reader can see.
    Rows that killed Spark sessions have left in temporary folders are removed in any case.
    The exit code is 1 while something is left.
    """
    from lakelogic_assets.spark import doctor as surgery
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    found = chosen(settings.project, select or ())
    workspace = Workspace(found.project)
    swept = surgery.swept_sessions(workspace.spark_conf)
    ailments: list[Ailment] = []
    for contract in (found.registry.contracts[key] for key in found.keys):
        places = (contract, workspace.lakehouse(contract), workspace.destination(contract))
        ailments += surgery.repair(*places, found.project.environment) if repair else surgery.examine(*places)
    if settings.as_json:
        say_json([each.as_dict() for each in ailments])
    else:
        _print(ailments, len(found.keys))
        for folder in swept:
            say(f"✓ {folder} was left by a session that was killed, and is removed")
    left_out = name_left_out(found.left_out, found.project, as_json=settings.as_json)
    raise typer.Exit(1 if any(not each.mended for each in ailments) else left_out)


def _print(ailments: list[Ailment], tables: int) -> None:
    for each in ailments:
        mark = "✓" if each.mended else "✗" if each.needs_a_person else "·"
        say(f"{mark} {each.contract}: {each.kind}: {each.what}{'' if each.mended else f'; {each.cure}'}")
    mended = sum(each.mended for each in ailments)
    people = sum(each.needs_a_person and not each.mended for each in ailments)
    left = len(ailments) - mended
    say(f"{counted(tables, 'table')}: {mended} mended, {left or 'nothing'} left, {people} for a person")

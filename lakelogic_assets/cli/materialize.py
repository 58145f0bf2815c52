"""`lakelogic materialize`: contracts through Dagster, recorded in its instance and seen in its UI."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.printing import complain, say, say_json
from lakelogic_assets.cli.run import make_data
from lakelogic_assets.cli.selecting import name_left_out, sound_keys
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.summary import COLUMNS, print_table

if TYPE_CHECKING:
    from lakelogic_assets.orchestration.launch import Days, Line

_FINE = ("success",)


def materialize(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SELECT]...", help="Contracts: a name, layer:silver, +name, name+, a glob."),
    ] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="DATE", help="First day.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Last day, included.")] = None,
    newest: Annotated[int, typer.Option(min=1, help="Without --from: this many of the last complete days.")] = 1,
    example_data: Annotated[
        bool, typer.Option("--example-data", help="First make landing files from the contracts.")
    ] = False,
) -> None:
    """Materialize assets in a run of Dagster, with their checks, and say where every row went.

    The run is recorded in DAGSTER_HOME, or in the project's `dagster_home/`, and can be looked at in the UI. The exit
    code is 1 when anything was not published.
    """
    from lakelogic_assets.orchestration.build import build_location
    from lakelogic_assets.orchestration.launch import instance_of, newest_days, write_dashboard
    from lakelogic_assets.orchestration.launch import materialize as launch
    from lakelogic_assets.spark.session import open_session

    settings = settings_of(ctx)
    project = settings.project
    days = _days(first, last) or newest_days(newest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # previews and betas of Dagster that this version is pinned for
        location = build_location(project)
        registry = location.engine.registry
        if example_data:
            workspace = location.engine.workspace
            make_data(registry, workspace, open_session(workspace.spark_conf), days, quiet=settings.as_json)
        by_key = {product.key: product for product in location.products}
        keys, left_out = sound_keys(registry, select or (), project)
        chosen = [by_key[key] for key in registry.running(keys) if key in by_key]
        if not settings.as_json:
            say(f"materializing {len(chosen)} assets for {days[0]} to {days[1]} …")
        with instance_of(project) as instance:
            lines = launch(location.definitions, chosen, days, instance)
            page = write_dashboard(location.definitions, instance)
    if settings.as_json:
        say_json([asdict(line) for line in lines])
    else:
        print_table(COLUMNS, [_row(line) for line in lines])
        say(f"quality of all products: {page}")
    code = name_left_out(left_out, project, as_json=settings.as_json)
    raise typer.Exit(code if all(line.status in _FINE for line in lines) else 1)


def _days(first: str | None, last: str | None) -> Days | None:
    if first is None and last is None:
        return None
    try:
        start, end = (date.fromisoformat(day) if day else None for day in (first or last, last or first))
    except ValueError as error:
        complain(f"{error}; write days as 2026-02-01.")
        raise typer.Exit(2) from error
    if start is None or end is None or end < start:
        complain(f"--to {last} is before --from {first}.")
        raise typer.Exit(2)
    return start, end


def _row(line: Line) -> tuple[str, ...]:
    numbers = (f"{line.source:,}", f"{line.good:,}", f"{line.quarantined:,}", f"{line.dropped:,}")
    checks = f"{line.checks_passed}/{line.checks}" if line.checks else "-"
    return (line.asset, *numbers, checks, f"{line.seconds:.1f}", line.status)

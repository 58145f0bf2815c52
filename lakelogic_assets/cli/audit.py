"""`lakelogic audit`: proof from Delta's history that no row was lost, run by run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of


def audit(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[ASSET]...", help="Contracts to audit; without them, all.")
    ] = None,
) -> None:
    """Prove that source = good + quarantined + dropped for every run; exit code 1 where it does not hold."""
    from lakelogic_assets.spark.audit import audit as audit_table
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    chosen_ones = chosen(settings.project, select or ())
    workspace, contracts = Workspace(chosen_ones.project), chosen_ones.registry.contracts
    runs = {key: audit_table(workspace.destination(contracts[key])) for key in sorted(chosen_ones.keys)}
    broken = [run for found in runs.values() for run in found if not run.holds]
    if settings.as_json:
        say_json({"/".join(key): [asdict(run) for run in found] for key, found in runs.items()})
    else:
        for key, found in runs.items():
            for run in found:
                equation = (
                    f"{run.source:,} = {run.good:,} good + {run.quarantined:,} quarantined + {run.dropped:,} dropped"
                )
                verdict = "holds" if run.holds else f"BROKEN: {'; '.join(run.faults)}"
                say(f"{'/'.join(key)} v{run.version} {run.window}: {equation}: {verdict}")
        total = sum(len(found) for found in runs.values())
        say(f"{total} runs of {sum(bool(found) for found in runs.values())} tables: {len(broken) or 'none'} broken")
    left_out = name_left_out(chosen_ones.left_out, chosen_ones.project, as_json=settings.as_json)
    raise typer.Exit(1 if broken else left_out)

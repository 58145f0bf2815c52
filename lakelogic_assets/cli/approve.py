"""`lakelogic approve`: a person signs what waits to be published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.printing import say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import RequestError

if TYPE_CHECKING:
    from lakelogic_assets.spark.holds import Hold


def approve(
    ctx: typer.Context,
    contract: Annotated[
        str | None, typer.Argument(metavar="[CONTRACT]", help="Whose windows are signed; without it, list what waits.")
    ] = None,
    why: Annotated[str | None, typer.Option(metavar="TEXT", help="The reason, kept with the signature.")] = None,
    window: Annotated[str | None, typer.Option(metavar="KEY", help="Only this window, such as 2026-02-03.")] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN_ID", help="Only what this run asked for: its id or that of its call, or a beginning."
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who signs; else the user of this process.")] = None,
    expires: Annotated[str, typer.Option(metavar="PERIOD", help="How long the signature counts.")] = "24h",
) -> None:
    """Sign a schema drift or too many bad rows, so that the window's next run publishes them.

    A signature covers what it was given for: when more rows are bad or other columns come, the window waits again.
    Without days it covers the very files or version that were read.
    """
    from datetime import timedelta

    from lakelogic_assets.contract.base import period_seconds
    from lakelogic_assets.spark.approvals import approve as sign
    from lakelogic_assets.spark.approvals import waiting
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    meant = chosen(settings.project, [contract] if contract else [])
    workspace, contracts, keys = Workspace(meant.project), meant.registry.contracts, meant.keys
    if contract is None:
        found = [hold for key in keys for hold in waiting(workspace.destination(contracts[key]), key)]
        _list(found, as_json=settings.as_json)
        raise typer.Exit(name_left_out(meant.left_out, meant.project, as_json=settings.as_json))
    if len(keys) != 1:
        raise RequestError(f"{contract!r} means {len(keys)} contracts; sign one at a time.")
    key = keys[0]
    if not why:
        raise RequestError("A signature needs a reason; say --why TEXT.")
    seconds = period_seconds(expires)
    if not seconds:
        raise RequestError(f"{expires!r} is not a length of time; write it as 24h or 7d.")
    signed = sign(
        workspace.destination(contracts[key]), key, why=why, by=by, window=window, run_id=run_id,
        expires=timedelta(seconds=seconds),
    )  # fmt: skip
    if settings.as_json:
        say_json([{"window": each.key, **approval.as_dict()} for each, approval in signed])
        return
    for each, approval in signed:
        reasons = "; ".join(approval.findings.reasons)
        say(
            f"signed {'/'.join(key)} {each.key} by {approval.by} until {approval.expires:%Y-%m-%d %H:%M} UTC: {reasons}"
        )
    window_of = {each.key: "" if each.is_full else f" --day {each.key}" for each, _ in signed}
    say(f"run it again to publish: lakelogic run {'/'.join(key)}{next(iter(window_of.values()))}")


def _list(found: list[Hold], *, as_json: bool) -> None:
    if as_json:
        say_json([_as_dict(hold) for hold in found])
    elif not found:
        say("Nothing waits for a signature.")
    for hold in () if as_json else found:
        say(f"{'/'.join(hold.key)} {hold.window.key} since {hold.at[:16]} (run {hold.run_id[:8]})")
        for reason in hold.reasons:
            say(f"  {reason}")


def _as_dict(hold: Hold) -> dict[str, Any]:
    return {
        "asset": "/".join(hold.key),
        "window": hold.window.key,
        "run_id": hold.run_id,
        "pipeline_run_id": hold.pipeline_run_id,
        "asks": hold.asks,
    }

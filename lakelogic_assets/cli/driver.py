"""`lakelogic driver`: the familiar options of a registry-driven driver, on this engine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lakelogic_assets.cli import main as lakelogic
from lakelogic_assets.cli import options
from lakelogic_assets.cli.observing import METRICS_FILE, Outputs, state_of, watched
from lakelogic_assets.cli.printing import say, shown_path
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import ContractError, NotFoundError, RequestError

if TYPE_CHECKING:
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.cli.selecting import Chosen
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.plan.request import PipelineRequest
    from lakelogic_assets.project import Project

OtherRegistry = Annotated[str | None, typer.Option(metavar="FILE", help="A _registry.yaml or _system.yaml.")]
Day = Annotated[str | None, typer.Option(metavar="DATE", help="Such as 2026-02-01.")]
Granularity = Literal["day", "week", "month"]
Metrics = Literal["json", "prometheus"]
CACHED = "Taken for granted: a link is read once in a run."


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCall(options.HowToRun):
    """The options as they were given; each field is one."""

    registry: Annotated[str, typer.Option(metavar="FILE", help="The registry whose contracts are run.")]
    reference_registry: OtherRegistry = None
    gold_registry: OtherRegistry = None
    layers: Annotated[str | None, typer.Option(metavar="NAMES", help="Which layers, with commas; else all.")] = None
    entities: Annotated[str | None, typer.Option(metavar="NAMES", help="Only these entities, with commas.")] = None
    window: Annotated[str | None, typer.Option(metavar="KIND", help="full, last_success or range.")] = None
    window_start_date: Day = None
    window_end_date: Day = None
    backfill_start_date: Day = None
    backfill_end_date: Day = None
    backfill_granularity: Annotated[Granularity, typer.Option(help="How a backfill is cut.")] = "day"
    reprocess_start_date: Day = None
    reprocess_end_date: Day = None
    cache_references: Annotated[bool, typer.Option("--cache-references", help=CACHED)] = False
    state_path: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the run notes who it is.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last run of this request.")] = False
    summary_table: Annotated[str | None, typer.Option(metavar="NAME", help="Write a summary row here.")] = None
    summary_backend: Annotated[
        str | None, typer.Option(metavar="NAME", help="delta (the default), duckdb, sqlite or json.")
    ] = None
    summary_database: Annotated[Path | None, typer.Option(metavar="FILE", help="The database file.")] = None
    metrics_path: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures as JSON.")] = None
    metrics_backend: Annotated[
        Metrics | None,
        typer.Option(help="json: a file, in the lake if no path is said; prometheus: /metrics meanwhile."),
    ] = None
    metrics_host: Annotated[str, typer.Option(help="Who may ask; this machine alone by default.")] = "127.0.0.1"
    metrics_port: Annotated[int, typer.Option(min=0, max=65535, help="Where they ask.")] = 9100
    metrics_linger: Annotated[str, typer.Option(metavar="PERIOD", help="Serve on after the run.")] = "0s"

    @property
    def registries(self) -> list[tuple[Path, str | None]]:
        """Each registry that was given, with the layer that its contracts count as."""
        named = ((self.registry, None), (self.reference_registry, "reference"), (self.gold_registry, "gold"))
        return [(Path(path), layer) for path, layer in named if path]

    def outputs(self, logs: Path) -> Outputs:
        """Who else is told; what is asked for without a place goes beside the logs."""
        unplaced = logs / METRICS_FILE if self.metrics_backend == "json" else None
        return Outputs(
            state=self.state_path,
            summary_table=self.summary_table,
            summary_backend=self.summary_backend,
            summary_database=self.summary_database,
            metrics_path=self.metrics_path or unplaced,
            serve=(self.metrics_host, self.metrics_port) if self.metrics_backend == "prometheus" else None,
            linger=self.metrics_linger,
        )


@options.from_fields(DriverCall)
def driver(ctx: typer.Context, call: DriverCall) -> None:
    """Run the contracts of registries, layer by layer, for a window, a backfill or a rebuild."""
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.spark.pipeline_log import pipeline_log_path
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    project = settings.project if settings.folder else _project_of(call, settings.project)
    request = _request(call)
    found, meant = _chosen(call, project, quiet=settings.as_json)
    workspace = Workspace(found.project)
    selected = replace(request, select=tuple("/".join(key) for key in meant))
    operation = Operation.of(found, workspace, selected, call.policy(workspace), as_json=settings.as_json)
    outputs = call.outputs(Path(pipeline_log_path(workspace.root)).parent)
    if call.resume:
        operation = _resumed(operation, outputs)
    with watched(operation, outputs) as seen:
        raise typer.Exit(carry_out(seen, dry_run=call.dry_run))


def _request(call: DriverCall) -> PipelineRequest:
    """Which of the three ways to name days was used, and what is asked for with them."""
    from lakelogic_assets.plan.request import days_between, request_for

    ways = {
        "range": (call.window_start_date, call.window_end_date),
        "backfill": (call.backfill_start_date, call.backfill_end_date),
        "reprocess": (call.reprocess_start_date, call.reprocess_end_date),
    }
    named = [kind for kind, days in ways.items() if any(days)]
    if len(named) > 1:
        raise RequestError(f"Days were named for {' and '.join(named)}; ask for one of them at a time.")
    kind = named[0] if named else None
    if kind in ("backfill", "reprocess"):
        if call.window not in (None, "full", "range"):
            raise RequestError(f"A {kind} names its own days; leave out --window {call.window}.")
        return request_for(kind, days_between(*ways[kind]), by=call.backfill_granularity)
    return request_for(call.window or kind or "full", days_between(*ways["range"]))


def _project_of(call: DriverCall, default: Project) -> Project:
    """The project that the registries stand in: above the `contracts/` that holds them."""
    for path, _ in call.registries:
        if not path.is_file():
            raise NotFoundError(f"There is no registry {path}.")
    folder = Path(call.registry).resolve().parent
    above = (folder, *folder.parents)
    root = next((each.parent for each in above if each.name == "contracts"), None)
    return replace(default, root=root or next((each for each in above if (each / "resources").is_dir()), folder))


def _chosen(call: DriverCall, project: Project, *, quiet: bool) -> tuple[Chosen, list[Key]]:
    """The contracts to run, and all that are meant: what has errors today may be resumed when it has none."""
    from lakelogic_assets.cli.registries import Listing
    from lakelogic_assets.cli.selecting import Chosen, adjusted
    from lakelogic_assets.contract.left_out import sort_contracts
    from lakelogic_assets.contract.loading import load_project

    project = project.with_packs(call.packs, call.pack_folder)
    registry = load_project(project)
    listing = Listing(registry, project, {path.resolve(): layer for path, layer in call.registries})
    choice = listing.chosen(_words(call.layers), _words(call.entities))
    if not quiet:
        for path in choice.taken_in:
            say(f"{shown_path(path)} is taken in for its layer")
        for layer in choice.empty:
            say(f"the registries list nothing in the layer {layer}")
    sorted_out = sort_contracts(registry, project)
    left_out = [each for each in sorted_out.left_out if choice.concerns(each)]
    sound = {contract.key for contract in sorted_out.sound}
    in_order = (registry.contracts[key] for level in registry.graph.levels for key in level)
    meant = [each.key for each in in_order if each.place.path and each.place.path.resolve() in choice.files]
    keys = [key for key in meant if key in sound]
    if left_out and not keys:
        raise ContractError([problem for each in left_out for problem in each.problems])
    if not keys:
        raise NotFoundError(f"The registries list nothing to run{_of(call)}.")
    return adjusted(Chosen(registry, project, keys, left_out, call.said)), meant


def _of(call: DriverCall) -> str:
    asked = {"in the layers": _words(call.layers), "of the entities": _words(call.entities)}
    return "".join(f" {name} {', '.join(words)}" for name, words in asked.items() if words)


def _words(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]


def _resumed(operation: Operation, outputs: Outputs) -> Operation:
    """The last run that asked for the same, or the one that the state file names, without what it has done.

    What came since the last success is planned anew: it leaves out what is done, and takes in what came meanwhile.
    """
    from lakelogic_assets.cli.resume import refuse_alive, resumption
    from lakelogic_assets.report.request import same_work
    from lakelogic_assets.spark.pipeline_log import find, pipeline_log_path, unfinished

    path = pipeline_log_path(operation.workspace.root)
    environment = operation.workspace.project.environment
    known = state_of(outputs.state)
    run = find(path, known) if known else unfinished(path, operation.asked, environment)
    if run is None or run.status == "success":
        if not operation.as_json:
            say("nothing is left of an earlier run, so all of it is run")
        return operation
    if not same_work(run.request, operation.asked):
        if not operation.as_json:
            other = f"{outputs.state} names the run {run.pipeline_run_id[:8]}, which asked for something else"
            say(f"{other}, so all of this is run; `lakelogic resume {run.pipeline_run_id[:8]}` goes on with that one")
        return operation
    if operation.request.window == "last_success":
        refuse_alive(run)
        return replace(operation, resumes=run.pipeline_run_id)
    left = resumption(run, operation.workspace.project, as_json=operation.as_json)
    return replace(left, policy=operation.policy, left_out=operation.left_out)


def main() -> None:
    """`lakelogic-driver`, the name that others know it by."""
    lakelogic(["driver", *sys.argv[1:]])

"""`lakelogic driver`: the familiar options of a registry-driven driver, on this engine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lakelogic_assets.cli import main as lakelogic
from lakelogic_assets.cli import options
from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption
from lakelogic_assets.cli.observing import Outputs, state_of, watched
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import NotFoundError, ProjectError, RequestError

if TYPE_CHECKING:
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.cli.selecting import Chosen
    from lakelogic_assets.contract.document import Contract
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.plan.request import PipelineRequest
    from lakelogic_assets.project import Project

_LAYERS = "reference,bronze,silver,gold"
OtherRegistry = Annotated[str | None, typer.Option(metavar="FILE", help="A _registry.yaml or _system.yaml.")]
Day = Annotated[str | None, typer.Option(metavar="DATE", help="Such as 2026-02-01.")]
Granularity = Literal["day", "week", "month"]
Metrics = Literal["json", "prometheus"]
CACHED = "Taken for granted: a link is read once in a run."


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCall:
    """The options as they were given; each field is one."""

    registry: Annotated[str, typer.Option(metavar="FILE", help="The registry whose contracts are run.")]
    reference_registry: OtherRegistry = None
    gold_registry: OtherRegistry = None
    layers: Annotated[str, typer.Option(help="Which layers, with commas.")] = _LAYERS
    entities: Annotated[str | None, typer.Option(help="Only these entities, with commas.")] = None
    window: Annotated[str | None, typer.Option(metavar="KIND", help="full, last_success or range.")] = None
    window_start_date: Day = None
    window_end_date: Day = None
    backfill_start_date: Day = None
    backfill_end_date: Day = None
    backfill_granularity: Annotated[Granularity, typer.Option(help="How a backfill is cut.")] = "day"
    reprocess_start_date: Day = None
    reprocess_end_date: Day = None
    overrides: SetOption = None
    packs: PackOption = None
    pack_folder: PackFolderOption = None
    approval_required: options.ApprovalRequired = False
    approval_file: options.ApprovalFile = None
    cache_references: Annotated[bool, typer.Option("--cache-references", help=CACHED)] = False
    state_path: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the run notes who it is.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last run of this request.")] = False
    summary_table: Annotated[str | None, typer.Option(metavar="NAME", help="Write a summary row here.")] = None
    summary_backend: Annotated[str, typer.Option(help="delta, duckdb, sqlite or json.")] = "delta"
    summary_database: Annotated[Path | None, typer.Option(metavar="FILE", help="The database file.")] = None
    metrics_path: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures as JSON.")] = None
    metrics_backend: Annotated[Metrics | None, typer.Option(help="prometheus serves /metrics meanwhile.")] = None
    metrics_host: Annotated[str, typer.Option(help="Who may ask; this machine alone by default.")] = "127.0.0.1"
    metrics_port: Annotated[int, typer.Option(min=0, max=65535, help="Where they ask.")] = 9100
    metrics_linger: Annotated[str, typer.Option(metavar="PERIOD", help="Serve on after the run.")] = "0s"
    dry_run: options.DryRun = False
    parallel: options.Parallel = None
    ignore_gates: options.IgnoreGates = False
    retries: options.Retries = None
    timeout: options.Timeout = None
    max_consecutive_failures: options.MaxFailures = None

    @property
    def registries(self) -> list[tuple[Path, str | None]]:
        """Each registry that was given, with the layer that its contracts count as."""
        named = ((self.registry, None), (self.reference_registry, "reference"), (self.gold_registry, "gold"))
        return [(Path(path), layer) for path, layer in named if path]

    @property
    def outputs(self) -> Outputs:
        return Outputs(
            state=self.state_path,
            summary_table=self.summary_table,
            summary_backend=self.summary_backend,
            summary_database=self.summary_database,
            metrics_path=self.metrics_path,
            serve=(self.metrics_host, self.metrics_port) if self.metrics_backend == "prometheus" else None,
            linger=self.metrics_linger,
        )


@options.from_fields(DriverCall)
def driver(ctx: typer.Context, call: DriverCall) -> None:
    """Run the contracts of registries, layer by layer, for a window, a backfill or a rebuild."""
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    project = settings.project if settings.folder else _project_of(call, settings.project)
    request = _request(call)
    found = _chosen(call, project)
    workspace = Workspace(found.project)
    policy = options.policy_of(
        workspace, parallel=call.parallel, ignore_gates=call.ignore_gates, retries=call.retries, timeout=call.timeout,
        max_consecutive_failures=call.max_consecutive_failures, approval_required=call.approval_required,
        approval_file=call.approval_file,
    )  # fmt: skip
    selected = replace(request, select=tuple("/".join(key) for key in found.keys))
    operation = Operation.of(found, workspace, selected, policy, as_json=settings.as_json)
    if call.resume:
        operation = _resumed(operation, call.outputs)
    with watched(operation, call.outputs) as seen:
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


def _chosen(call: DriverCall, project: Project) -> Chosen:
    """The contracts that the registries list, of the layers and entities that were asked for."""
    from lakelogic_assets.cli.selecting import chosen
    from lakelogic_assets.contract.loading import load_project

    contracts = load_project(project).contracts
    wanted = _words(call.layers)
    listed = {
        contract.key: layer or contract.layer
        for path, layer in call.registries
        for contract in _listed(path, contracts.values())
    }
    kept = [key for key, layer in listed.items() if layer in wanted]
    keys = set(_of_entities(kept, call.entities, {key: contracts[key] for key in listed}))
    if not keys:
        raise NotFoundError(f"The registries list nothing in the layers {', '.join(wanted)}.")
    words = ["/".join(key) for key in keys]
    found = chosen(project, words, overrides=call.overrides, packs=call.packs, pack_folder=call.pack_folder)
    return replace(found, keys=[key for key in found.keys if key in keys])


def _words(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]


def _listed(path: Path, contracts: Iterable[Contract]) -> list[Contract]:
    """The contracts a registry names: by its entries, or, where it is a system's index, those of its folder."""
    from lakelogic_assets.contract.reading import read_document

    if not path.is_file():
        raise NotFoundError(f"There is no registry {path}.")
    folder = path.resolve().parent
    data = read_document(path).data
    entries = data.get("entries") if isinstance(data, dict) else None
    if entries is None and not (isinstance(data, dict) and "contracts" in data):
        raise ProjectError(f"{path} lists no contracts; a registry has `entries`, a system has `contracts`.")
    if entries is None:
        return [each for each in contracts if each.place.path and folder in each.place.path.parents]
    paths: set[Path] = set()
    for entry in entries:
        named = [*(entry.get("contracts") or {}).values(), entry.get("contract_path")]
        paths |= {(folder / each).resolve() for each in named if each}
    return [each for each in contracts if each.place.path in paths and each.place.enabled]


def _of_entities(keys: list[Key], entities: str | None, contracts: dict[Key, Contract]) -> list[Key]:
    from lakelogic_assets.contract.problems import nearest

    if not entities:
        return keys
    known = {contract.place.entity for contract in contracts.values() if contract.place.entity}
    wanted = _words(entities)
    for name in wanted:
        if name not in known:
            near = nearest(name, known)
            raise NotFoundError(f"The registries have no entity {name!r}.", [near] if near else sorted(known))
    return [key for key in keys if contracts[key].place.entity in wanted]


def _resumed(operation: Operation, outputs: Outputs) -> Operation:
    """The last run that asked for the same, or the one that the state file names, without what it has done."""
    from lakelogic_assets.cli.printing import say
    from lakelogic_assets.cli.resume import resumption
    from lakelogic_assets.spark.pipeline_log import find, pipeline_log_path, unfinished

    path = pipeline_log_path(operation.workspace.root)
    environment = operation.workspace.project.environment
    known = state_of(outputs.state)
    run = find(path, known) if known else unfinished(path, operation.asked, environment)
    if run is None or run.status == "success":
        if not operation.as_json:
            say("nothing is left of an earlier run, so all of it is run")
        return operation
    left = resumption(run, operation.workspace.project, as_json=operation.as_json)
    return replace(left, policy=operation.policy)


def main() -> None:
    """`lakelogic-driver`, the name that others know it by."""
    lakelogic(["driver", *sys.argv[1:]])

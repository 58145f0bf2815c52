"""`lakelogic run`: contracts on Spark, in graph order, with a summary of where every row went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.printing import complain, counted, say, say_json
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.summary import COLUMNS, print_table
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.plan.schedule import Progress
    from lakelogic_assets.report.run import RunReport
    from lakelogic_assets.spark.frames import SparkSession
    from lakelogic_assets.spark.workspace import Workspace


EXAMPLE_DAYS = tuple(date(2026, 2, day) for day in (1, 2, 3))


def run(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SELECT]...", help="Contracts: a name, a file, layer:silver, +name, name+, a glob."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All contracts of the project.")] = False,
    layer: Annotated[str | None, typer.Option(help="Only the contracts of this layer.")] = None,
    day: Annotated[str | None, typer.Option(metavar="DATE", help="Only the window of this day.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, help="How many contracts run side by side.")] = None,
    example_data: Annotated[
        bool, typer.Option("--example-data", help="First make landing files from the contracts.")
    ] = False,
) -> None:
    """Run contracts: read, check, quarantine, publish, log.

    Contracts run in the order of their graph. What lies below a failed or blocked contract is held back, and the exit
    code is 1.
    """
    settings = settings_of(ctx)
    registry, project = loaded(settings.project, select or ())
    words = [*(select or ()), *([f"layer:{layer}"] if layer else [])]
    if not words and not everything:
        complain("Say what to run: a contract, --layer NAME or --all.")
        raise typer.Exit(2)
    keys = chosen_keys(registry, words)
    finished = _run(
        registry, keys, project, day=day, parallel=parallel, example_data=example_data, quiet=settings.as_json
    )
    if settings.as_json:
        say_json([_as_dict(key, finished[key]) for key in finished])
    else:
        _print_summary(registry, finished)
    raise typer.Exit(0 if all(progress.state == "done" for progress in finished.values()) else 1)


def loaded(project: Project, select: Iterable[str]) -> tuple[Registry, Project]:
    """The project's contracts; a single file that no registry names is a project of its own."""
    from lakelogic_assets.contract.loading import load_paths, load_project

    files = [Path(word).resolve() for word in select if word.endswith((".yaml", ".yml"))]
    if files and not any(project.contracts in file.parents for file in files):
        project = Project(files[0].parent, project.environment)
        registry = load_paths(files, project)
    else:
        registry = load_project(project)
    if registry.errors:
        raise ContractError(registry.errors)
    return registry, project


def chosen_keys(registry: Registry, words: Iterable[str]) -> list[Key]:
    """The contracts that are meant, in the order of the graph; without words, all that are enabled."""
    names = [_name_of(word, registry) for word in words]
    chosen = registry.select(names) if names else {c.key for c in registry if c.place.enabled}
    return [key for level in registry.graph.levels for key in level if key in chosen]


def _name_of(word: str, registry: Registry) -> str:
    if not word.endswith((".yaml", ".yml")):
        return word
    path = Path(word).resolve()
    return next(("/".join(c.key) for c in registry if c.place.path == path), word)


def _run(
    registry: Registry, keys: list[Key], project: Project, *, day: str | None, parallel: int | None,
    example_data: bool, quiet: bool,
) -> dict[Key, Progress[RunReport]]:  # fmt: skip
    from lakelogic_assets.plan.window import Window
    from lakelogic_assets.spark.pipeline import run_contracts
    from lakelogic_assets.spark.session import local_session
    from lakelogic_assets.spark.workspace import Workspace

    workspace = Workspace(project)
    if not quiet:
        say("starting Spark …")
    spark = local_session(conf=workspace.spark_conf)
    if example_data:
        make_data(registry, workspace, spark, EXAMPLE_DAYS, quiet=quiet)
    window = Window.day(day) if day else Window.full()
    tell = (lambda _: None) if quiet else _tell
    return run_contracts(registry, keys, workspace, spark, window=window, parallel=parallel, tell=tell)


def make_data(
    registry: Registry, workspace: Workspace, spark: SparkSession, days: Sequence[date], *, quiet: bool
) -> None:
    """Landing files made from the contracts, and a line that says so."""
    from lakelogic_assets.authoring.landing import make_landing_data

    report = make_landing_data(registry, workspace.project, storage_root=workspace.root, days=days, spark=spark)
    if not quiet:
        files = counted(len(report.files), "landing file")
        say(f"made {report.rows:,} rows in {files}, {report.broken:,} of them broken on purpose")


def _tell(progress: Progress[RunReport]) -> None:
    name = "/".join(progress.key)
    if progress.state == "started":
        say(f"  … {name}")
    elif progress.state == "held":
        say(f"  ‖ {name}: held back, waits for {', '.join('/'.join(key) for key in progress.waits_for)}")
    elif progress.error is not None:
        say(f"  ✗ {progress.error}")
    elif progress.result is not None:
        report = progress.result
        mark = "✓" if progress.state == "done" else "✗"
        why = f" ({'; '.join(report.reasons)})" if report.reasons else ""
        rows = f"{report.counts.good:,} good, {report.counts.quarantined:,} quarantined"
        say(f"  {mark} {name}: {report.status}{why}, {rows}, {report.seconds:.1f} s")


def _print_summary(registry: Registry, finished: Mapping[Key, Progress[RunReport]]) -> None:
    order = [key for level in registry.graph.levels for key in level if key in finished]
    print_table(COLUMNS, [_row(key, finished[key]) for key in order])


def _row(key: Key, progress: Progress[RunReport]) -> tuple[str, ...]:
    report = progress.result
    if report is None:
        return ("/".join(key), "", "", "", "", "", "", progress.state)
    counts = report.counts
    checks = len(report.row_rules) + len(report.dataset_rules)
    failed = len(report.failed_row_rules) + len(report.failed_dataset_rules)
    shown = f"{checks - failed}/{checks}" if checks else "-"
    numbers = (f"{counts.source:,}", f"{counts.good:,}", f"{counts.quarantined:,}", f"{counts.dropped:,}", shown)
    return ("/".join(key), *numbers, f"{report.seconds:.1f}", report.status)


def _as_dict(key: Key, progress: Progress[RunReport]) -> dict[str, Any]:
    return {
        "asset": "/".join(key),
        "state": progress.state,
        "waits_for": ["/".join(each) for each in progress.waits_for],
        "error": str(progress.error) if progress.error else None,
        "report": progress.result.as_dict() if progress.result else None,
    }

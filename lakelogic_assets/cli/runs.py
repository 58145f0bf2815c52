"""`lakelogic runs`: what operators asked for, when, and what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.summary import print_table
from lakelogic_assets.errors import LakeLogicError

if TYPE_CHECKING:
    from lakelogic_assets.report.pipeline import TaskLine
    from lakelogic_assets.spark.pipeline_log import PipelineRun
    from lakelogic_assets.spark.workspace import Workspace

_RUNS = ("run", "started (UTC)", "by", "asked", "done", "failed", "held", "seconds", "status")
_TASKS = ("asset", "window", "rows in", "good", "quarantined", "dropped", "seconds", "status")
_SHORT_ID = 8
_LONGEST_REQUEST = 60


def runs(
    ctx: typer.Context,
    pipeline_run_id: Annotated[
        str | None,
        typer.Argument(metavar="PIPELINE_RUN_ID", help="A run, or the beginning of its id: its tasks are shown."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many runs are listed, newest first.")] = 20,
) -> None:
    """List pipeline runs: who asked for what, and how many windows were done.

    A run that has `died` was left by its process without a word; it can be resumed like one that failed.
    """
    from lakelogic_assets.spark.pipeline_log import pipeline_log_path, pipeline_runs
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    workspace = Workspace(settings.project)
    path = pipeline_log_path(workspace.root)
    if pipeline_run_id is not None:
        run = _with_tasks(pipeline_run_id, path, workspace)
        if settings.as_json:
            say_json(run.as_dict() | {"tasks": [task.as_dict() for task in run.tasks]})
        else:
            _print_run(run)
        return
    found = pipeline_runs(path, limit)
    if settings.as_json:
        say_json([run.as_dict() for run in found])
    elif found:
        print_table(_RUNS, [_run_row(run) for run in found])
    else:
        say("no pipeline has run yet")


def asked(request: Mapping[str, Any]) -> str:
    """A request in one line, near to how it was typed; what was not said is left out."""
    said: list[str] = []
    for name, value in request.items():
        if value in (None, False, "") or (isinstance(value, list | dict) and not value):
            continue
        spoken = _spoken(value)
        said.append(spoken if name == "select" else str(name) if value is True else f"{name} {spoken}")
    return ", ".join(said) or "everything"


def _spoken(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={each}" for key, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _with_tasks(pipeline_run_id: str, path: str, workspace: Workspace) -> PipelineRun:
    """The run and its tasks; as long as it has not ended, those that its contracts have logged."""
    from lakelogic_assets.spark.pipeline_log import find, tasks_so_far

    run = find(path, pipeline_run_id)
    if run.ended_at is not None:
        return run
    return replace(run, tasks=tasks_so_far(_run_logs(workspace), run.pipeline_run_id))


def _run_logs(workspace: Workspace) -> Iterator[str]:
    """Where the contracts log their runs; one that the engine cannot run has no log."""
    from lakelogic_assets.contract.loading import load_project

    for contract in load_project(workspace.project):
        with contextlib.suppress(LakeLogicError):
            yield workspace.destination(contract).run_log


def _run_row(run: PipelineRun) -> tuple[str, ...]:
    figures = run.figures
    done = f"{figures['succeeded'] + figures['skipped']}/{figures['windows']}" if figures else ""
    failed, held = (str(figures[name]) if figures else "" for name in ("failed", "held"))
    words = asked(run.request)
    shown = words if len(words) <= _LONGEST_REQUEST else words[: _LONGEST_REQUEST - 1] + "…"
    began = f"{run.started_at:%Y-%m-%d %H:%M:%S}"
    return (run.pipeline_run_id[:_SHORT_ID], began, run.by or "", shown, done, failed, held, _seconds(run), run.status)


def _print_run(run: PipelineRun) -> None:
    ended = f" to {run.ended_at:%Y-%m-%d %H:%M:%S}" if run.ended_at else ""
    say(f"{run.pipeline_run_id}  {run.status}")
    say(f"  asked    {asked(run.request)}")
    say(f"  by       {run.by or 'nobody known'} in {run.environment or 'no environment'}")
    say(f"  when     {run.started_at:%Y-%m-%d %H:%M:%S}{ended} UTC, {_seconds(run)} s")
    if run.ended_at is None:
        say(f"  process  {run.pid} on {run.host}")
    if not run.tasks:
        say("  no window came to an end" if run.ended_at is None else "  there was nothing to do")
        return
    say("")
    print_table(_TASKS, [_task_row(task) for task in run.tasks])
    for task in run.tasks:
        if task.why:
            say(f"{task.contract} {task.window}: {task.why}")
    left = sum(not task.is_done for task in run.tasks)
    say(f"{counted(len(run.tasks), 'window')}, {left or 'none'} not done")


def _task_row(task: TaskLine) -> tuple[str, ...]:
    rows = task.counts
    numbers = (f"{number:,}" for number in (rows.source, rows.good, rows.quarantined, rows.dropped))
    return (task.contract, task.window, *numbers, f"{task.seconds:.1f}", task.status)


def _seconds(run: PipelineRun) -> str:
    """How long it took; of one that runs, so far; of one that died, nobody knows."""
    if run.status == "died":
        return "?"
    return f"{((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds():.1f}"

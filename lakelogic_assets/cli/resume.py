"""`lakelogic resume`: goes on with a pipeline run that failed or died, from the logs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.printing import complain, say
from lakelogic_assets.cli.selecting import Chosen, chosen, found
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import NotFoundError, RequestError

if TYPE_CHECKING:
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.plan.campaign import Task
    from lakelogic_assets.project import Project
    from lakelogic_assets.spark.pipeline_log import PipelineRun


def resume(
    ctx: typer.Context,
    pipeline_run_id: Annotated[
        str | None, typer.Argument(metavar="PIPELINE_RUN_ID", help="Which run; else the newest with something left.")
    ] = None,
    dry_run: options.DryRun = False,
    parallel: options.Parallel = None,
    ignore_gates: options.IgnoreGates = False,
) -> None:
    """Run what a failed pipeline run has not done; what succeeded in it is not run again.

    It is asked for in the words of the first call: the same contracts, windows, packs and overrides.
    """
    from lakelogic_assets.cli.operating import carry_out
    from lakelogic_assets.spark.pipeline_log import find, pipeline_log_path, unfinished
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    path = pipeline_log_path(Workspace(settings.project).root)
    run = find(path, pipeline_run_id) if pipeline_run_id else unfinished(path, None, settings.project.environment)
    if run is None or run.status == "success":
        say("There is nothing to resume.")
        raise typer.Exit(0)
    operation = resumption(
        run, settings.project, as_json=settings.as_json, parallel=parallel, ignore_gates=ignore_gates
    )
    raise typer.Exit(carry_out(operation, dry_run=dry_run))


def refuse_alive(run: PipelineRun) -> None:
    if run.is_alive:
        raise RequestError(f"The run {run.pipeline_run_id[:8]} is still at work in process {run.pid}; wait for it.")


def resumption(
    run: PipelineRun,
    project: Project,
    *,
    as_json: bool = False,
    parallel: int | None = None,
    ignore_gates: bool = False,
) -> Operation:
    """The same request again, without what it has done; its run id goes on."""
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.contract.left_out import sort_contracts
    from lakelogic_assets.plan.campaign import Task
    from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
    from lakelogic_assets.spark.workspace import Workspace

    refuse_alive(run)
    said = run.request
    request = PipelineRequest.from_dict(said)
    tasks = [Task.from_dict(each) for each in said.get("tasks", ())]
    meant = _still_there(project, request.select, tasks, said)
    runnable = {contract.key for contract in sort_contracts(meant.registry, meant.project).sound}
    gone = dict.fromkeys("/".join(task.key) for task in tasks if task.key not in runnable)
    if gone:
        complain(f"The project no longer runs {', '.join(gone)}, so nothing of that is resumed.")
    policy = RunPolicy.from_dict(said.get("policy", {}))
    return Operation(
        meant.registry,
        Workspace(meant.project),
        meant.keys,
        request,
        replace(policy, parallel=parallel or policy.parallel, ignore_gates=ignore_gates or policy.ignore_gates),
        said=meant.said,
        as_json=as_json,
        resumes=run.pipeline_run_id,
        tasks=[task for task in tasks if task.key in runnable],
        left_out=meant.left_out,
    )


def _still_there(project: Project, select: Sequence[str], tasks: Sequence[Task], said: Mapping[str, Any]) -> Chosen:
    """What was selected; where a name of it is gone, what the tasks are about and is still there."""
    words = {"overrides": said.get("set"), "packs": said.get("packs"), "pack_folder": said.get("pack_folder")}
    try:
        return chosen(project, select, **words)
    except NotFoundError:
        registry, _ = found(project, ())
        names = dict.fromkeys("/".join(task.key) for task in tasks if task.key in registry.contracts)
        if not names:
            raise RequestError("The project has no contract of that run any more; start a new one.") from None
        return chosen(project, [*names], **words)

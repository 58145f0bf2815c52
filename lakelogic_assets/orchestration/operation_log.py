"""What operators' jobs do, in the log of pipeline runs, so that `lakelogic runs` and `lakelogic resume` know of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets.orchestration.engine import Attempt, Engine
from lakelogic_assets.orchestration.options import PolicyOptions
from lakelogic_assets.plan.campaign import Campaign, Task
from lakelogic_assets.plan.request import PipelineRequest, RunPolicy
from lakelogic_assets.report.pipeline import PipelineReport, TaskLine, first_line, pipeline_report, task_of
from lakelogic_assets.spark.lineage import created_by
from lakelogic_assets.spark.pipeline_log import note_end, note_start, pipeline_log_path


@dataclass
class OperationLog:
    """One job on its way: its tasks, and what came of each so far."""

    engine: Engine
    run_id: str
    asked: Mapping[str, Any]
    """The words of the config as the command line would have said them."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    lines: dict[Task, TaskLine] = field(default_factory=dict)

    @contextmanager
    def kept(self, campaign: Campaign) -> Iterator[None]:
        """Note the start and, however it ends, the end; a process that is killed leaves the start."""
        path = pipeline_log_path(self.engine.workspace.root)
        self.asked = {**self.asked, "tasks": [task.as_dict() for task in campaign.tasks]}
        self.expect(campaign)
        note_start(path, self._report(None))
        try:
            yield
        finally:
            note_end(path, self._report(datetime.now(UTC)))

    def expect(self, campaign: Campaign) -> None:
        for task in campaign.tasks:
            self.lines[task] = TaskLine("/".join(task.key), task.window.key, "waiting")

    def tell(self, task: Task, attempt: Attempt, *, held: bool) -> None:
        """What became of a task; `held` where it was not even tried."""
        name, window, why = "/".join(task.key), task.window.key, attempt.trouble or ""
        if attempt.report is not None:
            self.lines[task] = task_of(attempt.report)
        elif held:
            self.lines[task] = TaskLine(name, window, "held", reasons=(why,))
        else:
            self.lines[task] = TaskLine(name, window, "failed", error=first_line(why))

    def _report(self, ended_at: datetime | None) -> PipelineReport:
        return pipeline_report(
            self.run_id,
            self.lines.values(),
            started_at=self.started_at,
            ended_at=ended_at,
            environment=self.engine.workspace.project.environment,
            by=created_by(os.environ),
            request=self.asked,
        )


def words_of(
    engine: Engine, request: PipelineRequest, policy: RunPolicy, config: PolicyOptions, names: list[str]
) -> dict[str, Any]:
    """What a job was asked for, in the words that the command line keeps."""
    folder = config.policy_pack_dir
    said = {
        "set": [f"{key}={json.dumps(value)}" for key, value in config.set_values.items()],
        "packs": [*config.policy_pack],
        "pack_folder": str(engine.workspace.project.root / folder) if folder else None,
    }
    spoken = {name: value for name, value in said.items() if value}
    return {**request.as_dict(), "select": names, "policy": policy.as_dict(), **spoken}

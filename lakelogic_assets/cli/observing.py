"""Who else wants to know of a pipeline run: a state file, a summary table, metrics in a file or on a port."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic_assets.cli.printing import say
from lakelogic_assets.errors import RequestError

if TYPE_CHECKING:
    from lakelogic_assets.cli.metrics_server import MetricsServer
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.report.pipeline import PipelineReport


METRICS_FILE = "pipeline_metrics.json"
"""The name of the figures beside the log of pipeline runs, where no other place is said."""


@dataclass(frozen=True, slots=True)
class Outputs:
    state: Path | None = None
    summary_table: str | None = None
    summary_backend: str | None = None
    summary_database: Path | None = None
    metrics_path: Path | None = None
    serve: tuple[str, int] | None = None
    linger: str = "0s"

    @property
    def summarizes(self) -> bool:
        """Whoever says where or how wants a summary."""
        return any((self.summary_table, self.summary_backend, self.summary_database))


def state_of(path: Path | None) -> str | None:
    """The pipeline run that a state file names."""
    if path is None or not path.is_file():
        return None
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["pipeline_run_id"])
    except (ValueError, KeyError, TypeError):
        raise RequestError(f"{path} is not the state of a run; remove it, or leave out --state-path.") from None


@contextmanager
def watched(operation: Operation, outputs: Outputs) -> Iterator[Operation]:
    """The operation with everybody told who asked for it; what could not be told is refused before anything runs."""
    from lakelogic_assets.contract.base import period_seconds
    from lakelogic_assets.spark.summary import check_backend

    if outputs.summarizes:
        check_backend(outputs.summary_backend or "delta", outputs.summary_database)
    if outputs.serve is None:
        yield replace(operation, observers=(_Watcher(operation, outputs, None).see,))
        return
    from lakelogic_assets.cli.metrics_server import MetricsServer

    with MetricsServer(*outputs.serve) as server:
        if not operation.as_json:
            say(f"metrics on {server.url}")
        try:
            yield replace(operation, observers=(_Watcher(operation, outputs, server).see,))
        finally:
            server.linger(period_seconds(outputs.linger) or 0.0)


@dataclass(frozen=True)
class _Watcher:
    operation: Operation
    outputs: Outputs
    server: MetricsServer | None

    def see(self, report: PipelineReport, runs: Sequence[Any]) -> None:
        from lakelogic_assets.report.files import write_atomically
        from lakelogic_assets.report.metrics import metrics_of, write_metrics

        outputs = self.outputs
        if outputs.state is not None:
            done = [[task.contract, task.window] for task in report.tasks if task.is_done]
            state = {"pipeline_run_id": report.pipeline_run_id, "status": report.status, "done": done}
            outputs.state.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(outputs.state, json.dumps(state, indent=2))
        if self.server is not None or outputs.metrics_path is not None:
            metrics = metrics_of(report, runs)
            if self.server is not None:
                self.server.update(metrics)
            if outputs.metrics_path is not None and report.ended_at is not None:
                write_metrics(outputs.metrics_path, report, metrics)
                if not self.operation.as_json:
                    say(f"metrics in {outputs.metrics_path}")
        if report.ended_at is not None and outputs.summarizes:
            self._summarize(report)

    def _summarize(self, report: PipelineReport) -> None:
        from lakelogic_assets.spark.summary import DEFAULT_TABLE, write_summary

        workspace, outputs = self.operation.workspace, self.outputs
        where = write_summary(
            report,
            workspace.lakehouse(),
            table=outputs.summary_table or DEFAULT_TABLE,
            backend=outputs.summary_backend or "delta",
            database=outputs.summary_database,
        )
        if not self.operation.as_json:
            say(f"summary row in {where}")

"""DataProcessor: a contract from Python, without Dagster."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_contract, tree_of
from lakelogic_assets.plan.window import Window
from lakelogic_assets.project import DEFAULT_ENVIRONMENT, ENVIRONMENT_VARIABLE, Project, find_project
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.execute import execute
from lakelogic_assets.spark.frames import DataFrame, SparkSession
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.session import open_session
from lakelogic_assets.spark.validate import judge_frame
from lakelogic_assets.spark.workspace import Workspace


@dataclass(frozen=True)
class Outcome:
    """What a contract makes of some rows: nothing of it is written anywhere."""

    good: DataFrame
    bad: DataFrame
    report: RunReport


class DataProcessor:
    """Runs one contract. Relative paths inside the contract are relative to its file."""

    def __init__(
        self,
        contract: str | os.PathLike[str] | Contract,
        *,
        spark: SparkSession | None = None,
        target: str | os.PathLike[str] | None = None,
        environment: str | None = None,
    ) -> None:
        environment = environment or os.environ.get(ENVIRONMENT_VARIABLE) or DEFAULT_ENVIRONMENT
        if isinstance(contract, Contract):
            self.contract = contract
            self.workspace = Workspace(_project_of(contract, environment))
        else:
            project = _around(Path(contract).resolve(), environment)
            self.contract = load_contract(Path(contract), project)
            self.workspace = Workspace(project)
        self._spark = spark
        self._target = Path(target) if target is not None else None

    @property
    def spark(self) -> SparkSession:
        """The session that was given, else that of this process, which is a new one after its JVM has died."""
        return self._spark or open_session(self.workspace.spark_conf)

    @property
    def destination(self) -> Destination:
        """Where the table, the quarantine and the log of this contract are."""
        return self.workspace.destination(self.contract, self._target)

    def validate(self, frame: DataFrame) -> Outcome:
        """Judge rows of your own; nothing is written."""
        lakehouse = self.workspace.lakehouse(self.contract)
        good, bad, report = judge_frame(self.contract, self.spark, lakehouse, self._request(frame))
        return Outcome(good, bad, report)

    def run(
        self,
        frame: DataFrame | None = None,
        *,
        window: Window | None = None,
        pipeline_run_id: str | None = None,
        reprocess: bool = False,
    ) -> RunReport:
        """Read the declared source (or `frame`), write target and quarantine, log the run.

        Rows of a `frame` that are appended replace those that the same `pipeline_run_id` has appended before.
        With `reprocess`, rows of the window that the source no longer has give way, by the contract's policy.
        """
        lakehouse = self.workspace.lakehouse(self.contract)
        request = replace(self._request(frame, window, pipeline_run_id), reprocess=reprocess)
        return execute(self.contract, self.spark, lakehouse, self.destination, request)

    def _request(
        self, frame: DataFrame | None, window: Window | None = None, pipeline_run_id: str | None = None
    ) -> RunRequest:
        return RunRequest(
            window=window or Window.full(),
            frame=frame,
            pipeline_run_id=pipeline_run_id,
            external_logic=self.workspace.logic_policy,
            environment=self.workspace.project.environment,
        )


def _project_of(contract: Contract, environment: str) -> Project:
    return _around(contract.place.path, environment) if contract.place.path else find_project(environment=environment)


def _around(path: Path, environment: str) -> Project:
    """The project a contract stands in: above its registries, and above the `contracts/` that holds them."""
    tree = tree_of(path)
    top = tree if tree.is_dir() else path.parent
    return Project(next((each.parent for each in (top, *top.parents) if each.name == "contracts"), top), environment)

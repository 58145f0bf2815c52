"""A project as the engine sees it: where its tables are and what it lets contracts do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import (
    DEFAULT_LAKE,
    Declarations,
    ExternalLogicPolicy,
    Orchestration,
    load_declarations,
)
from lakelogic_assets.contract.roots import declared_folders
from lakelogic_assets.errors import ContractError, ProjectError
from lakelogic_assets.plan.request import RunPolicy
from lakelogic_assets.project import Project
from lakelogic_assets.spark.destination import Destination, destination
from lakelogic_assets.spark.tables import Lakehouse, is_uri


@dataclass(frozen=True)
class Workspace:
    project: Project

    @cached_property
    def declarations(self) -> Declarations:
        """The project's resources and partitions; a broken one is an error before anything runs."""
        found = load_declarations(self.project, os.environ)
        if any(problem.is_error for problem in found.problems):
            raise ContractError([problem for problem in found.problems if problem.is_error])
        return found

    @property
    def root(self) -> Path:
        """The folder that holds all tables."""
        said = self.declarations.values.get("storage_root") or DEFAULT_LAKE
        if is_uri(said):
            raise ProjectError(
                f"`storage_root` is the address {said}, but the run log, the locks and the notes of runs need a folder:"
                " name one that all machines mount, and single tables elsewhere by `materialization.target_path`."
            )
        return Path(said) if Path(said).is_absolute() else self.project.root / said

    @property
    def logic_policy(self) -> ExternalLogicPolicy:
        """What resources/ allow; a project without resources trusts the code beside its contracts."""
        active = self.declarations.active
        if active is not None:
            return active.external_logic
        return ExternalLogicPolicy(allowed=not self.project.resource_files, roots=(".",))

    @property
    def spark_conf(self) -> Mapping[str, str]:
        """Where Spark works and how, as the active resource says; empty where nothing is said."""
        active = self.declarations.active
        return active.spark.settings if active else {}

    @property
    def usual_policy(self) -> RunPolicy:
        """How runs go here when nobody says otherwise."""
        active = self.declarations.active
        said = active.dagster if active else Orchestration()
        return RunPolicy(retries=said.retries, retry_seconds=said.retry_seconds)

    @cached_property
    def elsewhere(self) -> tuple[Path, ...]:
        """Folders outside of project and lake that contracts may name."""
        said = {**self.declarations.values, **self.project.values}
        return declared_folders(said, os.environ, self.project.root)

    def lakehouse(self, contract: Contract | None = None) -> Lakehouse:
        folder = contract.place.path.parent if contract and contract.place.path else None
        return Lakehouse(
            self.root,
            project_root=self.project.root,
            contract_folder=folder,
            elsewhere=self.elsewhere,
            reads_anywhere=self.project.stands_alone,
        )

    def destination(self, contract: Contract, target: Path | None = None) -> Destination:
        return destination(contract, self.lakehouse(contract), target)

"""A project as the engine sees it: where its tables are and what it lets contracts do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.resources import Declarations, ExternalLogicPolicy, load_declarations
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project
from lakelogic_assets.spark.destination import Destination, destination
from lakelogic_assets.spark.tables import Lakehouse

DEFAULT_LAKE = ".lakehouse"


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
        active = self.declarations.active
        conf = active.spark.conf if active else {}
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}

    def lakehouse(self, contract: Contract) -> Lakehouse:
        folder = contract.place.path.parent if contract.place.path else None
        return Lakehouse(self.root, project_root=self.project.root, contract_folder=folder)

    def destination(self, contract: Contract, target: Path | None = None) -> Destination:
        return destination(contract, self.lakehouse(contract), target)

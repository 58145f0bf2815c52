"""`LakeLogicContractsComponent`: a folder of contracts inside another Dagster project, in five lines of YAML."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import dagster as dg

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.orchestration.translator import ContractTranslator
from lakelogic_assets.project import DEFAULT_ENVIRONMENT, Project


@dataclass
class LakeLogicContractsComponent(dg.Component, dg.Resolvable):
    """Every contract of a folder as an asset, with its checks, partitions, sensors and jobs.

    A thin shell over `build_definitions`; override `translator` to change what assets look like.
    """

    project: str
    """The folder with `contracts/`, `resources/` and `partitions/`; relative to the YAML that names it."""
    environment: str = DEFAULT_ENVIRONMENT
    include: Sequence[str] = ()
    """Globs over `domain/table`; without any, all contracts."""
    exclude: Sequence[str] = ()

    @property
    def translator(self) -> ContractTranslator:
        return ContractTranslator()

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        project = Project((Path(context.path) / self.project).resolve(), self.environment)
        return build_definitions(project, self.translator, self._chosen(load_project(project)))

    def _chosen(self, registry: Registry) -> Registry:
        """Contracts that are not wanted here are switched off: others may still wait for their tables."""
        contracts = {
            key: contract if self._wants("/".join(key)) else contract.with_place(replace(contract.place, enabled=False))
            for key, contract in registry.contracts.items()
        }
        return replace(registry, contracts=contracts)

    def _wants(self, name: str) -> bool:
        included = not self.include or any(fnmatchcase(name, glob) for glob in self.include)
        return included and not any(fnmatchcase(name, glob) for glob in self.exclude)

"""Every YAML data contract becomes a running, checked, documented data product.

Importing this package starts neither Spark nor Dagster: public names load on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakelogic_assets.contract.document import Contract
    from lakelogic_assets.contract.loading import load_contract, load_project
    from lakelogic_assets.contract.problems import Problem
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.errors import ContractError, LakeLogicError
    from lakelogic_assets.plan.window import Window
    from lakelogic_assets.processor import DataProcessor
    from lakelogic_assets.project import Project
    from lakelogic_assets.report.run import RunReport

_HOMES = {
    "Contract": "lakelogic_assets.contract.document",
    "ContractError": "lakelogic_assets.errors",
    "DataProcessor": "lakelogic_assets.processor",
    "LakeLogicError": "lakelogic_assets.errors",
    "Problem": "lakelogic_assets.contract.problems",
    "Project": "lakelogic_assets.project",
    "Registry": "lakelogic_assets.contract.registry",
    "RunReport": "lakelogic_assets.report.run",
    "Window": "lakelogic_assets.plan.window",
    "load_contract": "lakelogic_assets.contract.loading",
    "load_project": "lakelogic_assets.contract.loading",
}

__all__ = [
    "Contract",
    "ContractError",
    "DataProcessor",
    "LakeLogicError",
    "Problem",
    "Project",
    "Registry",
    "RunReport",
    "Window",
    "load_contract",
    "load_project",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))

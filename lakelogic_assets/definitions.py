"""The Dagster code location: every contract of the project as an asset of its graph."""

import dagster as dg

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.orchestration.translator import ContractTranslator


def definitions(registry: Registry, translator: ContractTranslator | None = None) -> dg.Definitions:
    """The project's graph; a project with errors is refused, with every problem in the message."""
    if registry.errors:
        raise ContractError(registry.errors)
    translator = translator or ContractTranslator()
    enabled = {contract.key: contract for contract in registry if contract.place.enabled}
    upstream = registry.graph.upstream
    specs = [translator.asset_spec(contract, upstream[key]) for key, contract in enabled.items()]
    return dg.Definitions(assets=specs)


defs = definitions(load_project())

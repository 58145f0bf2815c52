"""`environments:` of a contract: the same source elsewhere, in another environment."""

from __future__ import annotations

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import Source


def in_environment(contract: Contract, environment: str | None) -> Contract:
    """The contract with the path and the format that its source has in the environment."""
    override = contract.environments.get(environment) if environment else None
    if override is None:
        return contract
    source = contract.source or Source(type="landing")
    said = {"path": override.path, "format": override.format or source.format}
    return contract.model_copy(update={"source": source.model_copy(update=said)}).with_place(contract.place)

"""Contracts with errors as Dagster shows them: beside the others, with the reason, and not to be run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.left_out import LeftOut, sort_contracts
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.orchestration.naming import asset_key, safe_name
from lakelogic_assets.project import Project

STRICT_VARIABLE = "LAKELOGIC_STRICT"
TAG = "lakelogic/left_out"


@dataclass(frozen=True)
class Sorted:
    """The contracts that can run, and what stands in the place of those that cannot."""

    sound: tuple[Contract, ...]
    left_out: tuple[dg.AssetSpec, ...]


def sort_out(registry: Registry, project: Project) -> Sorted:
    """Keep every contract that no error touches; in strict mode any error is raised."""
    if registry.errors and os.environ.get(STRICT_VARIABLE) == "1":
        raise ContractError(registry.errors)
    found = sort_contracts(registry, project)
    taken = {asset_key(contract.key) for contract in found.sound}
    return Sorted(found.sound, tuple(_specs(found.left_out, taken, project)))


def _specs(left_out: tuple[LeftOut, ...], taken: set[dg.AssetKey], project: Project) -> Iterator[dg.AssetSpec]:
    for each in left_out:
        key = asset_key(each.key)
        if key in taken:
            # Two files of one name: the path tells them apart.
            key = dg.AssetKey([*key.path[:-1], safe_name(f"{key.path[-1]} {each.file}")])
        taken.add(key)
        yield _spec(key, each.reasons(project))


def _spec(key: dg.AssetKey, told: list[str]) -> dg.AssetSpec:
    lines = "\n".join(f"- {line}" for line in told)
    return dg.AssetSpec(
        key,
        description=f"**Left out:** this contract has errors and cannot run.\n\n{lines}",
        group_name=safe_name(key.path[0]) if len(key.path) > 1 else None,
        tags={TAG: "yes"},
        metadata={"problems": told},
    )

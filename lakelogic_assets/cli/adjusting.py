"""`--set`, `--policy-pack` and `--policy-pack-dir`: what is said for one call and stands in no file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.project import Project

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the contract for this call, as source.path=data/x."),
]
PackOption = Annotated[
    list[str] | None, typer.Option("--policy-pack", metavar="NAME", help="Lay a policy pack under the contracts.")
]
PackFolderOption = Annotated[
    str | None, typer.Option("--policy-pack-dir", metavar="DIR", help="Look for policy packs here first.")
]


def with_overrides(
    registry: Registry, project: Project, texts: Iterable[str] | None, keys: Collection[Key] | None = None
) -> Registry:
    """The registry with what was set laid over the chosen contracts, or over all; its problems tell what did not fit.

    Raises ContractError where something cannot be read or may not be set at all.
    """
    if not texts:
        return registry
    from lakelogic_assets.contract.overrides import overridden, parse_overrides

    return overridden(registry, parse_overrides(texts), project, keys)

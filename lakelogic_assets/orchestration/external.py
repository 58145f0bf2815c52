"""What contracts read and no contract makes: landing folders and tables of others, as assets nobody here runs."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from lakelogic_assets.contract.source import plain_table
from lakelogic_assets.orchestration.naming import group_name, safe_name
from lakelogic_assets.orchestration.product import Product


def external_keys(product: Product) -> list[dg.AssetKey]:
    """The sources outside of the graph: tables by name, and the place where files land."""
    tables = [_table_key(name) for name in product.external]
    landing = landing_key(product)
    return [*tables, *([landing] if landing else [])]


def landing_key(product: Product) -> dg.AssetKey | None:
    """The folder, file, database or service that a contract reads directly."""
    contract = product.contract
    if contract.source is None or contract.source.table is not None:
        return None
    owner = [safe_name(contract.domain)] if contract.domain else []
    name = contract.table.removeprefix(f"{contract.layer}_")
    return dg.AssetKey(["source", *owner, safe_name(name)])


def external_specs(products: Iterable[Product]) -> list[dg.AssetSpec]:
    """One asset for each source, however many contracts read it."""
    specs: dict[dg.AssetKey, dg.AssetSpec] = {}
    for product in products:
        for name in product.external:
            key = _table_key(name)
            told = f"The table {plain_table(name)}, made elsewhere."
            specs.setdefault(key, dg.AssetSpec(key, description=told, kinds={"table"}))
        landing = landing_key(product)
        source = product.contract.source
        if landing is not None and source is not None:
            said = source.path or source.query or source.type
            specs[landing] = dg.AssetSpec(
                landing,
                description=f"{source.type}: {said}",
                group_name=group_name(product.contract.domain),
                kinds={source.format} if source.format else {"file"},
                metadata={"dagster/uri": said},
            )
    return [*specs.values()]


def _table_key(name: str) -> dg.AssetKey:
    return dg.AssetKey(["source", *(safe_name(part) for part in plain_table(name).split("."))])

"""Which files are the source of tables that keep every version of a row."""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic_assets.authoring.synthetic.tracing import traced_back
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry


def kept_in_history(registry: Registry) -> Mapping[Key, frozenset[str]]:
    """Contracts whose files SCD2 tables are built from → the columns of those files that begin a new version."""
    found: dict[Key, frozenset[str]] = {}
    for contract in registry:
        scd2 = contract.scd2 if contract.place.enabled else None
        if scd2 is None:
            continue
        owners = {landing.key for landing, _ in _traced(registry, contract, contract.business_key)}
        tracked = _traced(registry, contract, scd2.track_columns)
        for key in owners:
            columns = frozenset(column for landing, column in tracked if landing.key == key)
            found[key] = found.get(key, frozenset()) | columns
    return found


def _traced(registry: Registry, contract: Contract, names: tuple[str, ...]) -> list[tuple[Contract, str]]:
    found = (traced_back(registry, contract, name) for name in names)
    return [each for each in found if each is not None]

"""A contract's fingerprint: two contracts with the same one make the same table from the same rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.model import FieldDefinition, Model
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.transformations import MapValues, Transformation

# Prose, people and promises: they change what others know about the table, never what is in it.
_ABOUT_THE_TABLE = frozenset(
    """
    version compliance downstream extensions frequency metadata notifications observatory ownership schedule
    service_levels upstream upstream_contracts upstream_sources contract_file_name tier
    """.split()
)
_PROSE: dict[type[BaseModel], frozenset[str]] = {
    FieldDefinition: frozenset({"classification", "foreign_key", "security_groups", "tags"}),
    Model: frozenset({"grain"}),
    Quarantine: frozenset({"notifications", "notifications_enabled", "strict_notifications"}),
    Transformation: frozenset({"name"}),
}
_IDENTITY = ("table_name", "dataset", "domain", "system")
_KEPT_METADATA = "quarantine_"
# Most values of a contract, told before the dearer questions are asked.
_SCALARS = frozenset({str, int, float, bool, type(None)})


def fingerprint(contract: Contract) -> str:
    """64 hex digits over everything in a resolved contract that can change its data.

    Key order, comments and values that repeat a default do not count; the code of `external_logic` does.
    """
    text = json.dumps(essence(contract), sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def essence(contract: Contract) -> dict[str, Any]:
    """What the fingerprint is made of."""
    parts = {name: value for name, value in _fields(contract).items() if name not in _ABOUT_THE_TABLE}
    parts["key"] = list(contract.key)
    parts["layer"] = contract.layer
    parts["info"] = {name: value for name, value in _fields(contract.info).items() if name in _IDENTITY}
    # Which stamps are written depends on which were named, not only on their values.
    parts["lineage"] = {**_fields(contract.lineage), "columns": contract.lineage.columns}
    parts["metadata"] = {key: value for key, value in contract.metadata.items() if key.startswith(_KEPT_METADATA)}
    if contract.external_logic is not None:
        parts["external_code"] = _code_of(contract)
    return parts


def _fields(section: BaseModel) -> dict[str, Any]:
    """The section's fields that differ from their defaults, and its free keys."""
    # What nobody wrote has its default, so only what was set needs a look.
    set_here, values = section.model_fields_set, section.__dict__
    said = {
        name: _plain(value)
        for name, default in _defaults(type(section))
        if name in set_here and ((value := values[name]) != default or _is_telling(section, name))
    }
    return said | {key: _plain(value) for key, value in (section.model_extra or {}).items()}


@cache
def _defaults(kind: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """The fields of a section that can change data, with their defaults."""
    prose = _PROSE.get(kind, frozenset())
    return tuple(
        (name, field.get_default(call_default_factory=True))
        for name, field in kind.model_fields.items()
        if name != "description" and name not in prose
    )


def _is_telling(section: BaseModel, name: str) -> bool:
    """`default: null` in `map_values` empties what has no mapping; leaving it out keeps the value."""
    return isinstance(section, MapValues) and name == "default" and section.has_default


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, BaseModel):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _code_of(contract: Contract) -> str | None:
    """The hash of the script beside the contract; None where it is deployed elsewhere."""
    logic, path = contract.external_logic, contract.place.path
    if logic is None or path is None:
        return None
    try:
        return hashlib.sha256((path.parent / logic.path).read_bytes()).hexdigest()
    except OSError:
        return None

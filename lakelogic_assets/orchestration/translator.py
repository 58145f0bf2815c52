"""A contract as Dagster knows it. Users change the picture by overriding `ContractTranslator.asset_spec`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

import dagster as dg

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.contract.graph import Key

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z")
_NOT_IN_GROUPS = re.compile(r"[^A-Za-z0-9_]+")


class ContractTranslator:
    """One override point: what asset a contract is."""

    def asset_spec(self, contract: Contract, upstream: Iterable[Key]) -> dg.AssetSpec:
        """The asset of a contract; `upstream` are the contracts it waits for."""
        return dg.AssetSpec(
            key=dg.AssetKey([*contract.key]),
            deps=[dg.AssetKey([*key]) for key in upstream],
            description=contract.info.description or contract.info.title,
            group_name=_NOT_IN_GROUPS.sub("_", contract.domain) if contract.domain else None,
            owners=_owners(contract),
            kinds={"spark", "deltalake", *([contract.layer] if contract.layer else [])},
            code_version=fingerprint(contract)[:16],
            metadata=_metadata(contract),
        )


def _owners(contract: Contract) -> list[str]:
    """E-mail addresses and teams, the two kinds of owner Dagster takes."""
    ownership = contract.place.registry.get("ownership")
    block: dict[str, Any] = ownership if isinstance(ownership, dict) else {}
    found = [contract.info.owner, *(contact.get("email") for contact in block.get("contacts") or () if contact)]
    owners = [owner for owner in found if isinstance(owner, str) and _EMAIL.match(owner)]
    team = block.get("team")
    return [*dict.fromkeys(owners), *([f"team:{team}"] if isinstance(team, str) and team else [])]


def _metadata(contract: Contract) -> dict[str, Any]:
    columns = [
        dg.TableColumn(
            field.name,
            field.type,
            description=field.description,
            constraints=dg.TableColumnConstraints(nullable=not field.required),
            tags={"pii": ""} if field.is_personal else {},
        )
        for field in contract.model.fields
    ]
    metadata: dict[str, Any] = {"dagster/table_name": ".".join(contract.key)}
    if columns:
        metadata["dagster/column_schema"] = dg.TableSchema(columns)
    if contract.place.path is not None:
        metadata["dagster/code_references"] = _code_reference(str(contract.place.path))
    return metadata


def _code_reference(path: str) -> dg.CodeReferencesMetadataValue:
    with warnings.catch_warnings():
        # Beta since 1.7; without it nobody finds the YAML from the UI.
        warnings.simplefilter("ignore", dg.BetaWarning)
        place = dg.LocalFileCodeReference(file_path=path, line_number=1, label="contract")
        return dg.CodeReferencesMetadataValue(code_references=[place])

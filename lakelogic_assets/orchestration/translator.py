"""A contract as Dagster knows it. Users change the picture by overriding `ContractTranslator`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.orchestration.automation import automation_condition, freshness_policy
from lakelogic_assets.orchestration.checks import Check
from lakelogic_assets.orchestration.external import external_keys
from lakelogic_assets.orchestration.naming import asset_key, group_name, tag_value
from lakelogic_assets.orchestration.partitions import mapping_to
from lakelogic_assets.orchestration.product import Product

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z")


class ContractTranslator:
    """The one override point: what asset a contract is, and what check a rule is."""

    def asset_spec(self, product: Product) -> dg.AssetSpec:
        """The asset of a contract, with everything its page in the UI shows."""
        contract = product.contract
        return dg.AssetSpec(
            key=product.asset_key,
            deps=_deps(product),
            description=_description(contract),
            group_name=group_name(contract.domain),
            owners=_owners(contract),
            kinds={"spark", "deltalake", *([contract.layer] if contract.layer else [])},
            tags=_tags(contract),
            code_version=fingerprint(contract)[:16],
            metadata=_metadata(product),
            partitions_def=product.partitions_def,
            freshness_policy=freshness_policy(contract),
            automation_condition=automation_condition(product),
        )

    def check_spec(self, product: Product, check: Check) -> dg.AssetCheckSpec:
        """The check of a rule. It holds downstream back where the rule is a gate."""
        return dg.AssetCheckSpec(
            name=check.name,
            asset=product.asset_key,
            description=check.description,
            blocking=check.blocking,
            partitions_def=product.partitions_def,
        )


def _deps(product: Product) -> list[dg.AssetDep]:
    own = [
        dg.AssetDep(
            asset_key(key),
            partition_mapping=mapping_to(product.contract, product.partitions, product.upstream_partitions.get(key)),
        )
        for key in product.upstream
    ]
    return [*own, *(dg.AssetDep(key) for key in external_keys(product))]


def _description(contract: Contract) -> str | None:
    grain = f"Grain: {contract.model.grain}" if contract.model.grain else None
    parts = [contract.info.title, contract.info.description, grain]
    return "\n\n".join(" ".join(part.split()) for part in parts if part) or None


def _tags(contract: Contract) -> dict[str, str]:
    said: dict[str, str | None] = {
        "lakelogic/layer": contract.layer,
        "lakelogic/system": contract.system,
        "lakelogic/classification": contract.info.classification,
        "lakelogic/tier": contract.tier,
        "lakelogic/strategy": contract.materialization.strategy,
        "lakelogic/personal_data": "yes" if any(field.is_personal for field in contract.model.fields) else None,
    }
    return {name: tag_value(value) for name, value in said.items() if value}


def _owners(contract: Contract) -> list[str]:
    """E-mail addresses and teams, the two kinds of owner Dagster takes."""
    ownership = contract.ownership or contract.place.registry.get("ownership")
    block: Mapping[str, Any] = ownership if isinstance(ownership, Mapping) else {}
    contacts = [contact for contact in block.get("contacts") or () if isinstance(contact, Mapping)]
    found = [contract.info.owner, *(contact.get("email") for contact in contacts)]
    owners = [owner for owner in found if isinstance(owner, str) and _EMAIL.match(owner)]
    team = block.get("team")
    return [*dict.fromkeys(owners), *([f"team:{team}"] if isinstance(team, str) and team else [])]


def _metadata(product: Product) -> dict[str, Any]:
    contract = product.contract
    columns = [
        dg.TableColumn(
            field.name,
            field.type,
            description=field.description,
            constraints=dg.TableColumnConstraints(
                nullable=not field.required,
                unique=(field.name,) == contract.merge_key,
                other=[f"masked: {field.masking}"] if field.masking else None,
            ),
            tags={"pii": ""} if field.is_personal else {},
        )
        for field in contract.model.fields
    ]
    metadata: dict[str, Any] = {"dagster/table_name": product.table_name}
    if columns:
        metadata["dagster/column_schema"] = dg.TableSchema(columns)
    if product.target:
        metadata["dagster/uri"] = product.target
    if contract.place.path is not None:
        metadata["dagster/code_references"] = _code_references(contract.place.path)
    if contract.downstream:
        metadata["used_by"] = [f"{each.name} ({each.type})" for each in contract.downstream]
    return metadata


_PLACES = re.compile(r"^(model|quality|transformations)[ \t]*:", re.MULTILINE)
_LABELS = {"model": "columns", "quality": "rules", "transformations": "steps"}


def _code_references(path: Path) -> dg.CodeReferencesMetadataValue:
    """The YAML, at the lines where a person wants to land. A scan of the text: a parse would double the load."""
    text = path.read_text(encoding="utf-8", errors="replace")
    places = {"contract": 1}
    for found in _PLACES.finditer(text):
        places.setdefault(_LABELS[found[1]], text.count("\n", 0, found.start()) + 1)
    return dg.CodeReferencesMetadataValue(
        code_references=[
            dg.LocalFileCodeReference(file_path=str(path), line_number=line, label=label)
            for label, line in places.items()
        ]
    )

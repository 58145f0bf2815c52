"""What a table says of itself: its properties, and the comments of its columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import column


def described(rows: DataFrame, contract: Contract) -> DataFrame:
    """The contract's descriptions as the columns' comments."""
    texts = {field.name: field.description for field in contract.model.fields if field.description}
    if not texts:
        return rows
    return rows.select(
        *[
            column(n).alias(n, metadata={"comment": " ".join(texts[n].split())}) if n in texts else column(n)
            for n in rows.columns
        ]
    )


def declared_properties(contract: Contract, rows: DataFrame) -> dict[str, str]:
    """Table properties of the contract; statistics leave out personal data, which would outlive its deletion."""
    declared = contract.materialization.table_properties or {}
    properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in declared.items()}
    if contract.materialization.compaction and contract.materialization.compaction.auto:
        properties.setdefault("delta.autoOptimize.autoCompact", "true")
    if any(field.is_personal for field in contract.model.fields) and "delta.dataSkippingStatsColumns" not in properties:
        # A rebuilt day finds its files by the one, and who reads what is new by the other.
        stamps = [name for name in (names.WINDOW_COLUMN, names.PROCESSED_AT_COLUMN) if name in rows.columns]
        declared_ones = [name for name in _without_personal_data(contract) if name not in stamps]
        properties["delta.dataSkippingStatsColumns"] = ",".join((*declared_ones[: 32 - len(stamps)], *stamps))
    return properties


def _without_personal_data(contract: Contract) -> list[str]:
    """The columns Delta may keep minima and maxima of; it has none for partition columns and some types."""
    without = ("ARRAY", "MAP", "STRUCT", "BINARY", "VARIANT", "BOOLEAN")
    partitions = set(contract.materialization.partition_by)
    return [
        field.name
        for field in contract.model.fields
        if not (field.is_personal or field.masking or field.name in partitions)
        and field.spark_type.split("<")[0] not in without
        and field.name.replace("_", "").isalnum()
    ]


def table_properties(frame: DataFrame) -> dict[str, str]:
    """Column mapping, where a name holds letters that Parquet does not take."""
    said = json.loads(driver_of(frame.sparkSession).schema_json(frame))
    if any(letter in name for name in _names_in(said) for letter in " ,;{}()\n\t="):
        return {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
    return {}


def _names_in(kind: Any) -> Iterator[str]:
    """The names in a type, as Spark writes it in JSON, at every depth."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        yield field["name"]
        yield from _names_in(field["type"])
    for part in ("elementType", "keyType", "valueType"):
        yield from _names_in(kind.get(part))

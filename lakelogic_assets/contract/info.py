"""`info:` — what the data product is called and whose it is."""

from __future__ import annotations

from pydantic import Field

from lakelogic_assets.contract.base import LENIENT, Label, Names, Section


class Info(Section):
    title: str | None = None
    table_name: Label | None = None
    version: str = "1.0.0"
    description: str | None = None
    owner: str | None = None
    contact: str | dict[str, str] | None = None
    target_layer: str | None = None
    status: str | None = None
    classification: str | None = None
    domain: Label | None = None
    system: Label | None = None
    data_product: str | None = None
    data_product_output: str | None = None
    dataset: Label | None = Field(default=None, json_schema_extra=LENIENT)
    upstream: Names = Field(default=(), json_schema_extra=LENIENT)

"""`server:` and `schema_policy:` — how strictly the declared shape is held."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from lakelogic_assets.contract.base import LENIENT, Section
from lakelogic_assets.contract.source import PostIngestion


def _all_is_allow(value: Any) -> Any:
    """`all` is how one page of the public documentation spells `allow`."""
    return "allow" if value == "all" else value


Evolution = Annotated[
    Literal["strict", "compatible", "append", "merge", "overwrite", "allow"], BeforeValidator(_all_is_allow)
]


class SchemaPolicy(Section):
    evolution: Evolution = "allow"
    unknown_fields: Literal["allow", "drop", "quarantine"] = "allow"
    on_schema_violation: Literal["quarantine", "fail"] = "quarantine"
    missing_fields: str | None = Field(default=None, json_schema_extra=LENIENT)


class Server(Section):
    type: str | None = None
    path: str | None = None
    format: str = "parquet"
    mode: Literal["validate", "ingest"] = "validate"
    cast_to_string: bool = False
    schema_policy: SchemaPolicy | None = None
    post_ingestion: PostIngestion | None = None

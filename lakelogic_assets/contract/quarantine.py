"""`quarantine:` — where rows go that break a rule."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field

from lakelogic_assets.contract.base import LENIENT, Section
from lakelogic_assets.contract.notifications import Notification


class Quarantine(Section):
    target: str | None = None
    table: str | None = None
    location: str | None = None
    enabled: bool = True
    include_error_reason: bool = True
    strict_notifications: bool = True
    fail_on_quarantine: bool = False
    notifications_enabled: bool = True
    format: str | None = None
    write_mode: Literal["append", "overwrite"] = Field(
        default="append", validation_alias=AliasChoices("write_mode", "mode")
    )
    notifications: tuple[Notification, ...] = ()
    include_categories: bool | None = Field(default=None, json_schema_extra=LENIENT)
    dlt_destination: str | None = Field(default=None, json_schema_extra=LENIENT)
    dlt_credentials: Any = Field(default=None, json_schema_extra=LENIENT)
    dlt_dataset_name: str | None = Field(default=None, json_schema_extra=LENIENT)

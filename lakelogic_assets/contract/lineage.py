"""`lineage:` — the stamps that every row carries."""

from __future__ import annotations

from typing import Literal

from lakelogic_assets import names
from lakelogic_assets.contract.base import Names, Section

STAMPS = ("source_path", "timestamp", "run_id", "contract_name", "domain", "system", "created_at", "created_by")


class Lineage(Section):
    enabled: bool = False
    capture_source_path: bool = True
    capture_timestamp: bool = True
    capture_run_id: bool = True
    capture_contract_name: bool = True
    capture_domain: bool = True
    capture_system: bool = True
    capture_created_at: bool = True
    capture_created_by: bool = True
    source_column_name: str = names.SOURCE_COLUMN
    timestamp_column_name: str = names.PROCESSED_AT_COLUMN
    run_id_column_name: str = names.RUN_ID_COLUMN
    contract_name_column_name: str = names.CONTRACT_NAME_COLUMN
    domain_column_name: str = names.DOMAIN_COLUMN
    system_column_name: str = names.SYSTEM_COLUMN
    created_at_column_name: str = names.CREATED_AT_COLUMN
    created_by_column_name: str = names.CREATED_BY_COLUMN
    created_by_override: str | None = None
    preserve_upstream: Names = ()
    upstream_prefix: str = "_upstream"
    run_id_source: Literal["run_id", "pipeline_run_id"] = "run_id"

    @property
    def columns(self) -> dict[str, str]:
        """Stamp → column, for the stamps that are written.

        Where a contract switches any stamp on by name, only those are written; otherwise all that
        it does not switch off.
        """
        if not self.enabled:
            return {}
        written = {name: getattr(self, f"capture_{name}") for name in STAMPS}
        chosen = {name for name in STAMPS if written[name] and f"capture_{name}" in self.model_fields_set}
        return {name: self.column_of(name) for name in STAMPS if (name in chosen if chosen else written[name])}

    def column_of(self, stamp: str) -> str:
        return str(getattr(self, f"{'source' if stamp == 'source_path' else stamp}_column_name"))

    def upstream_column(self, name: str) -> str:
        """What a kept column of upstream is called: `_lakelogic_run_id` → `_upstream_lakelogic_run_id`."""
        return f"{self.upstream_prefix}{'' if name.startswith('_') else '_'}{name}"

    @property
    def kept_columns(self) -> dict[str, str]:
        """Columns of upstream that are kept → what they are called here."""
        return {name: self.upstream_column(name) for name in self.preserve_upstream} if self.enabled else {}

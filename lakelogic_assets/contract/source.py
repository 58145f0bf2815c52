"""`source:` and `links:` — where rows come from and what they are looked up in.

With `load_mode: incremental` a run reads what is new. Of a table that is told by `watermark_field`, else by the stamp
`_lakelogic_processed_at`, by the `cdc_timestamp_field` of a feed or by `watermark_date_parts`; where a table has none
of these, by its versions, with a warning. Of files it is told by the files themselves: all rows of a file that no run
has read are new, also where they are older than the newest row of the target, since a `watermark_field` that left
them out would lose what comes late. For files it says which column cuts windows out. Files that repeat the rows of
earlier ones want `strategy: merge`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from lakelogic_assets.contract.base import LENIENT, Bag, DateText, Days, Name, Names, Period, Section, problem

FileFormat = Literal[
    "csv", "tsv", "json", "jsonl", "ndjson", "parquet", "avro", "orc", "xml", "delta", "iceberg", "text", "pdf",
    "excel", "xlsx", "fixed_width", "table",
]  # fmt: skip
SOURCE_TYPES = (
    "landing", "file", "files", "local", "table", "delta", "iceberg", "parquet", "csv", "json",
    "sql", "database", "jdbc", "postgres", "mysql", "sqlserver", "oracle", "sqlite", "snowflake", "mongodb",
    "api", "rest", "dlt", "stream", "kafka", "eventhubs", "websocket", "sse", "webhook", "sftp",
    "s3", "gcs", "adls", "azure", "abfss",
)  # fmt: skip
"""The words that public contracts use; the language leaves `type` free."""

WatermarkStrategy = Literal[
    "max_target", "pipeline_log", "lookback", "date_range", "manifest", "delta_version", "none", "append"
]


class Partition(Section):
    """A landing layout with dates in its folder names, written as strftime."""

    format: Name
    lookback_days: Days | None = None
    start_date: DateText | None = None
    end_date: DateText | None = None
    file_pattern: str | None = None


class PostIngestion(Section):
    """What happens to files once their rows are safely in the target.

    An archive overwrites nothing: where other bytes have a file's name, the time of its delivery is added to it.
    """

    action: Literal["retain", "delete", "archive"] = "retain"
    archive_path: str | None = None
    cleanup_is_blocking: bool = False
    retry_orphaned_files: bool | None = Field(default=None, json_schema_extra=LENIENT)

    @model_validator(mode="after")
    def _archive_somewhere(self) -> PostIngestion:
        if self.action == "archive" and not self.archive_path:
            raise problem("LL102", "`action: archive` needs `archive_path`.")
        return self


class DltEndpoint(Section):
    name: Name
    path: Name
    params: Bag = Field(default_factory=dict)
    paginator: str | None = None


class Dlt(Section):
    source: str | None = None
    resource: str | None = None
    base_url: str | None = None
    endpoints: tuple[DltEndpoint, ...] = ()
    credentials: dict[str, str] = Field(default_factory=dict)
    write_disposition: str = "replace"
    max_table_nesting: int = 1


class Source(Section):
    type: Name | None = Field(default=None, examples=list(SOURCE_TYPES))
    path: str | None = None
    query: str | None = None
    format: FileFormat | None = None
    options: Bag | None = None
    load_mode: Literal["full", "incremental", "cdc"] = "full"
    pattern: str | None = None
    watermark_field: str | None = None
    watermark_strategy: WatermarkStrategy | None = "max_target"
    target_path: str | None = None
    lookback: Period | None = None
    from_date: DateText | None = None
    to_date: DateText | None = None
    pipeline_log_table: str | None = None
    pipeline_name: str | None = None
    manifest_path: str | None = None
    watermark_date_parts: tuple[str, ...] | dict[str, str] | None = None
    partition: Partition | None = None
    partition_filters: Bag = Field(default_factory=dict)
    flatten_nested: bool | tuple[str, ...] = False
    cdc_op_field: str | None = None
    cdc_delete_values: tuple[Any, ...] = ()
    cdc_timestamp_field: str | None = None
    empty_behavior: Literal["skip", "fail"] | None = None
    dlt: Dlt | None = None
    post_ingestion: PostIngestion | None = None
    retry: Bag | None = Field(default=None, json_schema_extra=LENIENT)

    @property
    def is_table(self) -> bool:
        return table_reference(self.path, declared=self.type == "table") is not None

    @property
    def table(self) -> str | None:
        """The table this source reads, without `table:` and backticks; None for files."""
        return table_reference(self.path, declared=self.type == "table")


class Link(Section):
    """A dataset that steps and rules may look things up in, by its name."""

    name: Name
    path: str | None = None
    type: str = "parquet"
    table: str | None = None
    broadcast: bool = False
    columns: Names = ()
    filter: str | None = None
    query: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Link:
        if not self.path and not self.table:
            raise problem("LL102", f"The link `{self.name}` says neither `path` nor `table`.")
        return self

    @property
    def table_name(self) -> str | None:
        """The table it reads, without `table:` and backticks; None for files."""
        return plain_table(self.table) if self.table else table_reference(self.path, declared=self.type == "table")


def table_reference(path: str | None, *, declared: bool) -> str | None:
    """The table that a path names: `table:a.b.c`, or a dotted name where a table is expected."""
    if not path:
        return None
    if path.startswith("table:"):
        return plain_table(path)
    return plain_table(path) if declared and "/" not in path else None


def plain_table(reference: str) -> str:
    return reference.removeprefix("table:").replace("`", "").strip()

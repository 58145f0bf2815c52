"""Which keys may be set for one run.

Those that say where rows come from, how they are read and what is promised about them. What the table is, what is
masked and what must hold is changed in the file, where others can review it.

| may be set | |
|---|---|
| `source.path`, `links[name].path` | files inside the project's roots, for one contract at a time |
| `source.pattern`, `source.format`, `source.options.*`, `source.empty_behavior` | how files are read |
| `source.load_mode`, `source.watermark_*`, `source.lookback`, `source.from_date`, `source.to_date` | which rows |
| `source.partition.*`, `source.partition_filters.*` | which rows |
| `links[name].broadcast` | how a lookup is joined |
| `materialization.reprocess_policy`, `.reprocess_date_column`, `.merge_dedup_guard`, `.compaction.auto` | this write |
| `service_levels.*` | what the run is measured against |
| `metadata.*` | notes, but not what the engine reads there |
| `extensions.com.lakelogic.timeout`, `extensions.com.lakelogic.upstream_freshness.*` | how long to wait |
"""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import BaseModel

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, shown
from lakelogic_assets.contract.reader_options import SETTABLE
from lakelogic_assets.contract.validation import keys_of, section_at, unknown_key

_FILE_NAMES: Final = frozenset({"source.pattern", "source.partition.file_pattern", "source.partition.format"})
_ALLOWED: Final = frozenset(
    """
    source.path links.*.path source.pattern source.format source.empty_behavior source.load_mode source.lookback
    source.watermark_field source.watermark_strategy source.watermark_date_parts source.watermark_date_parts.*
    source.from_date source.to_date source.partition.* source.partition_filters.* links.*.broadcast
    materialization.reprocess_policy materialization.reprocess_date_column materialization.merge_dedup_guard
    materialization.compaction.auto service_levels.** metadata.**
    extensions.com.lakelogic.timeout extensions.com.lakelogic.upstream_freshness.*
    """.split()
)
_READ_BY_THE_ENGINE: Final = re.compile(
    r"run_log|quarantine_|policy_pack\Z|environment\Z|domain\Z|system\Z|data_layer\Z"
)
_REASONS: Final = {
    "": "it holds for every run of the contract",
    "source": "it says what the source is, not where its rows are today",
    "source.query": "SQL is run as it was reviewed",
    "source.post_ingestion": "it deletes and moves files",
    "source.options": "only options that say how text becomes values may be set",
    "source.dlt": "it holds credentials and addresses",
    "links": "what a contract reads beside its source, and by which SQL, is reviewed in its file",
    "info": "it names the table",
    "dataset": "it names the table",
    "model": "it says what the table is, what is personal and how it is masked",
    "quality": "rules hold for every run",
    "transformations": "steps are run as they were reviewed",
    "external_logic": "code is run as it was reviewed",
    "extraction": "it says to whom texts are sent",
    "compliance": "it is what auditors rely on",
    "quarantine": "rows that break a rule go where the contract says",
    "lineage": "every row of a table is stamped in the same way",
    "notifications": "people are told what the contract promises them",
    "materialization": "it shapes the table for every later run",
    "materialization.target_path": "a run writes where its contract says",
    "materialization.location": "a run writes where its contract says",
    "materialization.compaction": "it removes the table's history",
    "schedule": "it says when runs start, and this one has",
    "metadata": "the engine reads it, and it holds for every run",
    "extensions.com.lakelogic.sample": "rows are shown only where the contract lets them be",
    "extensions.com.lakelogic.connection": "it says where data comes from",
}


TABLE_FORMATS: Final = frozenset({"table", "delta", "iceberg"})


def refusal(key: str, path: YamlPath, value: Any, where: Location) -> Problem | None:
    """Why one value may not be set; None where it may. `key` is what was typed for it."""
    language: YamlPath = tuple(0 if index == 1 and path[0] == "links" else part for index, part in enumerate(path))
    for length in range(1, len(language) + 1):
        part, section = language[length - 1], section_at(Contract, language[: length - 1])
        if isinstance(part, str) and section is not None and part not in keys_of(section) and _is_closed(section):
            return unknown_key(Contract, language[:length], where)
    if not _is_allowed(language):
        return Problem("LL602", f"`{key}` may not be set for one run: {_reason(language)}.", where, path)
    if language == ("source", "format") and isinstance(value, str) and value in TABLE_FORMATS:
        return Problem("LL602", f"`{key}` may not be set to {value}: {_REASONS['source']}.", where, path)
    if _form(language) in _FILE_NAMES and not _is_name(value):
        message = f"`{key}` is {shown(value)}, which names more than files of a folder."
        return Problem("LL603", message, where, path)
    return None


def is_place(path: YamlPath) -> bool:
    """Whether the value says where data is."""
    return path == ("source", "path") or (path[0] == "links" and path[2:] == ("path",))


def _is_closed(section: type[BaseModel]) -> bool:
    return section.model_config.get("extra") != "allow"


def _form(path: YamlPath) -> str:
    """A path as the tables above write it."""
    return ".".join("*" if isinstance(part, int) else part for part in path)


def _is_allowed(path: YamlPath) -> bool:
    if path[:2] == ("source", "options"):
        return len(path) == 3 and str(path[2]).casefold() in SETTABLE
    if path[0] == "metadata" and len(path) > 1 and _READ_BY_THE_ENGINE.match(str(path[1]).casefold()):
        return False
    form = _form(path)
    below = [f"{form.rpartition('.')[0]}.*", f"{path[0]}.**"] if len(path) > 1 else []
    return not _ALLOWED.isdisjoint((form, *below))


def _reason(path: YamlPath) -> str:
    form = [str(part) for part in path]
    return next(
        _REASONS[start] for length in range(len(form), -1, -1) if (start := ".".join(form[:length])) in _REASONS
    )


def _is_name(value: Any) -> bool:
    if not isinstance(value, str):
        return True  # the contract's own types have something to say about it
    return value.isprintable() and not re.search(r"\A[/~]|\\|(?:\A|/)\.\.(?:/|\Z)", value)

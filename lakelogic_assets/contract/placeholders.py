"""`{name}` from the registry and `${NAME}` from the environment, filled into text.

Contracts hold braces that are no placeholders (`\\d{4}`), so only known names are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lakelogic_assets.contract.filled_in import is_engine_secret
from lakelogic_assets.contract.problems import YamlPath

PATH_KEYS = frozenset(
    "path target_path location target table archive_path manifest_path pipeline_log_table catalog domain_catalog"
    " storage_root data_root landing_root quarantine_root log_root storage_account external_location_root".split()
)
_PATH_SECTIONS = frozenset("source server links materialization quarantine environments storage external_logic".split())
_FREE_KEYS = frozenset({"notifications", "dlt", "options", "args", "partition_filters", "table_properties"})
MAX_DEFAULTS, MAX_PLACEHOLDERS, MAX_VALUE = 20, 500, 2000
_SQL_KEYS = frozenset("sql sql_spark sql_duckdb query filter key_expr aggregations".split())
_PLACEHOLDER = re.compile(r"(?<![${])\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACE = re.compile(r"[{}]")


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Replace the placeholders that have a value; leave every other brace alone.

    A name is short and a path has few of them; what is longer is left alone, so that no file grows without end.
    """
    if "{" not in text or text.count("{") > MAX_PLACEHOLDERS:
        return text

    def value(match: re.Match[str]) -> str:
        found = str(values.get(match[1], match[0]))
        return found if len(found) <= MAX_VALUE else match[0]

    return _PLACEHOLDER.sub(value, text)


def unfilled(text: str) -> list[str]:
    return _PLACEHOLDER.findall(text)


def expand(
    text: str,
    environ: Mapping[str, str],
    missing: Callable[[str], None],
    *,
    refused: Callable[[str], bool] = is_engine_secret,
    kept: Callable[[str], bool] = is_engine_secret,
) -> str:
    """Replace `${NAME}` and `${NAME:-default}`; a default may hold another. What is not set becomes empty, reported.

    A variable that is `refused` is reported like one that is not set; any other that is `kept` stays a reference.
    """
    return _Expansion(text, environ, missing, refused, kept).between(0, len(text), 0)


class _Expansion:
    """One text, with its brackets matched once: a hostile text is as cheap as any other of its length."""

    def __init__(
        self,
        text: str,
        environ: Mapping[str, str],
        missing: Callable[[str], None],
        refused: Callable[[str], bool],
        kept: Callable[[str], bool],
    ) -> None:
        self.text = text
        self.environ = environ
        self.missing = missing
        self.refused = refused
        self.kept = kept
        self.closing = _closing_braces(text)

    def between(self, position: int, stop: int, depth: int) -> str:
        parts: list[str] = []
        while depth <= MAX_DEFAULTS and (start := self.text.find("${", position, stop)) >= 0:
            name, end = _NAME.match(self.text, start + 2, stop), self.closing.get(start + 1)
            has_default = name is not None and end is not None and self.text.startswith(":-", name.end(), end)
            if name is None or end is None or not (name.end() == end or has_default):
                parts.append(self.text[position : start + 2])
                position = start + 2
                continue
            if not self.refused(name[0]) and self.kept(name[0]):
                parts.append(self.text[position : end + 1])
                position = end + 1
                continue
            default = name.end() + 2 if has_default else None
            parts += self.text[position:start], self.value(name[0], default, end, depth)
            position = end + 1
        return "".join(parts) + self.text[position:stop]

    def value(self, name: str, default: int | None, end: int, depth: int) -> str:
        if not self.refused(name):
            if self.environ.get(name):
                return self.environ[name]
            if default is not None:
                return self.between(default, end, depth + 1)
        self.missing(name)
        return ""


def _closing_braces(text: str) -> dict[int, int]:
    """Where each opening brace is closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closing[opened.pop()] = brace.start()
    return closing


def is_sql(path: YamlPath) -> bool:
    """SQL never gets environment variables: what Spark runs is what stands in the file."""
    return any(part in _SQL_KEYS for part in path)


def is_path(path: YamlPath) -> bool:
    """Whether a text says where data is: a gap in it would send data to the wrong place."""
    return bool(path) and path[-1] in PATH_KEYS and path[0] in _PATH_SECTIONS and not _FREE_KEYS.intersection(path)


def rewritten(value: Any, change: Callable[[str, YamlPath], str], path: YamlPath = ()) -> Any:
    """The same structure with every text changed; what does not change is shared, not copied."""
    if isinstance(value, str):
        return change(value, path) if "{" in value else value
    if isinstance(value, dict | list):
        return _rewritten_items(value, change, path)
    return value


def _rewritten_items(whole: Any, change: Callable[[str, YamlPath], str], path: YamlPath) -> Any:
    """Sees every value of every contract several times, so it copies and names only what may change."""
    result = whole
    for key, item in whole.items() if isinstance(whole, dict) else enumerate(whole):
        kind = type(item)
        if kind is dict or kind is list:
            new = _rewritten_items(item, change, (*path, key))
        elif kind is str and "{" in item:
            new = change(item, (*path, key))
        else:
            continue
        if new is not item:
            result = whole.copy() if result is whole else result
            result[key] = new
    return result

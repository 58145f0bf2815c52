"""Values → YAML, line by line, with room for a note behind each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from lakelogic_assets.contract.problems import YamlPath

_WIDTH = 100


class Line(NamedTuple):
    text: str
    note: str


def yaml_lines(data: Mapping[str, Any], notes: Mapping[YamlPath, str]) -> Iterator[Line]:
    """YAML that reads back as `data`; a note is given for the line where its path begins."""
    yield from _Writer(notes).mapping(data, (), 0)


class _Writer:
    def __init__(self, notes: Mapping[YamlPath, str]) -> None:
        self.notes = notes

    def mapping(self, data: Mapping[str, Any], path: YamlPath, indent: int) -> Iterator[Line]:
        for key, value in data.items():
            yield from self.entry(f"{' ' * indent}{_scalar(key)}:", value, (*path, key), indent + 2)

    def entry(self, head: str, value: Any, path: YamlPath, indent: int) -> Iterator[Line]:
        """A value behind its key: on the same line if it fits there, below it otherwise."""
        note = self.notes.get(path, "")
        if isinstance(value, str) and _is_block(value):
            yield Line(f"{head} {'|' if value.endswith(chr(10)) else '|-'}", note)
            for line in value.removesuffix("\n").split("\n"):
                yield Line(f"{' ' * indent}{line}" if line else "", "")
        elif short := self.short(value, path, len(head)):
            yield Line(f"{head} {short}", note)
        elif isinstance(value, Mapping):
            yield Line(head, note)
            yield from self.mapping(value, path, indent)
        else:
            yield Line(head, note)
            for index, item in enumerate(value):
                yield from self.item(item, (*path, index), indent)

    def item(self, value: Any, path: YamlPath, indent: int) -> Iterator[Line]:
        head = f"{' ' * indent}-"
        if isinstance(value, Mapping) and value and (len(value) == 1 or not self.short(value, path, len(head))):
            note = self.notes.get(path, "")
            for number, line in enumerate(self.mapping(value, path, indent + 2)):
                # The first key stands on the line of the dash.
                yield line if number else Line(f"{head} {line.text[indent + 2 :]}", line.note or note)
        else:
            yield from self.entry(head, value, path, indent + 2)

    def short(self, value: Any, path: YamlPath, before: int) -> str | None:
        """The value on one line, unless it is too long, a list of mappings, or has a note inside."""
        if not isinstance(value, Mapping | list) or not value:
            return _scalar(value)
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            return None
        if _depth(value) > 2 or any(known[: len(path)] == path != known for known in self.notes):
            return None
        text = _scalar(value)
        return text if before + 1 + len(text) <= _WIDTH else None


def _depth(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _is_block(text: str) -> bool:
    """Lines that YAML's block style gives back unchanged."""
    lines = text.removesuffix("\n").split("\n")
    whole = "\n" in text and not text.startswith((" ", "\n")) and bool(lines[-1])
    return whole and all(line.isprintable() and line == line.rstrip() for line in lines)


def _scalar(value: Any) -> str:
    """A value in YAML's flow style."""
    text = yaml.dump(
        value, Dumper=yaml.CSafeDumper, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...").strip()

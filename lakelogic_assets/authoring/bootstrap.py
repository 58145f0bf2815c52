"""Starter contracts and a registry from landing files, for a system of which nothing else is there yet."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import yaml

from lakelogic_assets.errors import NotFoundError, RequestError

FORMATS: Final = ("csv", "jsonl", "json", "parquet")
_ENDINGS: Final = {"csv": "*.csv", "jsonl": "*.jsonl", "json": "*.json", "parquet": "*.parquet"}
_SEEN_BYTES: Final = 8 * 1024 * 1024
"""How much of a file its types are taken from."""
_SEEN_FILES: Final = 3
_DELIMITERS: Final = (",", ";", "\t", "|")
_ENDING: Final = re.compile(r"(\.[A-Za-z]\w*)+$")
_DATED: Final = re.compile(r"(?:[-_.]+\d|\d{6})[\d\-_.T:]*(?:(?<=\d\d)Z)?$")
_NO_NUMBER: Final = r"^[-+]?0\d"
"""A code: as a number it would lose its zeros."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """A contract that was written, or the registry."""

    path: Path
    entity: str
    fields: int
    files: int


def bootstrap(
    landing: Path, output: Path, registry: Path, *, kind: str = "csv", pattern: str | None = None
) -> list[Drafted]:
    """Write a bronze contract for each kind of file below a folder, and a registry that lists them.

    Files whose names differ in a date or a number are of one kind. Nothing that is there is written over.
    """
    if kind not in FORMATS:
        raise RequestError(
            f"{kind!r} is no format that contracts are drafted from; choose one of {', '.join(FORMATS)}."
        )
    if not landing.is_dir():
        raise NotFoundError(f"There is no landing folder {landing}.")
    found = _by_entity(sorted(path for path in landing.glob(pattern or _ENDINGS[kind]) if path.is_file()))
    if not found:
        raise NotFoundError(f"No file of {landing} fits {pattern or _ENDINGS[kind]!r}.")
    paths = {entity: output / f"bronze_{entity}.yaml" for entity in found}
    for path in (*paths.values(), registry):
        if path.exists():
            raise RequestError(f"{path} is there already; remove it, or choose another place.")
    texts = {entity: _contract(entity, files, paths[entity].parent, kind) for entity, files in found.items()}
    for entity, text in texts.items():
        _write(paths[entity], text)
    _write(registry, _registry(paths, registry.parent))
    return [Drafted(paths[e], e, len(texts[e]["model"]["fields"]), len(files)) for e, files in found.items()]


def _by_entity(files: Sequence[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in files:
        found.setdefault(_entity(path), []).append(path)
    return found


def _entity(path: Path) -> str:
    """What a file is about: its name without a date or a number at the end, else that of its folder."""
    name = _DATED.sub("", _ENDING.sub("", path.name)) or path.parent.name
    plain = re.sub(r"\W+", "_", name.lower()).strip("_")
    return plain if plain and not plain[0].isdigit() else f"t_{plain}"


def _contract(entity: str, files: Sequence[Path], folder: Path, kind: str) -> dict[str, Any]:
    newest = sorted(files, key=lambda path: path.stat().st_mtime)[-_SEEN_FILES:]
    delimiter = _delimiter(newest[-1]) if kind == "csv" else ","
    schemas = [_READERS[kind](path, delimiter) for path in newest]
    places = {path.parent for path in files}
    if len(places) > 1:
        raise RequestError(f"The files of {entity!r} lie in {len(places)} folders; bootstrap each of them by itself.")
    source: dict[str, Any] = {
        "type": "landing",
        "path": os.path.relpath(places.pop(), folder),
        "pattern": _pattern(entity, files),
        "format": kind,
        "load_mode": "incremental",
        "watermark_strategy": "pipeline_log",
    }
    if delimiter != ",":
        source["options"] = {"delimiter": delimiter}
    title = entity.replace("_", " ").capitalize()
    return {
        "version": "1.0.0",
        "info": {"title": title, "table_name": f"bronze_{entity}", "target_layer": "bronze"},
        "model": {"fields": [{"name": name, "type": kind} for name, kind in _fields(schemas, newest)]},
        "source": source,
        "materialization": {"strategy": "append"},
    }


def _pattern(entity: str, files: Sequence[Path]) -> str:
    """A glob that fits the files of one kind, the next one too, and none of a kind whose name only begins alike."""
    name = files[0].name
    stem = _ENDING.sub("", name)
    dated = _DATED.search(stem)
    pattern = name
    if dated is not None:
        before = stem[: dated.start()] + dated[0][: len(dated[0]) - len(dated[0].lstrip("-_."))]
        pattern = f"{before}[0-9]*{name[len(stem) :]}"
    if not all(fnmatchcase(each.name, pattern) for each in files):
        raise RequestError(f"No pattern such as {pattern!r} fits all files of {entity!r}; say a narrower --pattern.")
    return pattern


def _fields(schemas: Sequence[pa.Schema], files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """All columns in their first order and spelling; of two types the one that holds both."""
    columns = [{field.name.lower(): field for field in schema} for schema in schemas]
    names: dict[str, str] = {}
    for folded, field in chain.from_iterable(schema.items() for schema in columns):
        names.setdefault(folded, field.name)
    if not names:
        raise RequestError(f"{files[-1]} has no columns that a contract could be drafted from.")
    for folded, name in names.items():
        kinds = {_named(schema[folded].type) for schema in columns if folded in schema} - {None}
        numbers = kinds <= {"long", "double"}
        yield name, (kinds.pop() if len(kinds) == 1 else "double" if kinds and numbers else "string") or "string"


def _named(kind: pa.DataType) -> str | None:
    """The language's word for a type; None where all was empty."""
    types = pa.types
    if types.is_null(kind):
        return None
    if types.is_struct(kind):
        inside = ",".join(f"{field.name}:{_named(field.type) or 'string'}" for field in kind)
        are_apart = len({field.name.lower() for field in kind}) == kind.num_fields
        return (
            f"struct<{inside}>" if are_apart and all(re.fullmatch(r"\w+", field.name) for field in kind) else "string"
        )
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{_named(kind.value_type) or 'string'}>"
    if types.is_decimal(kind) and kind.precision <= 38 and kind.scale >= 0:
        return f"decimal({kind.precision},{kind.scale})"
    tests: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
        (types.is_boolean, "boolean"), (types.is_integer, "long"), (types.is_floating, "double"),
        (types.is_date, "date"), (types.is_timestamp, "timestamp"), (types.is_binary, "binary"),
    )  # fmt: skip
    return next((word for test, word in tests if test(kind)), "string")


def _head(path: Path) -> bytes:
    """The beginning of a file, up to the end of a line."""
    with path.open("rb") as file:
        said = file.read(_SEEN_BYTES)
        return said if not file.read(1) else said[: said.rfind(b"\n") + 1]


def _text(path: Path) -> bytes:
    """The beginning of a file whose signs are known for what they are."""
    said = _head(path)
    try:
        said.decode("utf-8")
    except UnicodeDecodeError as error:
        line = said.count(b"\n", 0, error.start) + 1
        raise RequestError(
            f"{path} is not UTF-8 (line {line}): convert it, or write its contract by hand"
            " with `options: {encoding: ISO-8859-1}`, or whatever it is, under `source`."
        ) from None
    return said


def _sound(path: Path, schema: pa.Schema) -> pa.Schema:
    """The columns of a file, which a table can have only under names of their own."""
    seen: dict[str, str] = {}
    for at, name in enumerate(schema.names, start=1):
        if not name.strip():
            raise RequestError(f"Column {at} of {path} has no name: give it one in the file.")
        first = seen.setdefault(name.lower(), name)
        if len(seen) < at:
            twice = f"{name!r} stands twice" if first == name else f"{first!r} and {name!r} differ only in case"
            raise RequestError(f"Among the columns of {path} {twice}: rename one in the file.")
    return schema


def _delimiter(path: Path) -> str:
    first = _head(path).partition(b"\n")[0].decode("utf-8", "replace")
    return max(_DELIMITERS, key=first.count)


def _of_csv(path: Path, delimiter: str) -> pa.Schema:
    said, parsing = _text(path), pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def read(**options: Any) -> pa.Table:
        converting = pyarrow.csv.ConvertOptions(strings_can_be_null=True, **options)
        return pyarrow.csv.read_csv(io.BytesIO(said), parse_options=parsing, convert_options=converting)

    schema = _sound(path, _told(path, read).schema)
    numbers = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    if not numbers:
        return schema
    texts = read(include_columns=numbers, column_types=dict.fromkeys(numbers, pa.string()))
    codes = {name for name in numbers if pc.any(pc.match_substring_regex(texts[name], _NO_NUMBER)).as_py()}
    return pa.schema([field.with_type(pa.string()) if field.name in codes else field for field in schema])


def _of_json(path: Path, _: str) -> pa.Schema:
    said = _text(path)
    if said.lstrip()[:1] == b"[":  # one list of rows, which can only be read as a whole
        said = "\n".join(map(json.dumps, _told(path, lambda: json.loads(path.read_bytes())))).encode()
    return _sound(path, _told(path, lambda: pyarrow.json.read_json(io.BytesIO(said))).schema)


def _of_parquet(path: Path, _: str) -> pa.Schema:
    return _sound(path, _told(path, lambda: pyarrow.parquet.read_schema(path)))


_READERS: Final[dict[str, Callable[[Path, str], pa.Schema]]] = {
    "csv": _of_csv,
    "jsonl": _of_json,
    "json": _of_json,
    "parquet": _of_parquet,
}


def _told(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (pa.ArrowException, ValueError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise RequestError(f"{path} cannot be read as --format says: {why}.") from None


def _registry(paths: dict[str, Path], folder: Path) -> dict[str, Any]:
    entries = [
        {"entity": entity, "enabled": True, "contracts": {"bronze": os.path.relpath(path, folder)}}
        for entity, path in paths.items()
    ]
    return {"entries": entries}


def _write(path: Path, said: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8")

"""The type names of the language and the Spark types they stand for."""

from __future__ import annotations

import re
from functools import lru_cache

_SPARK_NAME = {
    **dict.fromkeys(("string", "text", "char", "varchar", "json", "str", "uuid"), "STRING"),
    **dict.fromkeys(("tinyint", "byte"), "TINYINT"),
    **dict.fromkeys(("smallint", "short"), "SMALLINT"),
    **dict.fromkeys(("int", "integer", "int32"), "INT"),
    **dict.fromkeys(("bigint", "long", "int64"), "BIGINT"),
    # `float` is 64 bits wide: money columns are declared float throughout public contracts.
    **dict.fromkeys(("float", "double", "number", "float64", "decimal", "numeric"), "DOUBLE"),
    **dict.fromkeys(("real", "float32"), "FLOAT"),
    **dict.fromkeys(("boolean", "bool"), "BOOLEAN"),
    "date": "DATE",
    **dict.fromkeys(("timestamp", "datetime", "timestamp_tz", "timestamp_ltz"), "TIMESTAMP"),
    "timestamp_ntz": "TIMESTAMP_NTZ",
    **dict.fromkeys(("binary", "bytes"), "BINARY"),
    "array": "ARRAY<STRING>",
    "variant": "VARIANT",
}

_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")

TYPE_NAMES = (*sorted(_SPARK_NAME), "decimal(p,s)", "array<…>", "map<…,…>", "struct<…>")

_SIZED = re.compile(r"(decimal|numeric|char|varchar)\s*\(\s*(\d{1,4})\s*(?:,\s*(\d{1,2})\s*)?\)\Z", re.I)
_NESTED = re.compile(r"(array|map|struct)\s*<(.*)>\Z", re.I | re.S)
_STRUCT_FIELD = re.compile(r"\s*`?([^`:]+?)`?\s*:\s*(.+)\Z|\s*`?(\w+)`?\s+(.+)\Z", re.S)


MAX_LENGTH, MAX_DEPTH = 5000, 30


@lru_cache(maxsize=4096)
def spark_type(name: str) -> str | None:
    """The Spark DDL type for a type name; None when the language has no such type."""
    return _spark_type(name, 0) if len(name) <= MAX_LENGTH else None


def is_number(name: str) -> bool:
    """Whether a type name stands for whole numbers or fractions."""
    return (spark_type(name) or "").startswith(_NUMBERS)


def _spark_type(name: str, depth: int) -> str | None:
    text = name.strip()
    simple = _SPARK_NAME.get(text.lower())
    if simple:
        return simple
    if sized := _SIZED.match(text):
        return _sized(*sized.groups())
    if depth < MAX_DEPTH and (nested := _NESTED.match(text)):
        return _nested(nested.group(1).upper(), nested.group(2), depth + 1)
    return None


def _sized(kind: str, first: str, second: str | None) -> str | None:
    if kind.lower() in ("char", "varchar"):
        return "STRING" if second is None else None
    precision, scale = int(first), int(second or 0)
    return f"DECIMAL({precision},{scale})" if 1 <= precision <= 38 and scale <= precision else None


def _nested(kind: str, inside: str, depth: int) -> str | None:
    parts = _split(inside)
    if kind == "STRUCT":
        fields = [_struct_field(part, depth) for part in parts]
        return f"STRUCT<{', '.join(f for f in fields if f)}>" if parts and all(fields) else None
    types = [_spark_type(part, depth) for part in parts]
    if not all(types) or len(types) != (2 if kind == "MAP" else 1):
        return None
    return f"{kind}<{', '.join(t for t in types if t)}>"


def _struct_field(text: str, depth: int) -> str | None:
    match = _STRUCT_FIELD.match(text)
    if not match:
        return None
    name, type_name = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(4))
    inner = _spark_type(type_name, depth)
    return f"`{name}`: {inner}" if inner else None


def _split(text: str) -> list[str]:
    """Split at the commas that stand outside of every bracket."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in (*parts, text[start:])]

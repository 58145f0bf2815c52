"""Names that Dagster accepts, made from names that people gave: safe, distinct and still readable."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

import dagster as dg

from lakelogic_assets.contract.graph import Key

# Words that Dagster or Python has taken: as the name of an op they fail the whole location.
_TAKEN = frozenset("context conf config meta arg_dict dict input_arg_dict output_arg_dict int str float bool".split())
_NOT_A_LETTER = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 80
T = TypeVar("T")


def safe_name(name: str) -> str:
    """Letters, digits and `_`; what had to be changed or cut carries a mark of the original, so it stays distinct."""
    plain = _NOT_A_LETTER.sub("_", name).strip("_")
    if name and plain == name and len(name) <= _LONGEST and name not in _TAKEN:
        return name
    return f"{plain[:_LONGEST].rstrip('_') or 'unnamed'}_{_mark(name)}"


def distinct(items: Iterable[T], name_of: Callable[[T], str]) -> dict[T, str]:
    """A safe name for each item, with a mark only where it is needed; case counts for nothing, as in some stores."""
    named: dict[T, str] = {}
    taken: set[str] = set()
    for item in items:
        name = _readable(name_of(item))
        if not name or name.casefold() in taken:
            name = safe_name(name_of(item))
        tries = 1
        while name.casefold() in taken:
            tries += 1
            name = f"{safe_name(name_of(item))}_{tries}"
        taken.add(name.casefold())
        named[item] = name
    return named


def _readable(name: str) -> str:
    """The name without what Dagster refuses; empty where that would leave nothing good."""
    plain = _NOT_A_LETTER.sub("_", name).strip("_")
    return plain if plain and len(plain) <= _LONGEST and plain not in _TAKEN else ""


def asset_key(key: Key) -> dg.AssetKey:
    """The asset of a contract: domain and table."""
    return dg.AssetKey([safe_name(part) for part in key])


def group_name(domain: str | None) -> str | None:
    return safe_name(domain) if domain else None


def tag_value(text: str) -> str:
    """At most 63 of the letters that Dagster allows in a tag."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:63].strip("_.-") or "none"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:6]

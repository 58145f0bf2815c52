"""Whether the places that a contract names can lie in the project's roots, as far as their letters tell.

What links on the disk make of them is seen when a run goes there. Here a contract that leads out is left out by itself,
before a command or a code location that concerns all contracts asks where its table is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.placeholders import is_path
from lakelogic_assets.contract.problems import Problem, YamlPath, dotted, shown
from lakelogic_assets.contract.roots import OBJECT_STORES, is_inside

_SECTIONS = ("source", "server", "links", "materialization", "quarantine")
_LEADS_OUT = re.compile(r"\A/|(?:\A|/)\.\.(?:/|\Z)|\A[A-Za-z][A-Za-z0-9+.-]+:/")
_MOUNTS = "/Volumes/"
_GAP = "LL305"
_NEVER_OPENED = (("server", "path"), ("materialization", "secondary_targets"))
"""What other programs may do with these is their affair."""


def lint_places(contract: Contract, merged: Merged, project: Path, elsewhere: Iterable[Path]) -> list[Problem]:
    """A problem for every place outside; `elsewhere` are folders that the deployment declares."""
    folder = contract.place.path.parent if contract.place.path else project
    roots = (project, *elsewhere)
    return [
        Problem(
            "LL603", f"`{dotted(path)}` is {shown(text)}, outside of the project's roots.", merged.locate(path), path
        )
        for path, text in _places(contract, merged.data)
        if _LEADS_OUT.search(text) and "{" not in text and not _is_asked(path, text)
        if _is_outside(text, folder, project, roots)
    ]


def folders_with_gaps(problems: Iterable[Problem]) -> frozenset[Path]:
    """Folders of files in which a variable was not filled in; what it leaves of a path leads nowhere."""
    return frozenset(each.location.file.parent for each in problems if each.code == _GAP and each.location.file)


def has_gap(path: Path | None, problems: Iterable[Problem], above: frozenset[Path]) -> bool:
    """Whether that is so for a contract, by itself or by a registry `above` it: then its places are not judged."""
    folders = path.parents if path else ()
    return any(problem.code == _GAP for problem in problems) or not above.isdisjoint(folders)


def _places(contract: Contract, data: dict[str, Any]) -> Iterator[tuple[YamlPath, str]]:
    for section in _SECTIONS:
        yield from _texts(data.get(section), (section,))
    here: YamlPath = ("environments", contract.place.environment or "")
    chosen = data.get("environments")
    yield from _texts(chosen.get(here[1]) if isinstance(chosen, dict) else None, here)
    log = contract.metadata.get("run_log_table")
    if isinstance(log, str):
        yield ("metadata", "run_log_table"), log


def _texts(value: Any, path: YamlPath) -> Iterator[tuple[YamlPath, str]]:
    if isinstance(value, str):
        if is_path(path):
            yield path, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if (*path, key) not in _NEVER_OPENED:
                yield from _texts(item, (*path, key))


def _is_asked(path: YamlPath, text: str) -> bool:
    """An interface on the web as a source, of which the run says whether it is supported."""
    return path[0] == "source" and text.lower().startswith(("http:", "https:"))


def _is_outside(text: str, folder: Path, project: Path, roots: Iterable[Path]) -> bool:
    text = text.removeprefix("table:")
    scheme, colon, _ = text.partition(":/")
    if scheme.lower() == "file":
        text = unquote(urlsplit(text).path)
    elif colon:
        return scheme.lower() not in OBJECT_STORES
    if text.startswith(_MOUNTS):
        return ".." in text.split("/")
    base = folder if (folder / text).exists() else project
    return not any(is_inside(os.path.normpath(base / text), root) for root in roots)

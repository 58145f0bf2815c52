"""The memory of `lakelogic validate`: the same question about the same files has the same answer.

An answer is kept in `<project>/.cache/lakelogic/`, or in the folder of LAKELOGIC_CACHE_DIR, together with everything it
was made from: the YAML files by content, the folders by the names in them, files that were only looked for, environment
variables by a hash of their value, and the code that judged. If any of it has changed, the answer is worthless and the
question is asked again. Nothing here imports Typer, pydantic or sqlglot: that is what makes a remembered answer quick.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract.problems import Location, Problem
from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.project import ENVIRONMENT_VARIABLE, PROJECT_VARIABLE, RESOURCES_VARIABLE, find_project

CACHE_VARIABLE = "LAKELOGIC_CACHE_DIR"
_FOLDER = Path(".cache", "lakelogic")
_KEPT_ANSWERS = 50
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_JUDGES = ("lakelogic_assets", "pydantic.version", "pydantic_core", "sqlglot._version", "yaml")
_BYPASSES = ("--no-cache", "--set", "--policy-pack")


@dataclass(frozen=True, slots=True)
class Asked:
    """How an answer is to be shown."""

    style: str = "text"
    warnings_as_errors: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What `validate` found."""

    contracts: int
    files: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class Evidence:
    """All that an answer depends on."""

    texts: dict[str, str | None] = field(default_factory=dict)
    folders: dict[str, str | None] = field(default_factory=dict)
    looked_for: dict[str, bool] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    judges: dict[str, str | None] = field(default_factory=dict)

    def holds(self) -> bool:
        """Whether everything is still as it was; the cheapest and likeliest changes are looked at first."""
        return (
            all(_state(path) == known for path, known in self.judges.items())
            and all(_hashed(os.environ.get(name)) == known for name, known in self.variables.items())
            and all(Path(path).exists() == known for path, known in self.looked_for.items())
            and all(_names_in(path) == known for path, known in self.folders.items())
            and all(_text_of(path) == known for path, known in self.texts.items())
        )

    def add_file(self, path: Path) -> None:
        self.texts[str(path)] = _text_of(str(path))

    def add_tree(self, folder: Path) -> None:
        """A folder with all below it: YAML by content, everything else by name."""
        self.folders[str(folder)] = _names_in(str(folder))
        for directory, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS]
            self.folders[directory] = _names_in(directory)
            for name in files:
                if name.endswith((".yaml", ".yml")):
                    self.add_file(Path(directory, name))

    def add_domains(self, folder: Path) -> None:
        """A folder of which only the domains count."""
        self.folders[str(folder)] = _names_in(str(folder))
        for child in folder.iterdir() if folder.is_dir() else ():
            if (child / names.DOMAIN_FILE).exists():
                self.add_tree(child)
            elif child.is_dir():
                self.add_looked_for([child / names.DOMAIN_FILE])

    def add_looked_for(self, paths: Iterable[Path]) -> None:
        self.looked_for |= {str(path): path.exists() for path in paths}

    def add_judges(self) -> None:
        """The code that is loaded now."""
        for name, module in list(sys.modules.items()):
            if (name in _JUDGES or name.startswith("lakelogic_assets.")) and getattr(module, "__file__", None):
                self.judges[str(module.__file__)] = _state(str(module.__file__))


class RecordedEnvironment(dict[str, str]):
    """The environment variables, which remembers those that were asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(variables)
        self.read: dict[str, str | None] = {}

    def get(self, name: str, default: Any = None) -> Any:
        self.read[name] = _hashed(super().get(name))
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.read[name] = _hashed(super().get(name))
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read[str(name)] = _hashed(super().get(str(name)))
        return super().__contains__(name)


def answered_from_memory(words: Sequence[str]) -> int | None:
    """Answer a call that was answered before, if nothing has changed; gives the exit code."""
    if "validate" not in words or any(word.startswith(_BYPASSES) for word in words):
        return None
    remembered = recall(words)
    if remembered is None:
        return None
    from lakelogic_assets.cli.answers import give

    return give(*remembered)


def recall(words: Sequence[str]) -> tuple[Asked, Answer] | None:
    """The answer to these words, if it was given before and still stands."""
    try:
        entry = json.loads(_file_for(words).read_bytes())
        if not Evidence(**entry["evidence"]).holds():
            return None
        problems = tuple(_problem(each) for each in entry["problems"])
        return Asked(**entry["asked"]), Answer(entry["contracts"], entry["files"], problems)
    except (OSError, ValueError, KeyError, TypeError, LakeLogicError):
        return None  # absent, damaged, of another version, or no project here: none of it is the user's business


def remember(words: Sequence[str], asked: Asked, answer: Answer, evidence: Evidence) -> None:
    """Keep an answer, if the project's folder may be written to."""
    entry = {
        "asked": asdict(asked),
        "contracts": answer.contracts,
        "files": answer.files,
        "problems": [_as_json(problem) for problem in answer.problems],
        "evidence": asdict(evidence),
    }
    try:
        path = _file_for(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        _keep_out_of_git(path.parent)
        _write_at_once(path, json.dumps(entry))
        _forget_the_oldest(path.parent)
    except (OSError, TypeError, ValueError, LakeLogicError):
        return


def _file_for(words: Sequence[str]) -> Path:
    """One file per question: the words, where they were typed, and the variables that choose the project."""
    variables = (PROJECT_VARIABLE, ENVIRONMENT_VARIABLE, RESOURCES_VARIABLE)
    asked = [*words, "", str(Path.cwd()), *(os.environ.get(name, "") for name in variables)]
    name = hashlib.sha256("\0".join(asked).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    # A slip in reading `--project` here costs a miss, never a wrong answer: all words are part of the name.
    folder = next((Path(after) for word, after in pairwise(words) if word == "--project"), None)
    chosen = os.environ.get(CACHE_VARIABLE)
    return (Path(chosen) if chosen else find_project(folder).root / _FOLDER) / f"validate-{name}.json"


def _write_at_once(path: Path, text: str) -> None:
    """Somebody who reads at the same time sees the old file or the new one, never half of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, "utf-8")
    draft.replace(path)


def _keep_out_of_git(folder: Path) -> None:
    marker = folder / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n")


def _forget_the_oldest(folder: Path) -> None:
    files = sorted(folder.glob("validate-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_KEPT_ANSWERS:]:
        path.unlink(missing_ok=True)


def _hashed(value: str | None) -> str | None:
    """Values may be secrets, so they are never written down."""
    return None if value is None else hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()


def _text_of(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _names_in(folder: str) -> str | None:
    """The names in a folder, and where those that are links lead; hidden ones are nobody's contracts."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(f"{entry.name}\0{_target_of(entry)}" for entry in entries if not entry.name.startswith("."))
    except OSError:
        return None
    return hashlib.sha256("\0".join(found).encode("utf-8", "surrogateescape")).hexdigest()


def _target_of(entry: os.DirEntry[str]) -> str:
    return str(Path(entry.path).readlink()) if entry.is_symlink() else ""


def _state(path: str) -> str | None:
    try:
        state = Path(path).stat()
    except OSError:
        return None
    return f"{state.st_size}-{state.st_mtime_ns}"


def _as_json(problem: Problem) -> dict[str, Any]:
    where = problem.location
    found = problem.found if isinstance(problem.found, str | int | float | bool | None) else str(problem.found)
    return {
        "code": problem.code,
        "message": problem.message,
        "location": [str(where.file) if where.file else None, where.line, where.column],
        "path": list(problem.path),
        "found": found,
        "allowed": list(problem.allowed),
        "suggestion": problem.suggestion,
    }


def _problem(entry: dict[str, Any]) -> Problem:
    file, line, column = entry["location"]
    return Problem(
        code=entry["code"],
        message=entry["message"],
        location=Location(Path(file) if file else None, line, column),
        path=tuple(entry["path"]),
        found=entry["found"],
        allowed=tuple(entry["allowed"]),
        suggestion=entry["suggestion"],
    )

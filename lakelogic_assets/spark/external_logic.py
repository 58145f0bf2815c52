"""`external_logic:` — a Python file of the project finishes what SQL cannot say.

It runs in this process with all its rights: a file is run only when the deployment's `resources/` allows it and it
lies, links resolved, inside the project and inside a folder that is allowed. The time limit ends what would otherwise
hang; it is no sandbox.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakelogic_assets.contract.external_logic import ExternalLogic
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.errors import EngineError, LakeLogicError, ProjectError
from lakelogic_assets.spark import date_dimension
from lakelogic_assets.spark.failures import one_line
from lakelogic_assets.spark.logic_result import as_frame
from lakelogic_assets.spark.scope import Scope

TIMEOUT_VARIABLE: Final = "LAKELOGIC_EXTERNAL_LOGIC_TIMEOUT"
DEFAULT_SECONDS: Final = 300.0
ENGINE: Final = "spark"
CALENDAR: Final = Path(date_dimension.__file__)
"""What runs where a calendar's own file was not published."""
SHIM: Final = ("lakelogic", "lakelogic.core", "lakelogic.core.dim_date")

log = logging.getLogger(__name__)

# Modules and the search path belong to the whole process, so one file runs at a time.
_running = threading.Lock()


class _TimeUp(BaseException):
    """Raised inside a file that has run too long; nothing that catches Exception stops it."""


def run_logic(frame: DataFrame, scope: Scope, allowed: ExternalLogicPolicy, project_root: Path) -> DataFrame:
    """What the contract's Python file makes of the good rows; the rows themselves where it returns nothing."""
    said = scope.contract.external_logic
    if said is None:
        return frame
    file = logic_file(scope, said, allowed, project_root)
    if said.engine.lower() not in (ENGINE, "pyspark"):
        scope.warn(f"`external_logic.engine: {said.engine}` is not what runs here; the file is called with `{ENGINE}`.")
    if file == CALENDAR:
        what = f"the engine's own calendar, for {said.path}"
        scope.warn(f"`external_logic.path: {said.path}` is not there; the engine's own calendar makes the rows.")
        result = _within(_seconds(os.environ), what, lambda: date_dimension.from_args(said.args), file, scope)
        return as_frame(result, frame, scope, said, what)
    what = f"{file.name}: {said.entrypoint}()"
    with _running, _visible(file.parent) as fresh:
        result = _within(_seconds(os.environ), what, lambda: _called(file, said, frame, scope, fresh), file, scope)
    return as_frame(result, frame, scope, said, what)


def code_hash(scope: Scope, allowed: ExternalLogicPolicy, project_root: Path) -> str | None:
    """The sha256 of the file that finishes the rows, so that a report says which code made them."""
    said = scope.contract.external_logic
    if said is None:
        return None
    return hashlib.sha256(logic_file(scope, said, allowed, project_root).read_bytes()).hexdigest()


def logic_file(scope: Scope, said: ExternalLogic, allowed: ExternalLogicPolicy, project_root: Path) -> Path:
    """The file to run; ProjectError says which key of `resources/` would allow it where it may not be run."""
    if said.type == "notebook":
        raise EngineError("`external_logic.type: notebook` is not supported: move its code into a Python file.")
    if not allowed.allowed:
        raise ProjectError(
            f"`external_logic` of {scope.contract.table} may not run here: set `external_logic.allowed: true` and name "
            "its folder in `external_logic.roots` of the active file in resources/."
        )
    root = project_root.resolve()
    contract_file = scope.contract.place.path
    base = contract_file.parent if contract_file else scope.lakehouse.contract_folder or root
    # Links are followed before anything is compared: a link out of the folder is a way out of it.
    file = (base / said.path).resolve()
    folders = [(root / each).resolve() for each in allowed.roots] or [root]
    if not file.is_relative_to(root) or not any(file.is_relative_to(folder) for folder in folders):
        named = ", ".join(allowed.roots) or "the project"
        raise ProjectError(
            f"`external_logic.path: {said.path}` leads out of `external_logic.roots` ({named}) of resources/."
        )
    if said.is_calendar and not file.exists():
        return CALENDAR
    if not file.is_file() or file.suffix != ".py":
        raise ProjectError(f"`external_logic.path: {said.path}` is not a Python file.")
    return file


def _seconds(environ: Mapping[str, str]) -> float:
    text = environ.get(TIMEOUT_VARIABLE, "")
    try:
        seconds = float(text or DEFAULT_SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ProjectError(f"{TIMEOUT_VARIABLE} is not a number of seconds.")
    return seconds


@contextmanager
def _visible(folder: Path) -> Iterator[set[str]]:
    """The file's own folder is importable, and the calendar of `lakelogic` where that is not installed.

    Whatever was imported from the folder is forgotten afterwards: the next file may have a neighbour of that name.
    """
    before, writes = set(sys.modules), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    if importlib.util.find_spec("lakelogic") is None:
        sys.modules.update(_shim())
    try:
        yield before
    finally:
        sys.dont_write_bytecode = writes
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if name in SHIM or _lies_in(sys.modules[name], folder):
                del sys.modules[name]


def _lies_in(module: ModuleType, folder: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return isinstance(origin, str) and Path(origin).resolve().is_relative_to(folder)


def _shim() -> dict[str, ModuleType]:
    """The one function of the `lakelogic` package that public contracts call."""
    package, core, calendar = (ModuleType(name, date_dimension.__doc__) for name in SHIM)
    package.__path__, core.__path__ = [], []
    calendar.generate_date_dimension = date_dimension.generate_date_dimension  # type: ignore[attr-defined]
    core.dim_date, package.core = calendar, core  # type: ignore[attr-defined]
    return dict(zip(SHIM, (package, core, calendar), strict=True))


def _called(file: Path, said: ExternalLogic, frame: DataFrame, scope: Scope, before: set[str]) -> Any:
    module = _loaded(file)
    entrypoint = getattr(module, said.entrypoint, None)
    if not callable(entrypoint):
        raise EngineError(f"{file.name} has no function `{said.entrypoint}`.")
    for name in set(sys.modules) - before:
        if _lies_in(sys.modules[name], file.parent):
            # Spark's workers cannot import it: functions that it gives to Spark travel whole.
            cloudpickle.register_pickle_by_value(sys.modules[name])
    positional, named = _arguments(entrypoint, frame, scope, said)
    return entrypoint(*positional, **named)


def _loaded(file: Path) -> ModuleType:
    name = f"external_logic_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # noqa: S101 - a .py file always has one
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _arguments(
    entrypoint: Callable[..., Any], frame: DataFrame, scope: Scope, said: ExternalLogic
) -> tuple[list[Any], dict[str, Any]]:
    """The rows first, then by name whatever the function takes of contract, engine, links and `args`."""
    offered = {"contract": scope.contract, "engine": ENGINE, "links": dict(scope.links), **said.args}
    parameters = list(inspect.signature(entrypoint).parameters.values())
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = next((each for each in parameters if each.kind in (*places, inspect.Parameter.VAR_POSITIONAL)), None)
    takes_rows = first is not None and first.name not in offered
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    known = {each.name for each in parameters if each.kind not in (inspect.Parameter.POSITIONAL_ONLY,)}
    taken = {name: value for name, value in offered.items() if takes_all or name in known}
    return ([frame] if takes_rows else []), taken


def _within(seconds: float, what: str, work: Callable[[], Any], file: Path, scope: Scope) -> Any:
    """The result of the work, or one line that says what became of it."""
    outcome: dict[str, Any] = {}

    def attempt() -> None:
        try:
            outcome["result"] = work()
        except BaseException as error:  # a file may also call exit()
            outcome["error"] = error

    thread = threading.Thread(target=attempt, name=what, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _stop(thread, scope)
        raise EngineError(f"{what} was stopped after {seconds:g} seconds; {TIMEOUT_VARIABLE} sets the limit.")
    if "error" in outcome:
        error = outcome["error"]
        log.debug("%s failed", what, exc_info=error)
        raise EngineError(f"{what} failed{_line(error, file)}: {_cause(error)}") from None
    return outcome["result"]


def _stop(thread: threading.Thread, scope: Scope) -> None:
    """Ends what Spark does for the thread, and the thread at its next step in Python."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_TimeUp))
    scope.spark.interruptAll()
    thread.join(1.0)


def _line(error: BaseException, file: Path) -> str:
    """Where in the file it happened."""
    trace, found = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            found = trace.tb_lineno
        trace = trace.tb_next
    if found is None and isinstance(error, SyntaxError) and error.filename == str(file):
        found = error.lineno
    return f" in line {found}" if found else ""


def _cause(error: BaseException) -> str:
    """What went wrong, without anything that may be a value of somebody's row."""
    if isinstance(error, PySparkException):
        return one_line(error)
    # Messages of other errors may repeat data; these speak about code and files.
    told = (LakeLogicError, ImportError, NameError, AttributeError, SyntaxError, FileNotFoundError)
    if isinstance(error, told) or (isinstance(error, TypeError) and "argument" in str(error)):
        text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        return f"{type(error).__name__}: {text[:200]}"
    return type(error).__name__

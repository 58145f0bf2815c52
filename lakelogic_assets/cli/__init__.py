"""The `lakelogic` command: one module per subcommand; this package parses and prints, and decides nothing.

Imports stand inside `main` because most calls are answered from memory and then need neither Typer nor the models.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

COMMANDS: dict[str, str] = {
    "validate": "lakelogic_assets.cli.validate:validate",
    "run": "lakelogic_assets.cli.run:run",
    "backfill": "lakelogic_assets.cli.backfill:backfill",
    "reprocess": "lakelogic_assets.cli.reprocess:reprocess",
    "resume": "lakelogic_assets.cli.resume:resume",
    "runs": "lakelogic_assets.cli.runs:runs",
    "reload": "lakelogic_assets.cli.reload:reload",
    "approve": "lakelogic_assets.cli.approve:approve",
    "driver": "lakelogic_assets.cli.driver:driver",
    "materialize": "lakelogic_assets.cli.materialize:materialize",
    "generate": "lakelogic_assets.cli.generate:generate",
    "bootstrap": "lakelogic_assets.cli.bootstrap:bootstrap",
    "plan": "lakelogic_assets.cli.plan:plan",
    "show": "lakelogic_assets.cli.show:show",
    "graph": "lakelogic_assets.cli.graph:graph",
    "schema": "lakelogic_assets.cli.schema:schema",
    "late": "lakelogic_assets.cli.late:late",
    "reset": "lakelogic_assets.cli.reset:reset",
    "restore": "lakelogic_assets.cli.restore:restore",
    "audit": "lakelogic_assets.cli.audit:audit",
    "doctor": "lakelogic_assets.cli.doctor:doctor",
    "quarantine": "lakelogic_assets.cli.quarantine:quarantine",
    "docs": "lakelogic_assets.cli.docs:docs",
    "ddl": "lakelogic_assets.cli.ddl:ddl",
    "decrypt": "lakelogic_assets.cli.decrypt:decrypt",
    "explain-error": "lakelogic_assets.cli.explain_error:explain_error",
}
"""Command → the function that is it. Its module is imported when the command is called."""

_CLEAN_UP_AT_EXIT = ("coverage", "dagster", "pyspark")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an arrow is no reason to fail on a terminal of the 1980s
    try:
        code = _answered(list(sys.argv[1:] if arguments is None else arguments))
    except BrokenPipeError:  # `lakelogic graph | head`: the reader has seen enough
        os._exit(1)
    _leave(code)


def _answered(words: list[str]) -> int:
    from lakelogic_assets.cli.remembered import answered_from_memory

    code = answered_from_memory(words)
    if code is None:
        from lakelogic_assets.cli.app import run

        gc.set_threshold(50_000, 20, 20)  # models and trees come to stay: looking for garbage early finds none
        code = run(words)
    return code


def _leave(code: int) -> None:
    """Flush and end at once: taking apart thousands of model classes would take longer than most answers."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os._exit(1)
    if any(name in sys.modules for name in _CLEAN_UP_AT_EXIT):
        sys.exit(code)
    os._exit(code)

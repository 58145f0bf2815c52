"""Tables of plain Parquet files: whole windows, published at once, with their proof beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.audit import audit

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = """
model: {fields: [{name: id, type: int}, {name: fare, type: double}]}
quality: {row_rules: [{name: pos, sql: fare >= 0}], dataset_rules: [{unique: id}]}
"""
APPEND = MODEL + "materialization: {strategy: append, format: parquet}"
OVERWRITE = MODEL + "materialization: {strategy: overwrite, format: parquet}"
SCHEMA = "id int, fare double"
ONE, TWO = Window.day("2026-02-01"), Window.day("2026-02-02")


def ids(sandbox: Sandbox, text: str) -> list[int]:
    target = sandbox.processor(text).destination.target
    return sorted(row.id for row in sandbox.spark.read.parquet(target).collect())


def test_a_window_run_twice_leaves_one_copy_and_its_proof(sandbox: Sandbox) -> None:
    for _ in range(2):
        sandbox.run(APPEND, [(1, 1.0), (2, -1.0)], SCHEMA, window=ONE)
    sandbox.run(APPEND, [(3, 1.0)], SCHEMA, window=TWO)
    assert ids(sandbox, APPEND) == [1, 3]
    assert sandbox.quarantine(APPEND, "id") == [(2,)]
    destination = sandbox.processor(APPEND).destination
    assert not delta_log.is_table(destination.target)
    runs = audit(destination)
    assert [(run.window, run.generation, run.good, run.holds) for run in runs] == [
        ("2026-02-01", 2, 1, True),
        ("2026-02-02", 1, 1, True),
    ]


def test_an_audit_finds_files_that_are_gone(sandbox: Sandbox) -> None:
    sandbox.run(APPEND, [(1, 1.0)], SCHEMA, window=ONE)
    destination = sandbox.processor(APPEND).destination
    for file in Path(destination.target).rglob("*.parquet"):
        file.unlink()
    assert audit(destination)[0].faults == ("1 rows are good and Delta wrote 0",)


def test_an_overwrite_replaces_everything_and_a_wider_window_what_it_covers(sandbox: Sandbox) -> None:
    sandbox.run(OVERWRITE, [(1, 1.0)], SCHEMA, window=ONE)
    sandbox.run(OVERWRITE, [(2, 1.0)], SCHEMA, window=TWO)
    assert ids(sandbox, OVERWRITE) == [1, 2]
    sandbox.run(OVERWRITE, [(3, 1.0)], SCHEMA, window=Window.range("2026-02-01", "2026-02-03"))
    assert ids(sandbox, OVERWRITE) == [3]
    with pytest.raises(EngineError, match="shares days with"):
        sandbox.run(OVERWRITE, [(4, 1.0)], SCHEMA, window=ONE)
    assert ids(sandbox, OVERWRITE) == [3]
    sandbox.run(OVERWRITE, [(5, 1.0)], SCHEMA)
    assert ids(sandbox, OVERWRITE) == [5]


def test_a_blocked_window_leaves_what_was_there(sandbox: Sandbox) -> None:
    sandbox.run(APPEND, [(1, 1.0)], SCHEMA, window=ONE)
    assert sandbox.run(APPEND, [(2, 1.0), (2, 1.0)], SCHEMA, window=ONE).status == "blocked"
    assert ids(sandbox, APPEND) == [1]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("renames", range(4))
def test_a_window_that_covers_others_replaces_all_of_them_or_none(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Two days and the window of both are moved: a kill may come before each of the three moves, or after the last."""
    both = Window.range("2026-02-01", "2026-02-03")
    sandbox.run(OVERWRITE, [(1, 1.0)], SCHEMA, window=ONE)
    sandbox.run(OVERWRITE, [(2, 1.0)], SCHEMA, window=TWO)
    rename, rmtree, moves = Path.rename, shutil.rmtree, []

    def moved(path: Path, target: Path) -> Path:
        if "_lakelogic_window=" in str(target):
            if len(moves) == renames:
                raise Killed
            moves.append(target)
        return rename(path, target)

    def removed(path: Path, **options: Any) -> None:
        if len(moves) == renames:
            raise Killed
        rmtree(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", moved)
        patched.setattr(shutil, "rmtree", removed if renames else rmtree)
        with pytest.raises(Killed):
            sandbox.run(OVERWRITE, [(3, 1.0)], SCHEMA, window=both)
    parquet_table.heal(Path(sandbox.processor(OVERWRITE).destination.target))
    assert ids(sandbox, OVERWRITE) == ([1, 2] if renames < 3 else [3])
    sandbox.run(OVERWRITE, [(4, 1.0)], SCHEMA, window=both)
    assert ids(sandbox, OVERWRITE) == [4]


def test_a_contract_reads_the_files_of_another_by_name(sandbox: Sandbox) -> None:
    sandbox.run(APPEND, [(1, 1.0)], SCHEMA, window=ONE)
    below = "model: {fields: [{name: id, type: int}]}\nsource: {type: table, path: 'table:lakehouse.default.orders'}\n"
    below += "schema_policy: {unknown_fields: drop}"
    assert sandbox.processor(below, "below").run().counts.good == 1


@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_rows_of_plain_files_cannot_be_merged(sandbox: Sandbox, strategy: str) -> None:
    text = MODEL + f"primary_key: [id]\nmaterialization: {{strategy: {strategy}, format: parquet}}"
    with pytest.raises(EngineError, match="write `format: delta`"):
        sandbox.run(text, [(1, 1.0)], SCHEMA)

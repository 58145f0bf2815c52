"""Whatever asks a contract something gives the session back that it was answered in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.spark.ddl import apply_ddl
from lakelogic_assets.spark.driver.classic import ClassicDriver
from lakelogic_assets.spark.preview import preview
from lakelogic_assets.spark.table_checks import check_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.spark.conftest import Sandbox

TEXT = """\
model: {fields: [{name: id, type: int}]}
source: {type: landing, path: in, format: csv, options: {header: "true"}}
"""
BAD_LINK = TEXT + "links: [{name: rates, path: missing, type: parquet}]\n"


@pytest.fixture
def still_open(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sessions that were begun and not given back."""
    begun: list[int] = []
    new_session = ClassicDriver.new_session

    def noted(self: ClassicDriver, spark: SparkSession) -> SparkSession:
        made = new_session(self, spark)
        begun.append(id(made))
        return made

    @contextmanager
    def released(_: ClassicDriver, session: SparkSession) -> Iterator[None]:
        try:
            yield
        finally:
            begun.remove(id(session))

    monkeypatch.setattr(ClassicDriver, "new_session", noted)
    monkeypatch.setattr(ClassicDriver, "released", released)
    return begun


def test_a_session_is_given_back_by_everything_that_begins_one(sandbox: Sandbox, still_open: list[int]) -> None:
    (sandbox.folder / "in").mkdir()
    (sandbox.folder / "in" / "a.csv").write_text("id\n1\n")
    processor = sandbox.processor(TEXT)
    contract, workspace = processor.contract, processor.workspace
    apply_ddl(contract, sandbox.spark, workspace)
    preview(contract, sandbox.spark, workspace, FULL)
    processor.run()
    check_table(contract, sandbox.spark, workspace.lakehouse(contract), processor.destination)
    assert still_open == []


def test_a_session_is_given_back_when_its_links_cannot_be_read(sandbox: Sandbox, still_open: list[int]) -> None:
    processor = sandbox.processor(BAD_LINK)
    asked: list[Any] = [
        processor.run,
        lambda: processor.validate(sandbox.frame([(1,)], "id int")),
        lambda: preview(processor.contract, sandbox.spark, processor.workspace, FULL),
    ]
    for ask in asked:
        with pytest.raises(LakeLogicError):
            ask()
    assert still_open == []


def test_rows_that_were_judged_stay_readable_and_those_that_could_not_be_are_let_go(
    sandbox: Sandbox, still_open: list[int]
) -> None:
    text = "model: {fields: [{name: id, type: int}]}\nquality: {row_rules: [{name: r, sql: nothing > 0}]}\n"
    with pytest.raises(LakeLogicError):
        sandbox.validate(text, [(1,)], "id int")
    assert still_open == []
    assert sandbox.validate(TEXT, [(1,)], "id int").good.count() == 1
    assert len(still_open) == 1

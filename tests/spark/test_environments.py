"""A contract's source in another environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic_assets.processor import DataProcessor

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

TEXT = """
model: {fields: [{name: id, type: int}]}
source: {type: landing, path: in.csv, format: csv}
environments:
  prod: {path: elsewhere.jsonl, format: jsonl}
  test: {path: other.csv}
"""


def test_the_environment_of_the_project_chooses_path_and_format(sandbox: Sandbox) -> None:
    (sandbox.folder / "in.csv").write_text("id\n1\n")
    (sandbox.folder / "other.csv").write_text("id\n2\n")
    (sandbox.folder / "elsewhere.jsonl").write_text('{"id": 3}\n')
    path = sandbox.processor(TEXT).contract.place.path
    assert path is not None
    for environment, expected in (("prod", 3), ("test", 2), ("local", 1)):
        target = sandbox.folder / f"target_{environment}"
        processor = DataProcessor(path, spark=sandbox.spark, target=target, environment=environment)
        processor.run()
        assert sandbox.rows(str(target), "id") == [(expected,)]

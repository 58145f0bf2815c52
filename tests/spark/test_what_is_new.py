"""What an incremental run of a table reads where no column is said to tell what is new."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import boundaries

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = "model: {fields: [{name: id, type: int}, {name: at, type: int}, {name: y, type: int}, {name: m, type: int}]}\n"
MERGE = MODEL + "primary_key: [id]\nmaterialization: {strategy: merge}\nsource: {type: delta, path: PATH, "
CONTRACTS = {
    "versions": MODEL
    + "materialization: {strategy: append}\nsource: {type: delta, path: PATH, load_mode: incremental}\n",
    "feed": MERGE + "load_mode: cdc, cdc_timestamp_field: at}\n",
    "parts": MERGE + "load_mode: incremental, watermark_date_parts: [y, m]}\n",
    "parts appended": MODEL
    + "materialization: {strategy: append}\n"
    + "source: {type: delta, path: PATH, load_mode: incremental, watermark_date_parts: [y, m]}\n",
    "looking back": MODEL
    + "materialization: {strategy: append}\nsource: {type: delta, path: PATH, load_mode: incremental, lookback: 3d}\n",
}
BY_VERSION = {"versions", "parts appended", "looking back"}


def test_a_table_without_a_stamp_is_read_on_from_where_the_last_run_came_to(sandbox: Sandbox) -> None:
    path = str(sandbox.folder / "source")
    texts = {name: text.replace("PATH", path) for name, text in CONTRACTS.items()}
    read: dict[str, tuple[int, ...]] = dict.fromkeys(texts, ())
    for batch in ([(1, 10, 2026, 1), (2, 20, 2026, 2)], [(3, 20, 2026, 2), (4, 15, 2025, 12)]):
        sandbox.frame(batch, "id int, at int, y int, m int").write.format("delta").mode("append").save(path)
        for name, text in texts.items():
            report = sandbox.processor(text, name).run()
            read[name] += (report.counts.source,)
            assert any("versions of the table" in warning for warning in report.warnings) == (name in BY_VERSION)
    # Rows of the very last moment or day are read again, as some of it may have come after the run that saw it.
    assert read == dict.fromkeys(texts, (2, 2))
    found = {
        name: [row[0] for row in sandbox.rows(sandbox.processor(text, name).destination.target, "id")]
        for name, text in texts.items()
    }
    assert found == {name: [1, 2, 3, 4] if name in BY_VERSION else [1, 2, 3] for name in texts}
    assert all(sandbox.processor(text, name).run().status == "no_new_data" for name, text in texts.items())


def test_plain_files_that_do_not_tell_what_is_new_are_appended_once_and_then_refused(sandbox: Sandbox) -> None:
    upstream = MODEL + 'materialization: {strategy: overwrite, format: parquet, target_path: "table:shop.up"}\n'
    text = MODEL + (
        'materialization: {strategy: append}\nsource: {type: table, path: "table:shop.up", load_mode: incremental}\n'
    )
    rows = [(1, 10, 2026, 1), (2, 20, 2026, 2)]
    for count in (1, 2):
        sandbox.processor(upstream, "up").run(sandbox.frame(rows[:count], "id int, at int, y int, m int"))
        if count == 1:
            assert sandbox.processor(text).run().counts.good == 1
    with pytest.raises(EngineError, match=r"source\.watermark_field"):
        sandbox.processor(text).run()
    assert sandbox.target(text, "id") == [(1,)]


def test_files_that_many_runs_have_read_are_summed_up_and_read_once(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundaries, "_MANY_REPORTS", 1)
    text = "model: {fields: [{name: id, type: int}]}\nmaterialization: {strategy: append}\n"
    landing = sandbox.folder / "in"
    landing.mkdir()
    text += f"source: {{type: landing, path: {landing}, format: csv, load_mode: incremental}}\n"
    for number in range(3):
        (landing / f"{number}.csv").write_text(f"id\n{number}\n", encoding="utf-8")
        assert sandbox.processor(text).run().counts.good == 1
    place = sandbox.processor(text).destination
    assert json.loads(place.known_files.read_text(encoding="utf-8"))["rows"] == 2
    assert sandbox.processor(text).run().status == "no_new_data"

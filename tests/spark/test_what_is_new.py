"""What an incremental run of a table reads where no column is said to tell what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = "model: {fields: [{name: id, type: int}, {name: at, type: int}, {name: y, type: int}, {name: m, type: int}]}\n"
MERGE = MODEL + "primary_key: [id]\nmaterialization: {strategy: merge}\nsource: {type: delta, path: PATH, "
CONTRACTS = {
    "versions": MODEL
    + "materialization: {strategy: append}\nsource: {type: delta, path: PATH, load_mode: incremental}\n",
    "feed": MERGE + "load_mode: cdc, cdc_timestamp_field: at}\n",
    "parts": MERGE + "load_mode: incremental, watermark_date_parts: [y, m]}\n",
}


def test_a_table_without_a_stamp_is_read_on_from_where_the_last_run_came_to(sandbox: Sandbox) -> None:
    path = str(sandbox.folder / "source")
    texts = {name: text.replace("PATH", path) for name, text in CONTRACTS.items()}
    read: dict[str, tuple[int, ...]] = dict.fromkeys(texts, ())
    for batch in ([(1, 10, 2026, 1), (2, 20, 2026, 2)], [(3, 20, 2026, 2), (4, 15, 2025, 12)]):
        sandbox.frame(batch, "id int, at int, y int, m int").write.format("delta").mode("append").save(path)
        for name, text in texts.items():
            report = sandbox.processor(text, name).run()
            read[name] += (report.counts.source,)
            assert any("versions of the table" in warning for warning in report.warnings) == (name == "versions")
    # Rows of the very last moment or day are read again, as some of it may have come after the run that saw it.
    assert read == {"versions": (2, 2), "feed": (2, 2), "parts": (2, 2)}
    found = {
        name: [row[0] for row in sandbox.rows(sandbox.processor(text, name).destination.target, "id")]
        for name, text in texts.items()
    }
    assert found == {"versions": [1, 2, 3, 4], "feed": [1, 2, 3], "parts": [1, 2, 3]}
    assert all(sandbox.processor(text, name).run().status == "no_new_data" for name, text in texts.items())

"""Contracts that would read, write, move or delete outside of the project, and one row that would like to."""

from __future__ import annotations

from typing import NamedTuple

from tests.security.entries import contract

OUT = "outside of the project's roots"
LOGIC = "leads out of `external_logic.roots`"
SOURCE = "{type: landing, path: %s, format: csv}"
IN = "{type: landing, path: in, format: csv, %s}"


class Place(NamedTuple):
    """A contract by the end of its name, what is hostile in it and what is said to that."""

    name: str
    says: str
    text: str


def _place(name: str, says: str, **sections: str) -> Place:
    info = f"{{title: T, table_name: silver_{name}, target_layer: silver}}"
    return Place(name, says, contract(info=info, **sections))


PLACES = (
    _place("absolute", OUT, source=SOURCE % "OUTSIDE"),
    _place("upward", OUT, source=SOURCE % "../outside"),
    _place("upward_within", OUT, source=SOURCE % "in/../../outside"),
    _place("glob", OUT, source=SOURCE % "'../outside/*.csv'"),
    _place("deep_glob", OUT, source=SOURCE % "'/**/*.csv'"),
    _place("by_variable", OUT, source=SOURCE % "'${HOME}/secret.csv'"),
    _place("by_default", OUT, source=SOURCE % "'${NOBODY:-OUTSIDE}'"),
    _place("address", OUT, source=SOURCE % "'file://OUTSIDE/secret.csv'"),
    _place("address_in_code", OUT, source=SOURCE % "'file:///%2e%2e/etc/hosts'"),
    _place("web", "folders and object stores", source=SOURCE % "'http://127.0.0.1:9/latest/meta-data'"),
    _place("ftp", "folders and object stores", source=SOURCE % "'ftp://127.0.0.1/x'"),
    _place("linked_folder", OUT, source=SOURCE % "away"),
    _place("linked_file", "link that leads out", source=SOURCE % "mixed"),
    _place("of_this_environment", OUT, environments="{local: {path: OUTSIDE, format: csv}}"),
    _place("deletes", OUT, source="{type: landing, path: OUTSIDE, format: csv, post_ingestion: {action: delete}}"),
    _place("archives", OUT, source=IN % "post_ingestion: {action: archive, archive_path: OUTSIDE/done}"),
    _place("archives_upward", OUT, source=IN % "post_ingestion: {action: archive, archive_path: ../outside}"),
    _place("archives_by_server", OUT, server="{post_ingestion: {action: archive, archive_path: OUTSIDE/done}}"),
    _place("notes", OUT, source=IN % "load_mode: incremental, watermark_strategy: manifest, manifest_path: OUTSIDE/m"),
    _place("log_of_another", OUT, source=IN % (
        "load_mode: incremental, watermark_strategy: pipeline_log, pipeline_log_table: OUTSIDE/log"
    )),
    _place("link", OUT, links="[{name: rates, path: OUTSIDE/secret.csv}]"),
    _place("link_upward", OUT, links="[{name: rates, path: ../outside/secret.csv, type: csv}]"),
    _place("link_to_the_web", "folders and object stores", links="[{name: rates, path: 'https://127.0.0.1/r.csv'}]"),
    _place("link_table", OUT, links="[{name: rates, table: OUTSIDE/table}]"),
    _place("target", OUT, materialization="{strategy: overwrite, target_path: OUTSIDE/table}"),
    _place("target_upward", OUT, materialization="{strategy: append, target_path: ../outside/table}"),
    _place("location", OUT, materialization="{strategy: append, location: 'file://OUTSIDE/table'}"),
    _place("target_behind_link", OUT, materialization="{strategy: append, target_path: ./away/table}"),
    _place("table_name_with_dots", "write catalog.schema.table", materialization=(
        "{strategy: append, target_path: 'a...b'}"
    )),
    _place("quarantine", OUT, quarantine="{location: OUTSIDE/bad}"),
    _place("quarantine_upward", OUT, quarantine="{target: ../outside/bad}"),
    _place("run_log", OUT, metadata="{run_log_table: OUTSIDE/log}"),
    _place("code", LOGIC, external_logic="{type: python, path: ../../../outside/evil.py, engine: spark}"),
    _place("code_by_its_path", LOGIC, external_logic="{type: python, path: OUTSIDE/evil.py, engine: spark}"),
    _place("code_behind_link", LOGIC, external_logic="{type: python, path: ../../away/evil.py, engine: spark}"),
    _place("calendar_outside", LOGIC, external_logic=(
        "{type: python, path: ../../../outside/dim_date.py, args: {start_date: 2026-01-01, end_date: 2026-01-02}}"
    )),
    _place("output_of_code", OUT, external_logic=(
        "{type: python, path: good.py, engine: spark, handles_output: true, output_path: OUTSIDE/secret.csv}"
    )),
)  # fmt: skip

VALUES = (
    "x' OR '1'='1", '"; DROP TABLE silver_values; --', "two\nlines", "back\\slash", "../../outside/x", "/etc/passwd",
    "%2e%2e%2foutside", "${HOME}", "{{ 7 * 7 }}", "{0.__class__}", "a=b/c=d", "`tick`",
    "\x1b[2J", "\u202eevil", "'", "\\'; --", "NULL", "=cmd|' /C calc'!A0",
)  # fmt: skip
"""What may stand in a row, a subject's id among it: whatever it is, it is data. No command takes such an id yet."""

VALUES_CONTRACT = contract(
    info="{title: T, table_name: silver_values, target_layer: silver}",
    source="{type: landing, path: odd, format: jsonl}",
    model="{fields: [{name: order_id, type: string}, {name: note, type: string}]}",
    primary_key="[order_id]",
    materialization="{strategy: merge, partition_by: [note]}",
)
ENDLESS_CONTRACT = contract(
    info="{title: T, table_name: silver_endless, target_layer: silver}",
    quality="{row_rules: [{name: endless, sql: 'size(sequence(1, 1000000000000)) > 0'}]}",
)

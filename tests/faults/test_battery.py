"""A short seed of `make faults`: real processes are killed, sources and tables changed under them, no row is lost."""

from __future__ import annotations

from pathlib import Path

from faults.__main__ import battery, table
from faults.catalogue import Fault

SHORT = [
    Fault("border", "merge", True, "next", 1, {"border": "after quarantine", "act": "kill python"}),
    Fault("border", "scd2", False, "next", 2, {"border": "after commit", "act": "kill jvm"}),
    Fault("appearance", "append", False, "next", 3, {"appearance": "commit", "act": "kill both"}),
    Fault("source", "partition", True, "next", 4, {"act": "replace", "border": "after prepare"}),
    Fault("dropped", "append", False, "next", 5, {"border": "before commit", "act": "drop table"}),
    Fault("conflict", "merge", False, "next", 6, {"border": "before commit", "act": "foreign delete"}),
]


def test_no_row_is_lost_doubled_or_half_published(tmp_path: Path) -> None:
    found = battery(SHORT, tmp_path, lanes=1)
    assert len(found) == len(SHORT)
    assert all(finding.is_clean for _, finding in found), table(found)

"""docs/security.md names tests that exist, and none of the security tests is left out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]


def test_every_threat_has_something_that_stops_it_and_a_test_that_is_there() -> None:
    threats = [row for row in ROWS if row[0] != "threat"]
    assert len(threats) >= 15
    for row in threats:
        assert len(row) == 3, row
        named = re.findall(r"`(tests/[\w/]+\.py)`", row[2])
        assert named, row
        assert all((ROOT / name).is_file() for name in named), row


def test_every_security_test_is_named() -> None:
    own = {f"tests/security/{path.name}" for path in Path(__file__).parent.glob("test_*.py")}
    assert own - {"tests/security/test_documentation.py"} <= set(re.findall(r"tests/[\w/]+\.py", PAGE))


def test_the_modules_it_names_are_there() -> None:
    for name in re.findall(r"`((?:contract|spark)/\w+\.py)`", PAGE):
        assert (ROOT / "lakelogic_assets" / name).is_file(), name

"""Whatever comes to a door is refused in a sentence or treated as text, and nothing outside of the project changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.security import hostile_sql, hostile_words, hostile_yaml
from tests.security.entries import Entry
from tests.security.grounds import Grounds, said_in_process, said_with_little_memory
from tests.security.hostile_places import PLACES

ENTRIES = (*hostile_yaml.ENTRIES, *hostile_sql.ENTRIES, *hostile_words.ENTRIES)
SECONDS = 20
LONGEST_LINE = 4_000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.door}: {entry.name}")
def test_a_hostile_entry_is_refused_in_a_sentence_and_touches_nothing(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grounds = Grounds.made(tmp_path, monkeypatch)
    grounds.put(entry.files)
    grounds.link(entry.links)
    for name, value in entry.environ.items():
        monkeypatch.setenv(name, value)
    before = grounds.state()
    words = [grounds.filled(word) for word in entry.words]
    said = said_with_little_memory(words) if entry.is_bomb else said_in_process(words)
    assert grounds.state() == before
    assert said.code == entry.code, said.text[:2_000]
    assert re.search(entry.says, said.text, re.IGNORECASE), said.text[:2_000]
    assert "Traceback" not in said.text
    assert not CONTROL.search(said.text), "a sign that moves the cursor, or turns the text, reached the terminal"
    assert not any(value in said.text for value in entry.environ.values() if "MARK" in value)
    assert max(map(len, said.text.splitlines()), default=0) <= LONGEST_LINE
    assert said.seconds < SECONDS


def test_the_battery_is_large_and_no_entry_stands_twice() -> None:
    told = [(entry.words, tuple(entry.files.items()), tuple(entry.environ.items())) for entry in ENTRIES]
    assert len({(entry.door, entry.name) for entry in ENTRIES}) == len(set(told)) == len(ENTRIES)
    assert len(ENTRIES) + len(PLACES) >= 150

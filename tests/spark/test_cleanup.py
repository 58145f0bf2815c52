"""What happens to landing files after they were read; no file is lost on the way, whoever delivers meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark import cleanup
from lakelogic_assets.spark.cleanup import clean_up_files
from lakelogic_assets.spark.sources.listing import list_files
from lakelogic_assets.spark.sources.snapshot import FileStat
from lakelogic_assets.spark.tables import Lakehouse

MONDAY, TUESDAY = 1_800_000_000, 1_800_086_400


class Landing:
    def __init__(self, folder: Path, action: str = "archive") -> None:
        self.folder = folder / "in"
        self.archive = folder / "done"
        self.folder.mkdir()
        self.lakehouse = Lakehouse(folder / "lake", project_root=folder, contract_folder=folder)
        policy = {"action": action, "archive_path": "done"}
        source = {"type": "landing", "path": "in", "format": "csv", "post_ingestion": policy}
        self.contract = Contract.model_validate({"info": {"title": "t", "table_name": "made"}, "source": source})
        self.warnings: list[str] = []

    def land(self, text: str, at: int = MONDAY, name: str = "orders.csv") -> list[FileStat]:
        (self.folder / name).write_text(text)
        os.utime(self.folder / name, (at, at))
        return list_files(str(self.folder))

    def clean_up(self, files: list[FileStat]) -> None:
        clean_up_files(self.contract, self.lakehouse, files, str(self.folder), self.warnings.append)

    def landed(self) -> dict[str, str]:
        return _texts(self.folder)

    def archived(self) -> dict[str, str]:
        return _texts(self.archive)


def _texts(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


def _when(patch: pytest.MonkeyPatch, name: str, act: Any) -> None:
    """Lets somebody act right before the first call of a function of the module."""
    original = getattr(cleanup, name)

    def called(*given: Any, **named: Any) -> Any:
        patch.setattr(cleanup, name, original)
        act()
        return original(*given, **named)

    patch.setattr(cleanup, name, called)


def test_deliveries_under_one_name_lie_beside_each_other_in_the_archive(tmp_path: Path) -> None:
    landing = Landing(tmp_path)
    for text, at in (("monday", MONDAY), ("tuesday", TUESDAY), ("tuesday again", TUESDAY)):
        landing.clean_up(landing.land(text, at))
    first, second, third = sorted(landing.archived().items(), key=lambda each: len(each[0]))
    assert (first, second) == (("orders.csv", "monday"), ("orders.20270116T080000Z.csv", "tuesday"))
    assert third[0].startswith("orders.20270116T080000Z-")
    assert third[1] == "tuesday again"
    assert landing.landed() == {}
    assert landing.warnings == []


def test_the_same_bytes_are_archived_once(tmp_path: Path) -> None:
    landing = Landing(tmp_path)
    for at in (MONDAY, TUESDAY):
        landing.clean_up(landing.land("the same", at))
    assert (landing.archived(), landing.landed()) == ({"orders.csv": "the same"}, {})


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_a_file_that_is_replaced_while_others_are_moved_stays_and_is_read_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    landing = Landing(tmp_path, action)
    landing.land("a", name="a.csv")
    files = landing.land("b", name="b.csv")
    _when(monkeypatch, "_handle", lambda: landing.land("news", TUESDAY, "b.csv"))
    landing.clean_up(files)
    assert landing.landed() == {"b.csv": "news"}


def test_a_file_that_is_replaced_at_the_last_moment_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = Landing(tmp_path, "delete")
    files = landing.land("read")
    # After the last look at it, before it is taken aside.
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        landing.land("news", TUESDAY)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    landing.clean_up(files)
    assert landing.landed() == {"orders.csv": "news"}


def test_a_file_that_comes_while_another_is_given_back_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = Landing(tmp_path)
    files = landing.land("read")
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        landing.land("news", TUESDAY)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    _when(monkeypatch, "_move", lambda: landing.land("newer", TUESDAY + 1))
    landing.clean_up(files)
    assert landing.landed() == {"orders.csv": "newer", "orders.20270116T080000Z.csv": "news"}


def test_a_clean_up_that_died_with_a_file_aside_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = Landing(tmp_path)
    files = landing.land("read")

    def die() -> None:
        raise KeyboardInterrupt

    _when(monkeypatch, "_archived", die)
    with pytest.raises(KeyboardInterrupt):
        landing.clean_up(files)
    assert list(landing.landed()) == [f".orders.csv.4-{MONDAY}000000000.lakelogic-read"]
    assert list_files(f"{landing.folder}/.*") == []
    landing.clean_up(files)
    assert (landing.landed(), landing.archived()) == ({}, {"orders.csv": "read"})


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_a_name_that_is_delivered_again_after_a_clean_up_died_is_two_files_each_dealt_with_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    landing = Landing(tmp_path, action)
    first = landing.land("monday")

    def die() -> None:
        raise KeyboardInterrupt

    _when(monkeypatch, "_settle", die)
    with pytest.raises(KeyboardInterrupt):
        landing.clean_up(first)
    second = landing.land("tuesday", TUESDAY)
    landing.clean_up(first)
    assert landing.landed() == {"orders.csv": "tuesday"}
    landing.clean_up(second)
    archived = {"orders.csv": "monday", "orders.20270116T080000Z.csv": "tuesday"}
    assert (landing.landed(), landing.warnings) == ({}, [])
    assert action == "delete" or landing.archived() == archived


def test_what_a_dead_clean_up_has_left_aside_is_not_given_back_for_a_later_delivery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = Landing(tmp_path, "delete")
    first = landing.land("monday")

    def die() -> None:
        raise KeyboardInterrupt

    _when(monkeypatch, "_settle", die)
    with pytest.raises(KeyboardInterrupt):
        landing.clean_up(first)
    landing.clean_up(landing.land("tuesday", TUESDAY))
    assert list_files(str(landing.folder)) == []
    landing.clean_up(first)
    assert landing.landed() == {}


def test_an_archive_that_cannot_be_written_gives_the_file_back(tmp_path: Path) -> None:
    landing = Landing(tmp_path)
    landing.archive.write_text("a file where a folder should be")
    landing.clean_up(landing.land("read"))
    assert landing.landed() == {"orders.csv": "read"}
    assert "could not be archived: File exists" in landing.warnings[0]


def test_a_link_is_archived_as_the_file_it_stands_for(tmp_path: Path) -> None:
    landing = Landing(tmp_path)
    (tmp_path / "elsewhere.csv").write_text("linked")
    (landing.folder / "orders.csv").symlink_to("../elsewhere.csv")
    landing.clean_up(list_files(str(landing.folder)))
    assert (landing.landed(), landing.archived()) == ({}, {"orders.csv": "linked"})
    assert not (landing.archive / "orders.csv").is_symlink()


def test_a_disk_without_links_gets_the_file_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    landing = Landing(tmp_path)
    for text in ("monday", "tuesday"):
        landing.clean_up(landing.land(text))
    assert sorted(landing.archived().values()) == ["monday", "tuesday"]

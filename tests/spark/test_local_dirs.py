"""Rows that Spark writes while it works lie where nobody else looks, and go when their process is gone."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark.local_dirs import LOCAL_DIR, LOCAL_DIRS_VARIABLE, abandoned, bases, private_folder, sweep

HOLDS = """
import sys, time
from pathlib import Path
from lakelogic_assets.spark.local_dirs import private_folder
print(private_folder(Path(sys.argv[1])), flush=True)
time.sleep(600)
"""


def test_a_folder_is_for_its_user_alone_and_is_kept_while_its_process_lives(tmp_path: Path) -> None:
    folder = private_folder(tmp_path)
    assert [each.stat().st_mode & 0o777 for each in (folder, folder.parent)] == [0o700, 0o700]
    assert (sweep([tmp_path]), folder.is_dir()) == ([], True)


def test_what_a_killed_process_has_left_is_swept(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        folder = Path(process.stdout.readline().strip())
        (folder / "blockmgr-1").mkdir()
        (folder / "blockmgr-1" / "rdd_0_0").write_text("a person")
        assert abandoned([tmp_path]) == []
        process.send_signal(signal.SIGKILL)
    assert sweep([tmp_path, tmp_path / "nowhere"]) == [folder]
    assert [*folder.parent.iterdir()] == []


def test_a_folder_that_is_being_made_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        assert sweep([tmp_path]) == []
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    folder = private_folder(tmp_path)
    assert (sweep([tmp_path]), [*folder.iterdir()]) == ([], [folder / "owner"])


def test_what_is_being_swept_is_nobody_elses_to_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / f"lakelogic-{os.getuid()}" / "dead"
    folder.mkdir(parents=True)
    (folder / "owner").touch()
    remove, seen = shutil.rmtree, []

    def watched(*given: Any, **named: Any) -> None:
        seen.append(abandoned([tmp_path]))
        remove(*given, **named)

    monkeypatch.setattr(shutil, "rmtree", watched)
    assert (sweep([tmp_path]), seen, folder.exists()) == ([folder], [[]], False)


def test_a_folder_that_somebody_else_has_put_there_gets_no_rows(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / f"lakelogic-{os.getuid()}").symlink_to("away")
    with pytest.raises(ProjectError, match="belongs to somebody else"):
        private_folder(tmp_path)


def test_rows_go_to_the_disks_that_an_operator_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LOCAL_DIRS_VARIABLE, raising=False)
    assert bases({LOCAL_DIR: "/a, /b"}) == [Path("/a"), Path("/b")]
    monkeypatch.setenv(LOCAL_DIRS_VARIABLE, "/c")
    assert bases({LOCAL_DIR: "/a"}) == [Path("/c")]

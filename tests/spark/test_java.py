from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark import java


def install(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def a_machine_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda _name: None)
    monkeypatch.setattr(java, "INSTALLED", tmp_path / "jvm")


def test_java_home_wins_when_it_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "jvm" / "java-17", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "mine", "21.0.2")))
    assert java.java_home() == tmp_path / "mine"


def test_an_unsupported_default_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "old", "1.8.0_402")))
    install(tmp_path / "jvm" / "java-17", "17.0.1")
    assert java.java_home() == tmp_path / "jvm" / "java-17"


def test_no_supported_java_says_what_was_found_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "new", "25")))
    with pytest.raises(ProjectError, match=r"found only 25 in .*install openjdk-17-jre-headless"):
        java.java_home()


def test_no_java_at_all_says_what_to_install() -> None:
    with pytest.raises(ProjectError, match=r"found none.*install openjdk-17-jre-headless"):
        java.java_home()

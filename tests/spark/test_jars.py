from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark import jars

NAME = "io.delta_example-1.0.jar"
CONTENT = b"the jar that was pinned"


@pytest.fixture(autouse=True)
def one_small_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "SHA256", {NAME: hashlib.sha256(CONTENT).hexdigest()})


def resolving_to(content: bytes, name: str = NAME) -> jars.Resolver:
    def resolve(scratch: Path) -> Path:
        (scratch / name).write_bytes(content)
        return scratch

    return resolve


def no_network(_scratch: Path) -> Path:
    raise AssertionError("the network was asked for")


def test_a_missing_jar_is_resolved_and_the_scratch_folder_is_gone(tmp_path: Path) -> None:
    assert jars.fetch_jars(tmp_path, resolving_to(CONTENT)) == [tmp_path / NAME]
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_full_cache_is_used_without_the_network(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(CONTENT)
    assert jars.fetch_jars(tmp_path, no_network) == jars.cached_jars(tmp_path) == [tmp_path / NAME]


def test_a_resolved_jar_with_another_checksum_is_refused_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"has sha256 .*, expected"):
        jars.fetch_jars(tmp_path, resolving_to(b"something else"))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_jar_is_never_handed_to_spark(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(CONTENT[:-1])
    with pytest.raises(ProjectError, match="expected"):
        jars.cached_jars(tmp_path)


def test_a_damaged_jar_is_replaced_by_the_next_fetch(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(CONTENT[:-1])
    jars.fetch_jars(tmp_path, resolving_to(CONTENT))
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_a_missing_jar_says_which_command_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"python -m lakelogic_assets\.spark\.jars"):
        jars.cached_jars(tmp_path)


def test_a_resolution_without_the_pinned_jar_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="was not among the files"):
        jars.fetch_jars(tmp_path, resolving_to(CONTENT, name="another.jar"))


def test_an_unreachable_network_is_one_line() -> None:
    report = ":: problems ::\nException: [unresolved dependency: io.delta#delta-spark;1.0: not found]\n\tat x\n"
    assert jars._reason(report) == "unresolved dependency: io.delta#delta-spark;1.0: not found"


def test_the_folder_can_be_chosen_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_JARS_DIR", str(tmp_path))
    assert jars.jars_dir() == tmp_path


def test_a_checkout_keeps_its_jars_in_its_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKELOGIC_JARS_DIR", raising=False)
    assert jars.jars_dir() == Path(__file__).resolve().parents[2] / ".cache" / "jars"


def test_asking_for_the_jars_does_not_import_pyspark() -> None:
    code = "import sys, lakelogic_assets.spark.jars; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""`resources/*.yaml` and `partitions/*.yaml`: strict, and asked only for what the environment at hand needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.resources import Declarations, Spark, load_declarations
from lakelogic_assets.project import Project

Write = Callable[[Mapping[str, str]], Path]
NO_VARIABLES: Mapping[str, str] = {}


def codes(declarations: Declarations) -> list[tuple[str, int]]:
    return [(problem.code, problem.location.line) for problem in declarations.problems]


def test_a_project_without_declarations_has_none(tmp_path: Path) -> None:
    declarations = load_declarations(Project(tmp_path), NO_VARIABLES)
    assert declarations == Declarations()
    assert declarations.values == {}


def test_the_resource_of_the_environment_is_active_by_its_name_or_by_what_it_says(write: Write) -> None:
    folder = write(
        {"resources/local.yaml": "name: local\n", "resources/cluster.yaml": "name: cluster\nenvironment: production\n"}
    )
    active = {
        each: load_declarations(Project(folder, each), NO_VARIABLES).active
        for each in ("local", "production", "cluster", "x")
    }
    assert {each: resource and resource.name for each, resource in active.items()} == {
        "local": "local",
        "production": "cluster",
        "cluster": "cluster",
        "x": None,
    }


def test_roots_and_catalog_are_laid_over_the_registries(write: Write) -> None:
    folder = write(
        {"resources/local.yaml": "name: local\ncatalog: lake\nroots: {landing_root: '${HOME_OF_DATA}/in'}\n"}
    )
    declarations = load_declarations(Project(folder), {"HOME_OF_DATA": "/data"})
    assert declarations.values == {"landing_root": "/data/in", "catalog": "lake"}
    assert codes(declarations) == []


def test_spark_works_at_the_remote_else_at_the_master_and_an_empty_text_says_nothing() -> None:
    conf = {"spark.ui.enabled": False, "spark.executor.cores": 2}
    said = {"spark.ui.enabled": "false", "spark.executor.cores": "2"}
    master = Spark(master="spark://host:7077", remote="", conf=conf)
    assert master.settings == {"spark.master": "spark://host:7077", **said}
    assert Spark(master="yarn", remote="sc://host:15002").settings == {"spark.remote": "sc://host:15002"}
    assert Spark().settings == {}


def test_a_variable_that_is_not_set_is_told_only_for_the_active_resource(write: Write) -> None:
    folder = write(
        {
            "resources/local.yaml": "name: local\nconnections:\n  shop:\n    type: jdbc\n    url_env: SHOP_URL\n    options: {fetchsize: 5}\n",
            "resources/cluster.yaml": "name: cluster\nenvironment: production\nspark:\n  remote: ${SPARK_REMOTE}\n",
        }
    )
    assert codes(load_declarations(Project(folder), NO_VARIABLES)) == [("LL501", 5)]
    assert codes(load_declarations(Project(folder), {"SHOP_URL": "jdbc:x"})) == []
    assert codes(load_declarations(Project(folder, "production"), NO_VARIABLES)) == [("LL501", 4)]


def test_a_name_made_of_a_variable_is_told_and_not_a_crash(write: Write) -> None:
    folder = write({"resources/local.yaml": "name: ${WHO}\n"})
    assert codes(load_declarations(Project(folder), NO_VARIABLES)) == [("LL504", 1), ("LL501", 1)]


def test_a_secret_never_stands_in_a_file(write: Write) -> None:
    folder = write(
        {"resources/local.yaml": "name: local\nconnections:\n  shop:\n    type: jdbc\n    password_env: hunter2\n"}
    )
    declarations = load_declarations(Project(folder), NO_VARIABLES)
    assert codes(declarations) == [("LL104", 5)]
    assert "secrets never stand in a file" in declarations.problems[0].message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: daily\ncadence: daily\nstart: 2026-01-01\n", None),
        (
            "name: daily\ncadence: hourly\nstart: 2026-01-01T06:00\nend: 2026-01-02\ntimezone: Europe/Paris\nend_offset: 1\n",
            None,
        ),
        ("name: daily\ncadence: yearly\nstart: 2026-01-01\n", ("LL104", 2)),
        ("name: daily\ncadence: daily\n", ("LL102", 1)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\ntimezone: ../../etc/passwd\n", ("LL502", 4)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\ntimezone: ''\n", ("LL502", 4)),
        ("name: daily\ncadence: daily\nstart: 2026-01-02\nend: 2026-01-02\n", ("LL105", 1)),
        ("- daily\n", ("LL009", 1)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: [eu, us]}\n", None),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: []}\n", ("LL102", 4)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: [eu, eu]}\n", ("LL116", 4)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: ['e|u']}\n", ("LL104", 4)),
        ("name: daily\ncadence: daily\nstart: 2026-01-01\nstatic: {column: region, values: [' eu']}\n", ("LL104", 4)),
    ],
)
def test_a_row_of_windows_is_checked(write: Write, text: str, code: tuple[str, int] | None) -> None:
    declarations = load_declarations(Project(write({"partitions/daily.yaml": text})), NO_VARIABLES)
    assert codes(declarations) == ([code] if code else [])
    assert ("daily" in declarations.partitions) is (code is None)


def test_other_files_are_left_alone(write: Write) -> None:
    folder = write({"resources/README.md": "# not YAML: [", "resources/local.yml": "name: local\n"})
    declarations = load_declarations(Project(folder), NO_VARIABLES)
    assert list(declarations.resources) == ["local"]
    assert declarations.files == 1


def test_equal_sets_are_one_definition(write: Write) -> None:
    text = "cadence: daily\nstart: 2026-01-01\nname: daily\nstatic: {column: region, values: [eu, us]}\n"
    folder = write({"partitions/daily.yaml": text})
    first, second = (load_declarations(Project(folder), NO_VARIABLES).partitions["daily"] for _ in range(2))
    assert first is not second
    assert len({first, second}) == 1
    assert first.static
    assert (first.static.column, first.static.values) == ("region", ("eu", "us"))


def test_dagster_runs_a_backfill_at_once_unless_told_otherwise(write: Write) -> None:
    folder = write(
        {
            "resources/local.yaml": "name: local\n",
            "resources/big.yaml": "name: big\ndagster: {backfill: 7, file_sensor: false, retries: 0, retry_seconds: 0.5}\n",
        }
    )
    usual, big = (load_declarations(Project(folder), NO_VARIABLES).resources[name].dagster for name in ("local", "big"))
    assert (usual.backfill, usual.file_sensor, usual.retries, usual.retry_seconds) == ("single_run", True, 2, 5)
    assert (big.backfill, big.file_sensor, big.retries, big.retry_seconds) == (7, False, 0, 0.5)


@pytest.mark.parametrize("backfill", ["true", "'7'", "0", "2.5", "chunks"])
def test_a_backfill_is_single_or_a_number_of_partitions(write: Write, backfill: str) -> None:
    folder = write({"resources/local.yaml": f"name: local\ndagster: {{backfill: {backfill}}}\n"})
    assert [line for _, line in codes(load_declarations(Project(folder), NO_VARIABLES))] == [2]

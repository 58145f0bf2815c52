"""Python beside a contract: when it may run, how it is called, and what becomes of what it returns."""

from __future__ import annotations

import hashlib
import importlib
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.errors import EngineError, ProjectError
from lakelogic_assets.spark import date_dimension
from lakelogic_assets.spark.date_dimension import generate_date_dimension
from lakelogic_assets.spark.external_logic import code_hash, run_logic
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.tables import Lakehouse

ALLOWED = ExternalLogicPolicy(allowed=True, roots=("contracts",))
Run = Callable[..., DataFrame]


class Project:
    """A project folder with one contract in it, and what a run of its logic warned about."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root, self.warnings = spark, root, list[str]()
        self.folder = root / "contracts" / "gold"
        self.folder.mkdir(parents=True)

    def write(self, code: str, name: str = "logic.py") -> Path:
        file = self.folder / name
        file.write_text(code)
        return file

    def scope(self, **said: Any) -> Scope:
        logic = {"type": "python", "path": "logic.py", "engine": "spark", **said}
        fields = [{"name": "id", "type": "long"}, {"name": "v"}]
        contract = Contract.model_validate({"external_logic": logic, "model": {"fields": fields}})
        placed = contract.with_place(Place(path=self.folder / "contract.yaml"))
        lakehouse = Lakehouse(self.root / "lake", project_root=self.root, contract_folder=self.folder)
        links = {"cities": self.spark.range(3)}
        return Scope(self.spark, placed, lakehouse, "run", "run", datetime.now(UTC), self.warnings.append, links)

    def run(self, code: str | None = None, policy: ExternalLogicPolicy = ALLOWED, **said: Any) -> DataFrame:
        if code is not None:
            self.write(code)
        return run_logic(self.spark.range(2), self.scope(**said), policy, self.root)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Project:
    return Project(spark, tmp_path)


def test_only_what_the_function_takes_is_passed(project: Project) -> None:
    everything = """
def run(df, contract, links, engine, factor=1):
    return df.selectExpr(f"id * {factor} AS id", f"'{contract.table} {engine} {len(links)}' AS v")
"""
    assert project.run(everything, args={"factor": 3, "unused": 1}).collect() == [
        (0, "contract spark 1"),
        (3, "contract spark 1"),
    ]
    assert project.run(
        "def run(good_df=None, contract=None, **kwargs): return [{'id': kwargs['n'], 'v': kwargs['engine']}]",
        args={"n": 7},
    ).collect() == [(7, "spark")]
    assert project.run(
        "def make(start, stop): return [{'id': n} for n in range(start, stop)]",
        entrypoint="make",
        args={"start": 4, "stop": 5},
    ).collect() == [(4,)]


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        ("None", [(0,), (1,)]),
        ("(df.where('id = 1'), {'note': 1})", [(1,)]),
        ("[{'id': 1, 'v': None}, {'v': 'x', 'w': 1.5}]", [(1, None, None), (None, "x", 1.5)]),
        ("[{'v': 1}, {'v': 'x'}]", [("1",), ("x",)]),
        ("[]", []),
        (
            "pa.table({'u': pa.array([5], 'uint32'), 's': pa.array(['a'], 'large_string')})",
            [(5, "a")],
        ),
        ("pa.record_batch({'a': [1]})", [(1,)]),
    ],
)
def test_whatever_is_returned_becomes_a_frame(project: Project, returned: str, rows: list[tuple[Any, ...]]) -> None:
    assert project.run(f"import pyarrow as pa\ndef run(df): return {returned}").collect() == rows


def test_an_empty_list_has_the_declared_columns(project: Project) -> None:
    assert project.run("def run(): return []").dtypes == [("id", "bigint"), ("v", "string")]


def test_a_path_is_read_as_the_output(project: Project) -> None:
    written = project.folder / "out.csv"
    code = f"""
from pathlib import Path
def run():
    written = Path({str(written)!r})
    written.write_text('id,v\\n1,a\\n')
    return written
"""
    assert project.run(code).collect() == [("1", "a")]
    assert project.run("def run(): return 'out.csv'").collect() == [("1", "a")]
    assert project.run("def run(): pass", handles_output=True, output_path="out.csv").collect() == [("1", "a")]
    with pytest.raises(EngineError, match="'nowhere', where nothing is"):
        project.run("def run(): return 'nowhere'")
    with pytest.raises(EngineError, match="returned a int"):
        project.run("def run(): return 5")


def test_the_calendar_of_a_public_contract_is_there_while_its_generator_runs(project: Project) -> None:
    code = """
from lakelogic.core.dim_date import generate_date_dimension
def run(good_df=None, contract=None, **kwargs):
    wanted = {name: kwargs[name] for name in ("start_date", "end_date", "fiscal_year_start_month")}
    return generate_date_dimension(engine="polars", **wanted)
"""
    dates = project.run(code, args={"start_date": "2020-01-01", "end_date": "2030-12-31", "fiscal_year_start_month": 4})
    assert dates.count() == 4018
    wanted = "date_key full_date year quarter month month_name day day_of_week day_name is_weekend iso_week".split()
    wanted += ["is_holiday_us", "is_holiday_uk"]
    assert set(wanted) <= set(dates.columns)
    assert dict(dates.dtypes)["full_date"] == "date"
    assert not {"lakelogic", "lakelogic.core"} & set(sys.modules)


def test_the_calendar_cannot_be_imported_outside_of_external_logic(project: Project) -> None:
    project.run("import lakelogic.core.dim_date\ndef run(df): return df")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("lakelogic")
    with pytest.raises(EngineError, match="ModuleNotFoundError"):
        project.run("import lakelogic.engine\ndef run(df): return df")


def test_a_generator_may_work_on_the_calendar_as_a_frame(project: Project) -> None:
    of_spark = project.run(
        "from lakelogic.core.dim_date import generate_date_dimension as days\n"
        "def run(df): return days('2024-01-01', '2024-01-03', engine='spark').where('day > 1').select('full_date')"
    )
    assert [str(row.full_date) for row in of_spark.collect()] == ["2024-01-02", "2024-01-03"]
    without_library = project.run(
        "from lakelogic.core.dim_date import generate_date_dimension as days\n"
        "def run(df): return days('2024-01-01', '2024-01-03', engine='polars').to_arrow().select(['date_key'])"
    )
    assert [row.date_key for row in without_library.collect()] == [20240101, 20240102, 20240103]


DAYS = {"start_date": "2020-01-01", "end_date": "2030-12-31", "fiscal_year_start_month": 4}


def test_a_calendar_whose_file_was_not_published_is_the_engines_own(project: Project) -> None:
    absent = "../_generators/dim_date.py"
    dates = project.run(path=absent, args=DAYS)
    assert (dates.count(), dates.where("is_holiday_us IS NULL AND fiscal_year = 2019").count()) == (4018, 91)
    assert absent in project.warnings[0]
    own_code = hashlib.sha256(Path(date_dimension.__file__).read_bytes()).hexdigest()
    assert code_hash(project.scope(path=absent, args=DAYS), ALLOWED, project.root) == own_code
    with pytest.raises(EngineError, match=r"start_date: 2020-13-01.* write days such as 2026-01-31"):
        project.run(path=absent, args=DAYS | {"start_date": "2020-13-01"})
    project.write("def run(start_date): return [{'id': 1}]", "dim_date.py")
    assert project.run(path="dim_date.py", args=DAYS).collect() == [(1,)]


def test_a_calendar_answers_as_frames_of_other_libraries_do() -> None:
    days = generate_date_dimension("2024-01-01", "2024-01-02")
    few = days.select("date_key", "day_name").rename({"date_key": "key"})
    assert (few.columns, few.shape, few.height, len(few)) == (["key", "day_name"], (2, 2), 2, 2)
    assert few.rows() == list(few.iter_rows()) == [(20240101, "Monday"), (20240102, "Tuesday")]
    assert few.rows(named=True) == few.to_dicts() == [dict(zip(few.columns, row, strict=True)) for row in few.rows()]
    assert days.select(["full_date", "year"]).to_pandas()["year"].tolist() == [2024, 2024]


def test_days_know_their_place_in_every_calendar() -> None:
    first, second = generate_date_dimension(
        "2024-03-31", date(2024, 4, 1), 4, custom_holidays={"2024-04-01": "Easter Monday"}, engine="polars"
    )
    assert (first["date_key"], first["day_name"], first["is_weekend"], first["is_month_end"]) == (
        20240331,
        "Sunday",
        True,
        True,
    )
    assert (first["fiscal_year"], first["fiscal_month"], first["fiscal_quarter"]) == (2023, 12, 4)
    assert (second["fiscal_year"], second["fiscal_month"], second["iso_week"]) == (2024, 1, 14)
    assert (second["holiday_name"], second["is_business_day"], second["day_of_week"]) == ("Easter Monday", False, 0)


def test_neighbours_can_be_imported_and_are_forgotten(project: Project) -> None:
    project.write("VALUE = 1", "neighbour.py")
    code = "import neighbour\ndef run(): return [{'id': neighbour.VALUE}]"
    assert project.run(code).collect() == [(1,)]
    project.write("VALUE = 2", "neighbour.py")
    assert project.run().collect() == [(2,)]
    assert "neighbour" not in sys.modules
    assert str(project.folder) not in sys.path
    assert not list(project.folder.glob("__pycache__"))


def test_functions_for_spark_workers_travel_with_their_frame(project: Project) -> None:
    project.write("def twice(n): return n * 2", "neighbour.py")
    code = """
import neighbour
from pyspark.sql.functions import udf
def more(n): return neighbour.twice(n) + 1
def run(df): return df.select(udf(more, "long")("id").alias("id"))
"""
    assert project.run(code).collect() == [(1,), (3,)]


def test_another_engine_is_warned_about(project: Project) -> None:
    project.run("def run(df): return df", engine="polars")
    assert "engine: polars" in project.warnings[0]


@pytest.mark.parametrize(
    ("policy", "said", "complaint"),
    [
        (
            ExternalLogicPolicy(),
            {},
            r"set `external_logic.allowed: true` and name its folder in `external_logic.roots`",
        ),
        (ExternalLogicPolicy(allowed=True, roots=("scripts",)), {}, r"leads out of `external_logic.roots` \(scripts\)"),
        (ALLOWED, {"path": "../../../outside.py"}, "leads out"),
        (ALLOWED, {"path": "link.py"}, "leads out"),
        (ALLOWED, {"path": "absent.py"}, "is not a Python file"),
        (ALLOWED, {"path": "absent.py", "args": DAYS}, "is not a Python file"),
        (ALLOWED, {"path": "dim_date.py", "args": {"start_date": "2020-01-01"}}, "is not a Python file"),
        (ALLOWED, {"path": "../../../dim_date.py", "args": DAYS}, "leads out"),
        (ALLOWED, {"path": "contract.yaml"}, "is not a Python file"),
    ],
)
def test_a_file_runs_only_where_it_is_allowed(
    project: Project, policy: ExternalLogicPolicy, said: dict[str, Any], complaint: str
) -> None:
    (project.root.parent / "outside.py").write_text("def run(): return []")
    (project.folder / "link.py").symlink_to(project.root.parent / "outside.py")
    (project.folder / "contract.yaml").touch()
    with pytest.raises(ProjectError, match=complaint) as refused:
        project.run("raise SystemExit('must not run')", policy=policy, **said)
    assert "\n" not in str(refused.value)


def test_a_notebook_is_not_supported(project: Project) -> None:
    with pytest.raises(EngineError, match="notebook` is not supported"):
        project.run("", type="notebook")


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("def run(df):\n    raise ValueError('jane@x.org is bad')", r"logic.py: run\(\) failed in line 2: ValueError$"),
        ("import absent_library", "failed in line 1: ModuleNotFoundError: No module named 'absent_library'"),
        ("def run(df, needed): pass", "failed: TypeError: run.* missing 1 required positional argument: 'needed'"),
        ("def run(:", "failed in line 1: SyntaxError: invalid syntax"),
        ("def other(): pass", "logic.py has no function `run`"),
        ("def run(df):\n    exit(3)", "failed in line 2: SystemExit"),
        ("def run(df):\n    return df.select('nope')", "failed in line 2: .*UNRESOLVED_COLUMN"),
        (
            "def run(df):\n    df.selectExpr(\"cast('jane' || id as int)\").collect()",
            "failed in line 2: .*CAST_INVALID_INPUT",
        ),
    ],
)
def test_failures_name_file_function_and_cause_but_no_values(project: Project, code: str, complaint: str) -> None:
    with pytest.raises(EngineError, match=complaint) as failed:
        project.run(code)
    assert "jane" not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert failed.value.__cause__ is None


def test_a_file_that_does_not_end_is_stopped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_EXTERNAL_LOGIC_TIMEOUT", "0.5")
    begun = time.monotonic()
    with pytest.raises(EngineError, match=r"was stopped after 0\.5 seconds"):
        project.run("def run():\n    while True:\n        sum(range(1000))")
    assert time.monotonic() - begun < 60
    monkeypatch.setenv("LAKELOGIC_EXTERNAL_LOGIC_TIMEOUT", "soon")
    with pytest.raises(ProjectError, match="not a number of seconds"):
        project.run("def run(): return []")

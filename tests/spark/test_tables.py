from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import NotFoundError, ProjectError
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix, table_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(
        tmp_path / "lake",
        project_root=tmp_path / "project",
        contract_folder=tmp_path / "project/contracts",
        elsewhere=(Path("/data"),),
    )


@pytest.mark.parametrize(
    ("reference", "folder"),
    [
        ("table:cat.sales.orders", "cat/sales/orders"),
        ("cat.sales.orders", "cat/sales/orders"),
        ("table:`cat`.sales.orders", "cat/sales/orders"),
        ("`Cat`.`Sales`.`Orders`", "cat/sales/orders"),
        ("sales.orders", "default/sales/orders"),
        ("orders", "default/default/orders"),
        ("table: rideflow-dev.log._pipeline_run_log", "rideflow-dev/log/_pipeline_run_log"),
    ],
)
def test_a_name_is_a_folder_of_the_warehouse(lakehouse: Lakehouse, reference: str, folder: str) -> None:
    assert lakehouse.table_path(reference) == str(lakehouse.root / "warehouse" / folder)


@pytest.mark.parametrize(
    "reference",
    ["a..b", "", ".a", "a.b.c.d", "a.b\\c", "a.{table}", "${CATALOG}.b", "a.b\0", "a.*", "a:b", "a. .b", "a.b.\n"],
)
def test_a_name_that_cannot_be_a_folder_is_refused(lakehouse: Lakehouse, reference: str) -> None:
    with pytest.raises(ProjectError, match=r"catalog\.schema\.table"):
        lakehouse.table_path(reference)


def test_a_path_is_used_as_a_path(lakehouse: Lakehouse, tmp_path: Path) -> None:
    assert lakehouse.table_path("/data/orders") == "/data/orders"
    assert lakehouse.table_path("/data/./x/../orders/") == "/data/orders"
    assert lakehouse.table_path("./orders") == str(tmp_path / "project/orders")
    assert lakehouse.table_path("out/orders") == str(tmp_path / "project/out/orders")
    assert lakehouse.table_path("s3a://bucket/orders") == "s3a://bucket/orders"
    assert lakehouse.table_path("file:///data/two%20words") == "/data/two words"


def test_volumes_that_do_not_exist_here_are_in_the_lake(lakehouse: Lakehouse) -> None:
    assert lakehouse.file_path("/Volumes/none-such/x/*.csv") == str(lakehouse.root / "volumes/none-such/x/*.csv")
    assert lakehouse.table_path("/Volumes/none-such/t") == str(lakehouse.root / "volumes/none-such/t")


@pytest.mark.parametrize(
    "path",
    ["/etc/hosts", "../x/y", "/data/../etc/x", "file:///etc/hosts", "file:///data/..%2fetc/x", "in/../../../etc",
     "/Volumes/none-such/../../etc/hosts", "/proc/self/environ", "/data\0/x", "/etc/*.conf", "/*/passwd"],
)  # fmt: skip
def test_a_path_out_of_the_roots_is_refused(lakehouse: Lakehouse, path: str) -> None:
    for placed in (lakehouse.table_path, lakehouse.file_path):
        with pytest.raises(ProjectError, match="outside of the project's roots"):
            placed(path)


@pytest.mark.parametrize("address", ["http://127.0.0.1/x", "ftp://host/x", "jar:/x!/y", "webhdfs://host/x"])
def test_an_address_that_is_no_object_store_is_refused(lakehouse: Lakehouse, address: str) -> None:
    with pytest.raises(ProjectError, match="folders and object stores"):
        lakehouse.file_path(address)


def test_a_link_that_leads_out_of_the_roots_is_refused(lakehouse: Lakehouse, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/away").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProjectError, match="outside of the project's roots"):
        lakehouse.file_path("away/orders.csv")


def test_files_beside_the_contract_come_before_those_of_the_project(lakehouse: Lakehouse, tmp_path: Path) -> None:
    beside = tmp_path / "project/contracts"
    (beside / "data").mkdir(parents=True)
    assert lakehouse.file_path("data/**/*.csv") == str(beside / "data/**/*.csv")
    assert lakehouse.file_path("landing/*.csv") == str(tmp_path / "project/landing/*.csv")
    assert lakehouse.file_path("s3a://bucket/*.csv") == "s3a://bucket/*.csv"
    assert lakehouse.file_path("/data/a.csv") == "/data/a.csv"


def test_the_fixed_prefix_ends_before_the_first_glob() -> None:
    assert [fixed_prefix(path) for path in ("a/b.csv", "a/*/b", "*.csv", "/*/x", "a/[0-9]/b")] == [
        "a/b.csv", "a", ".", "/", "a",
    ]  # fmt: skip


def test_tables_are_written_read_and_versioned_by_path(spark: SparkSession, lakehouse: Lakehouse) -> None:
    path = lakehouse.table_path("cat.sales.numbers")
    assert (lakehouse.exists(path), lakehouse.version(path)) == (False, None)
    with pytest.raises(NotFoundError, match="no Delta table"):
        lakehouse.read(spark, path)
    spark.range(3).write.format("delta").save(path)
    spark.range(3, 5).write.format("delta").mode("append").save(path)
    assert (lakehouse.exists(path), lakehouse.version(path)) == (True, 1)
    assert lakehouse.read(spark, path).count() == 5
    assert lakehouse.read(spark, path, version=0).count() == 3


def test_ad_hoc_sql_sees_the_table_shown_last(spark: SparkSession, lakehouse: Lakehouse) -> None:
    for catalog, rows in (("one", 1), ("two", 2)):
        spark.range(rows).write.format("delta").save(lakehouse.table_path(f"{catalog}.shown.t"))
    session = spark.newSession()
    assert lakehouse.show_to_sql(session, "table:one.shown.t") == "shown.t"
    assert lakehouse.show_to_sql(session, "one.shown.t") == "shown.t"
    assert session.sql("SELECT count(*) FROM shown.t").first() == (1,)
    lakehouse.show_to_sql(session, "`two`.shown.t")
    assert session.sql("SELECT count(*) FROM shown.t").first() == (2,)
    assert lakehouse.version(lakehouse.table_path("one.shown.t")) == 0
    assert lakehouse.version(lakehouse.table_path("two.shown.t")) == 0


def test_what_has_no_name_or_no_rows_yet_is_not_shown(
    spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path
) -> None:
    assert lakehouse.show_to_sql(spark, "cat.sales.not_yet") is None
    spark.range(1).write.format("delta").save(str(tmp_path / "lake/by_path"))
    assert lakehouse.show_to_sql(spark, str(tmp_path / "lake/by_path")) is None


def test_every_process_finds_the_same_folder(lakehouse: Lakehouse) -> None:
    code = (
        "import sys; from pathlib import Path; from lakelogic_assets.spark.tables import Lakehouse;"
        "print(Lakehouse(Path(sys.argv[1])).table_path('Cat.Sales.Orders'))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, lakehouse.root],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == lakehouse.table_path("cat.sales.orders")


def test_a_lakehouse_does_not_change(lakehouse: Lakehouse) -> None:
    with pytest.raises(FrozenInstanceError):
        lakehouse.root = Path()  # type: ignore[misc]
    assert table_parts("A.b") == ("default", "a", "b")

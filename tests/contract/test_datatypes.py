"""Type names of the language and the Spark types they stand for."""

from __future__ import annotations

import time

import pytest

from lakelogic_assets.contract.datatypes import TYPE_NAMES, spark_type


@pytest.mark.parametrize(
    ("name", "ddl"),
    [
        ("String", "STRING"),
        (" int ", "INT"),
        ("float", "DOUBLE"),
        ("real", "FLOAT"),
        ("decimal", "DOUBLE"),
        ("decimal(10, 2)", "DECIMAL(10,2)"),
        ("NUMERIC(38)", "DECIMAL(38,0)"),
        ("varchar(20)", "STRING"),
        ("array", "ARRAY<STRING>"),
        ("array<array<int>>", "ARRAY<ARRAY<INT>>"),
        ("map<string, decimal(10,2)>", "MAP<STRING, DECIMAL(10,2)>"),
        ("struct<a: int, b string>", "STRUCT<`a`: INT, `b`: STRING>"),
        ("struct<`my col`: map<string,int>>", "STRUCT<`my col`: MAP<STRING, INT>>"),
    ],
)
def test_a_type_has_a_spark_type(name: str, ddl: str) -> None:
    assert spark_type(name) == ddl


@pytest.mark.parametrize(
    "name",
    [
        "", "strng", "decimal(39,2)", "decimal(5,6)", "decimal()", "varchar(1,2)", "array<>", "array<int", "array<int,int>",
        "map<string>", "map<>", "struct<>", "struct<a>", "struct<a:int,>", "struct<a:int,,b:int>", "array<strng>", "int)", "interval",
    ],
)  # fmt: skip
def test_what_the_language_does_not_have_has_none(name: str) -> None:
    assert spark_type(name) is None


@pytest.mark.parametrize("name", [name for name in TYPE_NAMES if "…" not in name and "p,s" not in name])
def test_every_name_that_is_suggested_exists(name: str) -> None:
    assert spark_type(name) is not None


@pytest.mark.parametrize(
    "name", ["array<" * 5000 + "int" + ">" * 5000, "struct<" + "a:int," * 5000 + "b:int>", "struct<" + " " * 4000 + ">"]
)
def test_a_hostile_type_is_refused_quickly(name: str) -> None:
    started = time.process_time()
    assert spark_type(name) is None
    assert time.process_time() - started < 1

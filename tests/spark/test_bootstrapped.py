"""Where only landing files exist: drafted, run as they are drafted, and only what is new the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalake import DeltaTable

from lakelogic_assets.cli.app import run as lakelogic

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession


def test_what_was_drafted_from_files_takes_them_in(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark is not None
    monkeypatch.chdir(tmp_path)
    landing = tmp_path / "data" / "bronze"
    landing.mkdir(parents=True)
    (landing / "claims_2026-02-06.csv").write_text("id,code,paid\n1,007,2.5\n2,010,\n")
    registry = "contracts/claims/_registry.yaml"
    drafting = ("--landing", "data/bronze", "--output-dir", "contracts/claims", "--registry", registry)
    assert lakelogic(["bootstrap", *drafting, "--format", "csv", "--pattern", "*.csv"]) == 0
    assert "contracts/claims/bronze_claims.yaml: 3 fields from 1 file" in capsys.readouterr().out
    running = ["driver", "--registry", registry, "--layers", "bronze"]
    assert lakelogic(running) == 0, capsys.readouterr()
    (landing / "claims_2026-02-07.csv").write_text("id,code,paid\n3,100,1\n")
    assert lakelogic(running) == 0, capsys.readouterr()
    (table,) = [
        log.parents[1] for log in tmp_path.rglob("_delta_log/00000000000000000001.json") if "bronze" in log.parts[-3]
    ]
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["code"], row["paid"]) for row in rows) == [
        (1, "007", 2.5),
        (2, "010", None),
        (3, "100", 1.0),
    ]

"""The snippets that users were shown run end to end, as they are printed."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets import DataProcessor, names
from lakelogic_assets.spark.masking import decrypt_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SNIPPETS = Path(__file__).parent.parent / "cases" / "contracts" / "snippets"
KEY = base64.b64encode(b"k" * 32).decode()


def processor(name: str, spark: SparkSession, folder: Path) -> DataProcessor:
    """The snippet in a project of its own; its bucket is a folder here."""
    text = (SNIPPETS / name / "contract.yaml").read_text().replace("s3://landing", str(folder / "landing"))
    shutil.copytree(SNIPPETS / name, folder / name)
    (folder / name / "contract.yaml").write_text(text)
    return DataProcessor(folder / name / "contract.yaml", spark=spark)


def test_the_home_pages_contract_encrypts_merges_and_quarantines(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    landing = tmp_path / "landing" / "members"
    landing.mkdir(parents=True)
    (landing / "a.json").write_text(
        '{"member_id": "C100", "mail": " A@Example.com "}\n{"member_id": "C101", "mail": "b@corp.org"}\n'
        '{"member_id": "C102", "mail": "not_an_email"}\n{"member_id": "C103", "mail": null}\n'
    )
    home = processor("home_page", spark, tmp_path)
    report = home.run()
    assert (report.counts.source, report.counts.good, report.counts.quarantined) == (4, 2, 2)
    rows = {row["member_id"]: row for row in spark.read.format("delta").load(home.destination.target).collect()}
    assert rows["C100"]["mail"].startswith("enc:")
    assert decrypt_value(rows["C100"]["mail"], {"LAKELOGIC_PII_KEY": KEY}, "mail") == "a@example.com"
    bad = spark.read.format("delta").load(home.destination.quarantine).collect()
    assert {row["member_id"] for row in bad} == {"C102", "C103"}
    assert not any("not_an_email" in str(row) for row in bad), "what is encrypted is encrypted in quarantine too"
    assert home.run().status == "no_new_data"


def test_the_end_to_end_pipe_goes_to_gold_in_one_pass(spark: SparkSession, tmp_path: Path) -> None:
    pipe = processor("end_to_end_pipe", spark, tmp_path)
    frame = spark.createDataFrame([(1, "A@B.C"), (2, "D@E.F")], "member_id int, mail string")
    assert pipe.run(frame).counts.good == 2
    rows = spark.read.format("delta").load(pipe.destination.target).select("member_id", "tidy_mail").collect()
    assert sorted(tuple(row) for row in rows) == [(1, "a@b.c"), (2, "d@e.f")]


def test_the_rollup_keeps_its_keys_their_count_and_the_upstream_runs(spark: SparkSession, tmp_path: Path) -> None:
    rollup = processor("rollup_with_traceability", spark, tmp_path)
    schema = "ride_id string, ride_date string, fare double, _lakelogic_run_id string"
    rows = [("r1", "2026-01-01", 5.0, "u1"), ("r2", "2026-01-01", 7.0, "u2"), ("r3", "2026-01-02", 1.0, "u1")]
    report = rollup.run(spark.createDataFrame(rows, schema), pipeline_run_id="pipeline-7")
    assert (report.counts.source, report.counts.good, report.counts.dropped) == (3, 2, 1)
    found = {row["ride_date"]: row for row in spark.read.format("delta").load(rollup.destination.target).collect()}
    assert found["2026-01-01"]["total_fare"] == 12.0
    assert sorted(found["2026-01-01"][names.ROLLUP_KEYS_COLUMN]) == ["r1", "r2"]
    assert found["2026-01-01"][names.ROLLUP_KEYS_COUNT_COLUMN] == 2
    assert found["2026-01-01"][names.RUN_ID_COLUMN] == "pipeline-7"
    assert names.PROCESSED_AT_COLUMN not in found["2026-01-01"].asDict()


@pytest.mark.parametrize("name", ["upstream_at_the_root", "upstream_under_info"])
def test_a_contract_that_only_says_its_name_takes_rows_as_they_come(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    silver = processor(name, spark, tmp_path)
    report = silver.run(spark.createDataFrame([(1, "a")], "id int, v string"))
    assert (report.table, report.counts.good) == ("silver_club_members", 1)
    assert spark.read.format("delta").load(silver.destination.target).select("id", "v").collect() == [(1, "a")]


def test_the_lifecycle_rule_runs_against_a_link(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(SNIPPETS / "lifecycle_window", tmp_path / "c")
    (tmp_path / "c" / "members.csv").write_text("member_id,joined_on,left_on\nm1,2026-01-01,2026-02-01\n")
    path = tmp_path / "c" / "contract.yaml"
    path.write_text(path.read_text() + "links: [{name: members, path: members.csv}]\n")
    frame = spark.createDataFrame([("m1", "2026-01-15"), ("m1", "2026-03-01")], "member_id string, ride_ts string")
    report = DataProcessor(path, spark=spark).validate(frame).report
    assert (report.counts.good, report.failed_row_rules) == (1, {"member_id_lifecycle_window": 1})

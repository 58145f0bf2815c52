"""Marked people and marked secrets go through runs that end well, quarantine and fail; then every byte is searched.

Searched are tables, logs, quarantine, pages, metrics, state and summary of a pipeline, Dagster's database and event logs,
what the JVM printed, and the console. Alerts are not: nothing sends any yet, and what will send them belongs here.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from lakelogic_assets.spark.session import _scratch
from tests.security.grounds import ROOT, said_in_process
from tests.security.leaks import contents_of, forms, found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CLEAR = "QZCLEARnote"
PEOPLE = (
    "QZname1", "QZname2", "QZname3", "QZmail1", "QZmail2", "QZmail3", "QZiban1", "QZiban2", "QZiban3",
    "QZssn1", "QZssn2", "QZnick1", "QZnick2", "5550173100", "5550173200", "QZage2", "QZbroken", "QZspare",
)  # fmt: skip
KEY = "QZSECkey-0123456789abcdefghijklm"
OLD_KEY = base64.b64encode(b"QZSECold-0123456789abcdefghijklm").decode()
SECRETS = {
    "LAKELOGIC_PII_KEY": KEY,
    "LAKELOGIC_PII_KEYS": OLD_KEY,
    "LAKELOGIC_PII_SALT": "QZSECsalt",
    "CRM_URL": "jdbc:postgresql://app:QZSECurl@db/crm",
    "CRM_USER": "QZSECuser",
    "CRM_PASSWORD": "QZSECpassword",
    "STORE_SECRET": "QZSECstore",
    "AWS_SECRET_ACCESS_KEY": "QZSECaws",
    "ALERT_TOKEN": "QZSECalert",
    "DATABASE_URL": "postgres://app:QZSECdatabase@db/crm",
    "DB_PASS": "QZSECpass",
    "OPENAI_APIKEY": "QZSECapikey",
    "SENTRY_DSN": "QZSECdsn",
    "WAREHOUSE_CONFIG": "redis://:QZSECredis@cache",
    "ANYTHING": "QZSECanything",
}
SECRET_MARKS = (
    "QZSECkey",
    "QZSECold",
    *(value for value in SECRETS.values() if value.startswith("QZSEC")),
    "QZSECurl",
    "QZSECdatabase",
    "QZSECredis",
)
FIELDS = """
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: note, type: string}
    - {name: name, type: string, pii: true, masking: redact}
    - {name: mail, type: string, pii: true, masking: hash}
    - {name: phone, type: string, pii: true, masking: partial}
    - {name: iban, type: string, pii: true, masking: encrypt}
    - {name: ssn, type: string, pii: true, masking: nullify}
    - {name: nick, type: string, pii: true, masking: tokenize}
    - {name: age, type: int, pii: true, masking: redact}
primary_key: [id]
metadata: {token: "${ALERT_TOKEN}", note: "x ${AWS_SECRET_ACCESS_KEY} y",
           more: "${DATABASE_URL} ${DB_PASS} ${OPENAI_APIKEY} ${SENTRY_DSN} ${WAREHOUSE_CONFIG} ${ANYTHING}"}
"""
HEADER = "id,note,name,mail,phone,iban,ssn,nick,age\n"
GOOD = f"1,{CLEAR},QZname1,QZmail1@example.org,+5550173100 0042,QZiban1,QZssn1,QZnick1,41\n"
BAD = (
    f"2,{CLEAR},QZname2,QZmail2,+5550173200 0042,QZiban2,QZssn2,QZnick2,QZage2\n"
    f"3,{CLEAR},QZname3,QZmail3@example.org,1,QZiban3,,,7,QZspare,QZspare\n"
    f'4,{CLEAR},"QZbroken\n'
)


def _contract(name: str, more: str) -> str:
    head = f"version: 1.0.0\ninfo: {{title: People, table_name: silver_{name}, target_layer: silver}}\n"
    source = f"source: {{type: landing, path: '{{landing_root}}/{name}', format: csv}}\n"
    return f"{head}{source}{FIELDS}{more}"


MERGE = "materialization: {strategy: merge}\n"
MAIL = """name: mail, sql: "mail LIKE '%@%'\""""
CONTRACTS = {
    "good": f"{MERGE}quality: {{row_rules: [{{{MAIL}}}]}}\n",
    "bad": f"{MERGE}quality: {{row_rules: [{{{MAIL}}}, {{name: ages, sql: age > 17}}, {{name: names, sql: length(name) > 9}}]}}\n"
    "extensions: {com.lakelogic.sample: 5}\n",
    "cast": MERGE + 'transformations: [{sql: "SELECT * FROM source WHERE CAST(name AS INT) > 0"}]\n',
    "parse": MERGE
    + """transformations: [{sql: "SELECT * FROM source WHERE to_date(mail, 'yyyy') > DATE'2020-01-01'"}]\n""",
    "counts": MERGE + "quality: {dataset_rules: [{name: nobody, sql: SELECT count(*) FROM source WHERE "
    "CAST(iban AS INT) = 1, must_be_less_than: 1}]}\n",
    "logic": f"{MERGE}external_logic: {{type: python, path: logic.py, engine: spark}}\n",
    "twice": MERGE,
}
# A step whose expression raises for a row makes it NULL; rules over all rows, keys and Python end the run.
FAILING = {"counts", "logic", "twice"}
LOGIC = """
def run(frame):
    row = frame.collect()[0]
    raise ValueError(f"cannot do {row.name} with {row.mail} and {row.iban}")
"""
RESOURCES = """
name: local
environment: local
catalog: lake
roots: {storage_root: .lakehouse}
spark: {conf: {spark.hadoop.fs.s3a.secret.key: "${STORE_SECRET}", spark.driver.memory: 1g}}
external_logic: {allowed: true, roots: [contracts]}
connections: {crm: {type: jdbc, url_env: CRM_URL, user_env: CRM_USER, password_env: CRM_PASSWORD}}
dagster: {retries: 0, retry_seconds: 0}
"""


class Aftermath(NamedTuple):
    contents: dict[str, bytes]
    said: dict[str, str]


def _project(folder: Path) -> Path:
    texts = {
        "resources/local.yaml": RESOURCES,
        "contracts/crm/people/logic.py": LOGIC,
        "contracts/crm/people/_system.yaml": "domain: crm\nsystem: people\ncontracts:\n"
        + "".join(f"  - {{layer: silver, entity: {name}, path: silver_{name}.yaml}}\n" for name in CONTRACTS),
    }
    for name, more in CONTRACTS.items():
        texts[f"contracts/crm/people/silver_{name}.yaml"] = _contract(name, more)
        rows = GOOD + BAD if name == "bad" else GOOD + GOOD.replace("41", "42") if name == "twice" else GOOD
        texts[f".lakehouse/landing/crm/people/{name}/people.csv"] = HEADER + rows
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _in_a_process(project: Path, words: list[str], folder: Path) -> str:
    """The familiar driver as people start it, with a folder of its own for whatever is temporary."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "SPARK_LOCAL_DIRS": str(folder)}
    command = [sys.executable, "-m", "lakelogic_assets.cli", *words]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def aftermath(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    """Everything there is after runs through Dagster and without it, and after every page and listing was made."""
    assert spark
    folder = tmp_path_factory.mktemp("leaks")
    project, home = _project(folder / "project"), folder / "dagster_home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SECRETS, "DAGSTER_HOME": str(home), "COLUMNS": "200"}.items():
            patch.setenv(name, value)
        for name in ("LAKELOGIC_ENV", "LAKELOGIC_PROJECT_DIR", "LAKELOGIC_VAR_LAKE", "LAKELOGIC_RESOURCES_DIR"):
            patch.delenv(name, raising=False)
        patch.chdir(project)
        metrics = [
            "--metrics-path",
            "metrics.json",
            "--summary-table",
            "lake.log.summary",
            "--state-path",
            "state.json",
        ]
        registry = ["--registry", "contracts/crm/people/_system.yaml"]
        said = {"driver": _in_a_process(project, ["driver", *registry, *metrics], folder / "tmp")}
        for words in (
            ["validate"], ["show", "silver_good"], ["materialize"], ["docs", "--output", "site"],
            ["quarantine", "silver_bad", "--rows", "9"], ["quarantine", "--json"], ["audit"], ["runs"], ["plan"],
            ["graph"], ["approve"], ["late"],
        ):  # fmt: skip
            said[" ".join(words)] = said_in_process(words).text
        landed = [project / ".lakehouse/landing"]
        contents = contents_of(folder, besides=landed)
        contents["what the JVM printed"] = (_scratch() / "jvm.log").read_bytes()
        console = {f"what `{name}` printed": text.encode() for name, text in said.items()}
        yield Aftermath({**contents, **console}, said)


def test_the_runs_were_those_that_were_meant(aftermath: Aftermath) -> None:
    """One ends well, one quarantines and the others fail; otherwise nothing was proved."""
    told = aftermath.said["materialize"]
    lines = {line.split()[0].removeprefix("crm/silver_"): line.split() for line in told.splitlines() if "crm/" in line}
    ended = {name: words[-1] for name, words in lines.items() if name in CONTRACTS}
    assert {name for name, status in ended.items() if status == "failed"} == FAILING, told
    assert {name for name, status in ended.items() if status == "success"} == CONTRACTS.keys() - FAILING, told
    assert any(line.startswith("crm/silver_bad") and " 4 " in line for line in told.splitlines()), told


def test_a_driver_has_run_a_pipeline_and_left_all_that_it_was_asked_for(aftermath: Aftermath) -> None:
    """One that was refused ends with the same code, and would leave nothing to search."""
    named = {Path(place).name: place for place in aftermath.contents}
    assert {"metrics.json", "state.json", "index.html", "what the JVM printed"} <= named.keys()
    state = json.loads(aftermath.contents[named["state.json"]])
    run = state["pipeline_run_id"]
    assert len(state["done"]) == len(CONTRACTS.keys() - FAILING)
    assert run.encode() in aftermath.contents[named["metrics.json"]]
    assert any("/log/summary/" in place and "(rows)" in place for place in found([run], aftermath.contents))
    assert "summary row in" in aftermath.said["driver"]
    assert all(f"silver_{name}" in aftermath.said["driver"] for name in CONTRACTS)
    assert CLEAR in aftermath.said["quarantine silver_bad --rows 9"]


def test_what_may_be_seen_is_found_so_that_the_search_is_known_to_work(aftermath: Aftermath) -> None:
    places = found([CLEAR], aftermath.contents)
    assert any("silver_good" in place and "(rows)" in place for place in places)
    assert any("quarantine" in place and "(rows)" in place for place in places)
    assert any(place.endswith(".db (rows)") for place in aftermath.contents)


def test_every_form_of_a_mark_is_searched_for() -> None:
    for before in ("", "a", "ab", "abc"):
        text = f"{before}QZmark behind".encode()
        for written in (text, text.hex().encode(), base64.b64encode(text), f"{before}QZmark".encode("utf-16-le")):
            assert found(["QZmark"], {"place": written}), written
    assert all(forms("QZmark"))


def test_no_person_is_found_outside_of_the_landing_files(aftermath: Aftermath) -> None:
    assert found(PEOPLE, aftermath.contents) == []


KILLED = """
import os, signal
from dataclasses import replace
from pyspark import StorageLevel
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark import execute
from lakelogic_assets.spark.session import jvm_pid

processor = DataProcessor("contracts/crm/people/silver_good.yaml")
prepare = execute.prepare

def die(_):
    jvm = jvm_pid(processor.spark)
    # So few rows stay in memory; more of them go to disk by themselves.
    processor.spark.read.text(".lakehouse/landing/crm/people/good").persist(StorageLevel.DISK_ONLY).count()
    os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

execute.prepare = lambda *said: replace(prepare(*said), commit=die)
processor.run()
"""


def test_what_a_run_that_is_killed_in_a_merge_leaves_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, folder = _project(tmp_path / "project"), tmp_path / "tmp"
    folder.mkdir()
    environment = {**os.environ, **SECRETS, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [each for each in folder.rglob("*") if each.is_file() and "blockmgr" in str(each)]
    assert left, "Spark kept nothing, so this proves nothing"
    assert [each.stat().st_mode & 0o077 for each in folder.glob("lakelogic-*")] == [0]
    monkeypatch.chdir(project)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert "was left by a session that was killed, and is removed" in said_in_process(["doctor", "silver_good"]).text
    assert not any(each.exists() for each in left)
    assert found(PEOPLE, contents_of(tmp_path, besides=[project / ".lakehouse/landing"])) == []


def test_no_secret_is_found_anywhere(aftermath: Aftermath) -> None:
    assert found(SECRET_MARKS, aftermath.contents) == []

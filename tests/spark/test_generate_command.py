"""`lakelogic generate`, with the session of the suite."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lakelogic_assets.cli.app import run

ROOT = Path(__file__).resolve().parents[2]

CONTRACT = """
version: 1.0.0
info: {title: Orders, table_name: silver_orders, target_layer: silver}
model:
  fields:
    - {name: order_id, type: string, required: true, description: "Format: O####"}
    - {name: amount, type: double, min: 0, max: 90}
    - {name: region, type: string, accepted_values: [north, south]}
    - {name: ordered_on, type: date, description: "Equals the folder the file lands in."}
quality:
  row_rules:
    - {name: small, sql: amount < 80, severity: warning}
source: {type: landing, path: .lakehouse/landing/orders, format: csv, partition: {format: "%Y/%m/%d"}}
materialization: {strategy: append}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "silver_orders.yaml").write_text(CONTRACT)
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "LAKELOGIC_ENV", "LAKELOGIC_PROJECT_DIR", "LAKELOGIC_VAR_LAKE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


DAYS = ("--from", "2026-02-01", "--to", "2026-02-02")


@pytest.mark.usefixtures("spark")
def test_it_says_how_many_rows_where_and_which_rules_they_break(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", *DAYS, "--rows", "20", "--invalid", "10%"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("silver_orders: 40 rows in 2 files, ")
    assert said[0].endswith("broken on purpose, below .lakehouse/landing/orders/2026/02")
    assert any(line.startswith("    breaks silver_orders: amount_max: ") for line in said)
    assert "    breaks silver_orders: small: 1 row" in said
    assert len(list((shop / ".lakehouse").rglob("*.csv"))) == 2


@pytest.mark.usefixtures("spark")
def test_programs_get_json(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "silver_orders", *DAYS, "--rows", "5", "--edge-cases", "--output", "elsewhere", "--json"]
    assert run(words) == 0
    (said,) = json.loads(capsys.readouterr().out)["contracts"]
    assert said["asset"] == "silver_orders"
    assert said["rows"] == 10 + said["edge_cases"]
    assert said["broken_by_rule"] == {}
    assert [file["path"] for file in said["files"]] == [
        str(shop / f"elsewhere/landing/orders/2026/02/0{day}/orders_1.csv") for day in (1, 2)
    ]


@pytest.mark.usefixtures("spark")
def test_a_stream_tells_each_file_when_it_is_there(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", *DAYS, "--rows", "5", "--stream", "--interval", "10ms"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[1].split("/")[-2] for line in said[:2]] == ["01", "02"]
    assert said[2].startswith("silver_orders: 10 rows in 2 files")
    assert len(list((shop / ".lakehouse").rglob("*.csv"))) == 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--invalid", "lots"], "write 2% or 0.02"),
        (["--invalid", "100%"], "no share below 100 %"),
        (["--interval", "soon", "--stream"], "write 5s, 500ms or 1m"),
        (["--from", "tomorrow"], "write days as 2026-02-01"),
        (["--locale", "xx_YY"], "is not a locale"),
    ],
)
@pytest.mark.usefixtures("spark", "shop")
def test_a_wish_that_makes_no_sense_is_refused_in_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["generate", "--rows", "5", *words]) in (1, 2)
    assert complaint in capsys.readouterr().err


def commands() -> list[list[str]]:
    """The commands of the guide, as words."""
    text = (ROOT / "docs" / "guides" / "generate.md").read_text()
    (block,) = re.findall(r"```bash\n(.*?)```", text, re.S)
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


@pytest.mark.parametrize("words", [each for each in commands() if each[0] == "generate"], ids=" ".join)
@pytest.mark.usefixtures("spark")
def test_the_commands_of_the_guide_work(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fewer = ["--rows", "4", "--interval", "1ms", "--days", "1", "--output", str(tmp_path), "--project", str(ROOT)]
    assert run([*words, *fewer, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["contracts"]
    assert said
    assert all(Path(file["path"]).is_file() for each in said for file in each["files"])

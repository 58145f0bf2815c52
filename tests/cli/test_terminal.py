"""What people see: snapshots of the terminal, with the colours written as `<red>…</>`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]


NAMES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan", "1;31": "bold red"}


@pytest.fixture(autouse=True)
def somebody_is_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")


def seen(text: str) -> str:
    """The text with its escape codes as words, and without the blanks at the end of lines."""
    named = re.sub(
        r"\x1b\[([\d;]+)m", lambda code: "</>" if code[1] == "0" else f"<{NAMES.get(code[1], code[1])}>", text
    )
    return "\n".join(line.rstrip() for line in named.splitlines())


@pytest.mark.usefixtures("broken")
def test_problems_are_shown_with_the_line_of_the_file(call: Call) -> None:
    assert (
        seen(call("validate").out)
        == """\
<bold>contracts/shop/silver_orders.yaml</><dim>:5:24</>  <red>error LL106</>
  'strng' is not a type of the language.
  <dim>5 │ </>    - {name: order_id, type: strng, required: true}
  <dim>  │ </>                       <red>^^^^</>
  <dim>Did you mean `string`?</>

<bold>contracts/shop/silver_orders.yaml</><dim>:9:7</>  <red>error LL101</>
  `regx_match` is not a key of `quality.row_rules[0]`.
  <dim>9 │ </>    - regx_match: {field: email, pattern: '@'}
  <dim>  │ </>      <red>^^^^^^^^^^</>
  <dim>Did you mean `regex_match`?</>

no contracts in 1 file: <bold red>2 errors</>, no warnings"""
    )


@pytest.mark.usefixtures("broken")
def test_long_messages_are_wrapped_beside_their_indent(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert seen(call("validate").out).split("\n\n")[1].splitlines()[1:3] == [
        "  `regx_match` is not a key of",
        "  `quality.row_rules[0]`.",
    ]


@pytest.mark.usefixtures("shop")
def test_a_good_project_is_calm(call: Call) -> None:
    assert seen(call("validate").out) == "1 contract in 1 file: <green>no errors</>, no warnings"


def test_the_graph_has_branches_and_the_colours_of_the_layers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = re.sub(r"<[^>]*>", "", seen(call("graph", "system:erp", "gold_dim_products").out)).splitlines()
    assert lines == [
        "bronze",
        "└─ retail/bronze_erp_products",
        "silver",
        "└─ retail/silver_erp_products  ← bronze_erp_products",
        "gold",
        "└─ retail/gold_dim_products    ← silver_erp_products",
        "3 contracts, 2 edges, 3 levels",
    ]


def test_notes_of_show_stand_apart(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = seen(call("show", "silver_crm_customers").out)
    assert re.search(r"^<cyan>version</>: 1\.2\.0$", text, re.MULTILINE)
    assert re.search(
        r"^<cyan>tier</>: standard +<green>  # contracts/policy_packs/baseline_silver.yaml:\d+</>$", text, re.MULTILINE
    )


@pytest.mark.usefixtures("broken")
def test_json_has_no_colours(call: Call) -> None:
    assert "\x1b" not in call("validate", "--json").out


@pytest.mark.parametrize("words", [["schema"], ["explain-error"], ["graph"], ["validate"], ["--help"]])
def test_a_reader_that_has_seen_enough_is_no_error(shop: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "lakelogic_assets.cli", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "FORCE_COLOR": ""}
    with subprocess.Popen(
        command, cwd=shop, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_terminal_without_arrows_gets_something_readable(start: Call) -> None:
    said = start("graph", FORCE_COLOR="1", PYTHONIOENCODING="ascii")
    assert said.code == 0
    assert "\\u2190 bronze_crm_customers" in said.out


@pytest.mark.usefixtures("broken")
def test_a_pipe_gets_neither_colours_nor_boxes(start: Call, shop: Path) -> None:
    for words in (["validate"], ["graph"], ["--help"], ["validate", "--help"], ["nothing"]):
        said = start(*words, cwd=shop, FORCE_COLOR="")
        assert not re.search(r"[\x1b│─┌╭└]", said.out + said.err)

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]


FOUND = [
    "contracts/shop/silver_orders.yaml:5:24: error LL106: 'strng' is not a type of the language."
    " Did you mean `string`?",
    "contracts/shop/silver_orders.yaml:9:7: error LL101: `regx_match` is not a key of `quality.row_rules[0]`."
    " Did you mean `regex_match`?",
]


@pytest.mark.usefixtures("shop")
def test_a_good_project_ends_with_0_and_one_line(call: Call) -> None:
    said = call("validate")
    assert (said.code, said.out, said.err) == (0, "1 contract in 1 file: no errors, no warnings\n", "")


def test_the_example_has_no_errors(call: Call) -> None:
    said = call("validate", "--project", ROOT)
    assert said.code == 0
    assert said.lines[-1].startswith("19 contracts in ")
    assert ": no errors, " in said.lines[-1]


@pytest.mark.usefixtures("broken")
def test_all_problems_are_told_in_lines_that_grep_understands(call: Call) -> None:
    said = call("validate")
    assert said.code == 1
    assert said.lines == [*FOUND, "no contracts in 1 file: 2 errors, no warnings"]


def test_paths_are_printed_as_one_would_type_them(broken: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(broken.parent)
    assert call("validate").lines[0].startswith("silver_orders.yaml:5:24: error")
    monkeypatch.chdir(ROOT)
    assert call("validate", broken).lines[0].startswith(f"{broken}:5:24: error")


def test_only_the_files_that_were_asked_for_are_told_about(broken: Path, call: Call) -> None:
    other = broken.with_name("silver_items.yaml")
    other.write_text(broken.read_text().replace("silver_orders", "silver_items"))
    said = call("validate", other)
    assert {line.split(":")[0] for line in said.lines[:-1]} == {"contracts/shop/silver_items.yaml"}


def test_a_resource_is_judged_as_a_resource(shop: Path, call: Call) -> None:
    resource = shop / "resources" / "local.yaml"
    resource.parent.mkdir()
    resource.write_text("name: local\nsparkk: {}\n")
    said = call("validate", "resources/local.yaml")
    assert said.code == 1
    assert said.lines[0] == (
        "resources/local.yaml:2:1: error LL101: `sparkk` is not a key of this file. Did you mean `spark`?"
    )


@pytest.mark.usefixtures("shop")
def test_files_of_another_project_are_judged_within_their_own(call: Call) -> None:
    said = call("validate", ROOT / "contracts" / "retail")
    assert said.code == 0


def test_a_folder_called_contracts_inside_a_system_is_not_a_project(call: Call, tmp_path: Path) -> None:
    system = tmp_path / "mesh" / "sales" / "shop"
    (system / "contracts").mkdir(parents=True)
    (system / "_system.yaml").write_text(
        "domain: sales\nsystem: shop\nenvironments: {local: {catalog: lake}}\n"
        "contracts: [{layer: silver, entity: orders, path: contracts/silver_orders.yaml}]\n"
    )
    contract = system / "contracts" / "silver_orders.yaml"
    contract.write_text("version: 1.0.0\ninfo: {title: Orders}\nmodel: {fields: []}\nlineage: {enabled: true}\n")
    assert call("validate", contract).lines == ["1 contract in 1 file: no errors, no warnings"]
    assert "key: sales/silver_orders" in json.dumps(json.loads(call("show", contract, "--json").out)).replace('"', "")


def test_warnings_count_only_where_they_are_made_to(orders: Path, call: Call) -> None:
    orders.write_text(orders.read_text().replace("version: 1.0.0\n", ""))
    assert call("validate").lines[-1] == "1 contract in 1 file: no errors, 1 warning"
    assert call("validate").code == 0
    assert call("validate", "--warnings-as-errors").code == 1


@pytest.mark.usefixtures("broken")
def test_json_holds_all_that_the_text_holds(call: Call) -> None:
    said = call("validate", "--json")
    report = json.loads(said.out)
    assert said.code == 1
    assert {key: report[key] for key in ("contracts", "files", "errors", "warnings")} == {
        "contracts": 0,
        "files": 1,
        "errors": 2,
        "warnings": 0,
    }
    assert report["problems"][1] == {
        "code": "LL101",
        "severity": "error",
        "file": "contracts/shop/silver_orders.yaml",
        "line": 9,
        "column": 7,
        "path": "quality.row_rules[0].regx_match",
        "message": "`regx_match` is not a key of `quality.row_rules[0]`.",
        "found": "regx_match",
        "allowed": report["problems"][1]["allowed"],
        "suggestion": "regex_match",
        "advice": "Did you mean `regex_match`?",
    }


@pytest.mark.usefixtures("broken")
def test_github_gets_annotations(call: Call) -> None:
    assert call("validate", "--format", "github").lines[1] == (
        "::error file=contracts/shop/silver_orders.yaml,line=9,col=7,title=LL101 An unknown key::"
        "`regx_match` is not a key of `quality.row_rules[0]`. Did you mean `regex_match`?"
    )


def test_annotations_survive_awkward_names(broken: Path, call: Call) -> None:
    broken.rename(broken.with_name("a,b:c%.yaml"))
    assert "file=contracts/shop/a%2Cb%3Ac%25.yaml,line=5" in call("validate", "--format", "github").out


def test_strict_holds_files_to_the_canonical_language(orders: Path, call: Call) -> None:
    orders.write_text(orders.read_text().replace("version: 1.0.0", "version: 1.0").replace("title: Orders, ", ""))
    assert call("validate").code == 0
    said = call("validate", "--strict")
    assert said.code == 1
    assert [line.split(": ", 2)[:2] for line in said.lines[:-1]] == [
        ["contracts/shop/silver_orders.yaml:1:1", "error LL120"],
        ["contracts/shop/silver_orders.yaml:2:1", "error LL120"],
    ]


def test_the_example_is_canonical(call: Call) -> None:
    assert call("validate", "--strict", "--project", ROOT).code == 0


@pytest.mark.parametrize("words", [["--json", "validate"], ["validate", "--json"]])
@pytest.mark.usefixtures("shop")
def test_options_stand_before_or_after_the_command(call: Call, words: list[str]) -> None:
    assert json.loads(call(*words).out)["contracts"] == 1


def test_an_environment_that_nobody_knows_is_a_warning(call: Call, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "contracts", tmp_path / "contracts")
    said = call("validate", "--project", tmp_path, "--env", "moon")
    assert "warning LL303" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["validte"], "error: There is no command 'validte'. Did you mean validate?"),
        (["validate", "nowhere"], "error: There is no file or folder 'nowhere'."),
        (["validate", "--formt", "x"], "error: No such option: --formt"),
        (["validate", "--format", "pdf"], "error: Invalid value for '--format': 'pdf' is not one of 'text', 'github'."),
        (
            ["validate", "--project", "nowhere"],
            "is not a folder; give a project with --project or LAKELOGIC_PROJECT_DIR.",
        ),
        (["show"], "error: Missing argument 'CONTRACT'. Try `lakelogic show --help`."),
        (["explain-error", "LL999"], "error: There is no code 'LL999'."),
    ],
)
@pytest.mark.usefixtures("shop")
def test_a_slip_is_one_line_and_never_a_traceback(call: Call, words: list[str], message: str) -> None:
    said = call(*words)
    assert said.code in (1, 2)
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert message in said.err
    assert said.err.count("\n") == 1


def test_without_words_the_commands_are_listed(call: Call) -> None:
    said = call()
    assert said.code == 0
    assert "Usage: lakelogic" in said.out
    assert "explain-error" in said.out

"""A contract reads, writes, moves and deletes inside of the project's roots, or nothing at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from lakelogic_assets.contract.lint_places import lint_places
from tests.security.grounds import Grounds, Said, said_in_process
from tests.security.hostile_places import ENDLESS_CONTRACT, OUT, PLACES, VALUES, VALUES_CONTRACT, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

EVIL = "from pathlib import Path\n\nPath('CANARY').touch()\n\n\ndef run(frame):\n    return frame\n"


LINKED = ("linked_folder", "target_behind_link")


class Outcome(NamedTuple):
    grounds: Grounds
    before: dict[str, tuple[int, bytes]]
    said: Said

    @property
    def by_asset(self) -> dict[str, dict[str, Any]]:
        return {each["asset"]: each for each in json.loads(self.said.text)}


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """All of them in one run of one project, past the look at their letters."""
    assert spark
    with pytest.MonkeyPatch.context() as patch:
        grounds = Grounds.made(tmp_path_factory.mktemp("places"), patch)
        (grounds.outside / "evil.py").write_text(grounds.filled(EVIL))
        grounds.put({f"contracts/shop/silver_{each.name}.yaml": each.text for each in PLACES})
        grounds.put(
            {
                "contracts/shop/good.py": "def run(frame):\n    return None\n",
                "contracts/shop/silver_values.yaml": VALUES_CONTRACT,
                "contracts/shop/silver_endless.yaml": ENDLESS_CONTRACT,
                "odd/values.jsonl": "".join(json.dumps({"order_id": each, "note": each}) + "\n" for each in VALUES),
                "mixed/a.csv": "order_id\n1\n",
            }
        )
        grounds.link({"away": "OUTSIDE", "mixed/b.csv": "OUTSIDE/secret.csv"})
        # What can be told from letters is an error of the contract; here it is the engine that has to stop.
        patch.setattr("lakelogic_assets.contract.loading.lint_places", lambda *_: [])
        yield Outcome(grounds, grounds.state(), said_in_process(["run", "--all", "--json"]))


def test_nothing_outside_of_the_project_changes(outcome: Outcome) -> None:
    assert outcome.grounds.state() == outcome.before
    assert "Traceback" not in outcome.said.text


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_contract_that_leads_out_is_refused_in_a_sentence(place: Place, outcome: Outcome) -> None:
    ended = outcome.by_asset[f"silver_{place.name}"]
    assert ended["state"] == "failed"
    assert place.says in ended["error"]
    assert "\n" not in ended["error"]


def test_what_can_be_told_from_letters_is_an_error_of_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the others run first, they have switched it off for theirs.
    monkeypatch.setattr("lakelogic_assets.contract.loading.lint_places", lint_places)
    grounds = Grounds.made(tmp_path, monkeypatch)
    told = [each for each in PLACES if each.says == OUT and each.name not in LINKED and "output_of" not in each.name]
    grounds.put({f"contracts/shop/silver_{each.name}.yaml": each.text for each in told})
    said = said_in_process(["validate", "--json"])
    found = {Path(each["file"]).stem for each in json.loads(said.text)["problems"] if each["code"] == "LL603"}
    assert found == {f"silver_{each.name}" for each in told}


def test_the_contract_beside_them_runs(outcome: Outcome) -> None:
    assert outcome.by_asset["silver_orders"]["report"]["counts"]["good"] == 1


def test_landing_files_are_made_in_the_storage_root_only(outcome: Outcome) -> None:
    said = said_in_process(["generate", "silver_absolute"])
    assert (said.code, "outside of the storage root" in said.text) == (1, True)
    assert outcome.grounds.state() == outcome.before


def test_whatever_stands_in_a_row_is_data(outcome: Outcome, spark: SparkSession) -> None:
    """As a key that is merged by, and as a value that folders of the table are named after."""
    table = next(Path(outcome.grounds.project, ".lakehouse/warehouse").rglob("silver_values"))
    rows = spark.read.format("delta").load(str(table)).collect()
    assert sorted((row.order_id, row.note) for row in rows) == sorted((each, each) for each in VALUES)


def test_a_rule_that_would_never_end_fails_its_row(outcome: Outcome) -> None:
    counts = outcome.by_asset["silver_endless"]["report"]["counts"]
    assert (counts["good"], counts["quarantined"]) == (0, 1)

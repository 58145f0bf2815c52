"""What an operator does from the command line when data is late, wrong or missing; on real Spark and real Delta."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.spark.run_log import read_runs
from tests.orchestration.conftest import Shop, make_shop

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ONE, TWO, THREE = (f"2026-02-0{day}" for day in (1, 2, 3))
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
DAILY = """
    name: daily
    cadence: daily
    start: "2026-02-01"
    end: "2026-02-04"
"""
CLOSED = 666
"""An amount that the gate of the silver table does not let pass."""


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Shop:
    assert spark is not None
    made = make_shop(tmp_path / "shop")
    made.write("partitions/daily.yaml", DAILY)
    return made


@pytest.fixture
def call(shop: Shop, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """The command line in this process, so that it shares the suite's Spark: exit code, and all that was printed."""

    def called(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = lakelogic([*words, "--project", str(shop.root)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return called


def logged(shop: Shop, table: str) -> list[dict[str, Any]]:
    """The runs of a table, oldest first."""
    path = shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log"
    return read_runs(str(path), contract=f"shop/{table}", with_reports=True)[::-1]


def windows(shop: Shop, table: str, status: str = "success") -> list[str]:
    return [row["report"]["window"]["key"] for row in logged(shop, table) if row["status"] == status]


def table(shop: Shop, name: str) -> DeltaTable:
    return DeltaTable(str(shop.root / ".lakehouse/warehouse/lake/shop" / name))


def test_since_the_last_success_only_what_is_new_is_run(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    for day in (ONE, TWO):
        shop.land(day, 10, 20)
    code, said = call("run", GOLD, "--window", "last_success")
    assert code == 0, said
    (row,) = logged(shop, GOLD)
    assert row["status"] == "skipped"
    assert row["error_message"] == "its upstream shop/silver_till_orders has no success in the run log; run that first"

    code, said = call("run", f"+{GOLD}", "--window", "last_success")
    assert code == 0, said
    assert windows(shop, BRONZE) == [ONE, TWO]
    first = logged(shop, BRONZE)[0]["report"]
    assert first["request"]["window"] == "last_success"
    assert f"shop/{BRONZE} {ONE}: warning: the run log has no success of it, so everything is loaded" in said
    assert (
        first["warnings"] == [first["request"]["why"]] == ["the run log has no success of it, so everything is loaded"]
    )
    assert [total for _, total in shop.rows(GOLD, "ordered_on", "total")] == ["30.0", "30.0"]

    shop.land(THREE, 7)
    code, said = call("run", f"+{GOLD}", "--window", "last_success", "--json")
    assert code == 0, said
    assert windows(shop, BRONZE)[2:3] == [THREE]
    assert logged(shop, BRONZE)[2]["report"]["warnings"] == []
    assert "after the last success" in logged(shop, BRONZE)[2]["report"]["request"]["why"]
    assert shop.days(GOLD) == [ONE, TWO, THREE]
    commit = next(each for each in table(shop, GOLD).history(1))
    assert json.loads(commit["userMetadata"])["bounds"]["start"] is not None


def test_a_failed_night_goes_on_where_it_ended(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    for day in (ONE, TWO, THREE):
        shop.land(day, 10)
    shop.land(TWO, CLOSED)
    code, said = call("backfill", f"+{GOLD}", "--from", ONE, "--to", THREE)
    assert code == 1
    assert f"shop/{GOLD} {TWO}: held back, waits for shop/{SILVER} {TWO}" in said
    assert shop.days(GOLD) == [ONE, THREE]
    before = {name: len(logged(shop, name)) for name in (BRONZE, SILVER, GOLD)}

    code, said = call("resume", "--dry-run")
    assert [line.split(" (")[0].strip(" …") for line in said.splitlines() if "…" in line] == [
        f"shop/{SILVER} {TWO}",
        f"shop/{GOLD} {TWO}",
    ]
    shop.land(TWO, 11)
    assert call("run", BRONZE, "--day", TWO)[0] == 0
    code, said = call("resume")
    assert code == 0, said
    assert shop.days(GOLD) == [ONE, TWO, THREE]
    after = {name: len(logged(shop, name)) - count for name, count in before.items()}
    assert after == {BRONZE: 1, SILVER: 1, GOLD: 1}
    assert {row["pipeline_run_id"] for row in logged(shop, GOLD)} == {logged(shop, GOLD)[0]["pipeline_run_id"]}
    assert call("resume")[1].strip() == "There is nothing to resume."


def test_what_has_left_the_project_is_not_resumed_and_named(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    shop.land(ONE, 10)
    assert call("run", BRONZE, GOLD, "--day", ONE, "--timeout", "0.01s", "--retries", "0")[0] == 1
    index = "contracts/shop/till/_system.yaml"
    text = (shop.root / index).read_text()
    shop.write(index, "".join(line for line in text.splitlines(keepends=True) if "gold" not in line))
    (shop.root / "contracts/shop/till/gold_till_totals.yaml").unlink()
    (shop.root / "contracts/shop/till/gold_till_overview.yaml").unlink()
    code, said = call("resume", "--dry-run")
    assert code == 0
    assert f"The project no longer runs shop/{GOLD}, so nothing of that is resumed." in said
    assert f"… shop/{BRONZE} {ONE}" in said


def test_every_command_goes_on_with_the_sound_contracts_and_names_the_others(
    shop: Shop, call: Callable[..., tuple[int, str]]
) -> None:
    shop.land(ONE, 10, -1)
    assert call("run", BRONZE, SILVER, "--day", ONE)[0] == 0
    path = "contracts/shop/till/gold_till_totals.yaml"
    shop.write(path, (shop.root / path).read_text().replace("strategy: merge", "strategy: merg"))
    for words, work in (
        (("plan",), f"shop/{SILVER}"),
        (("ddl",), "created    shop/gold_till_overview"),
        (("audit",), f"shop/{SILVER} v0 {ONE}: 2 = 1 good + 1 quarantined + 0 dropped: holds"),
        (("quarantine",), f"shop/{SILVER}: 1 rows"),
        (("late",), "no windows late in 2 contracts"),
        (("approve",), "Nothing waits for a signature."),
        (("generate", "--days", "1", "--rows", "3", "--output", str(shop.root / "made")), f"shop/{BRONZE}: 3 rows"),
        (("reset", SILVER, "--dry-run"), f"shop/{SILVER}: 1 row in 1 file"),
    ):
        code, said = call(*words)
        assert work in said, said
        named = "left out shop/gold_till_totals: contracts/shop/till/gold_till_totals.yaml" in said
        assert (code, named) == ((0, False) if words[0] == "reset" else (1, True)), said
        assert "Traceback" not in said


def test_two_operators_who_start_the_same_window_wait_for_each_other(shop: Shop) -> None:
    shop.land(ONE, 10, 20)
    words = ["run", BRONZE, SILVER, "--day", ONE, "--json", "--project", str(shop.root)]
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(lakelogic, [words, words])] == [0, 0]
    for name in (BRONZE, SILVER):
        assert len(shop.rows(name, "order_id")) == 2
        # The second to come may find that rows came for a window meanwhile, and builds it once more.
        assert len(logged(shop, name)) >= 2
        assert {row["status"] for row in logged(shop, name)} <= {"success", "unchanged"}


def test_a_pack_that_contradicts_a_contract_is_refused_and_so_is_one_with_errors(
    shop: Shop, call: Callable[..., tuple[int, str]]
) -> None:
    rule = "quality: {row_rules: [{name: amount is not negative, sql: amount >= 5}]}\n"
    shop.write("packs/contrary.yaml", rule)
    shop.write("packs/wrong.yaml", rule.replace("amount is not negative", "big").replace(">= 5", ">="))
    for pack, message in (
        ("contrary", "The rule `amount is not negative` is another one in the policy pack (contrary.yaml:1)"),
        ("wrong", "wrong.yaml:1"),
    ):
        words = ("--policy-pack", pack, "--policy-pack-dir", str(shop.root / "packs"))
        code, said = call("run", SILVER, "--day", ONE, *words)
        assert code == 1
        assert message in said
        assert logged(shop, SILVER) == []


def test_a_rebuild_replaces_its_days_and_touches_no_other(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    for day in (ONE, TWO, THREE):
        shop.land(day, 10, 20, 30)
    assert call("backfill", f"+{GOLD}", "--from", ONE, "--to", THREE)[0] == 0
    before = {name: set(table(shop, name).file_uris()) for name in (BRONZE, SILVER, GOLD)}
    shop.land(TWO, 10, 5)
    code, said = call("reprocess", BRONZE, "--from", TWO, "--to", TWO)
    assert code == 0, said
    # The third order of the day is gone from the source, and so from what is merged by key.
    assert shop.rows(SILVER, "order_id", "amount")[3:5] == [(f"{TWO}-0", "10.0"), (f"{TWO}-1", "5.0")]
    assert shop.rows(GOLD, "ordered_on", "total") == [(ONE, "60.0"), (TWO, "15.0"), (THREE, "60.0")]
    for name, files in before.items():
        changed = files ^ set(table(shop, name).file_uris())
        assert changed
        assert all(f"ordered_on={TWO}" in file for file in changed)
    report = logged(shop, SILVER)[-1]["report"]
    assert report["request"]["reprocess"] is True
    assert any("1 rows of the window are gone" in warning for warning in report["warnings"])


def test_a_day_whose_files_were_all_withdrawn_is_emptied_with_all_that_was_made_from_it(
    shop: Shop, call: Callable[..., tuple[int, str]]
) -> None:
    landed = {day: shop.land(day, 10, -1) for day in (ONE, TWO, THREE)}
    with landed[TWO].open("a") as file:
        file.write(json.dumps({"order_id": "x", "amount": "many", "ordered_on": TWO}) + "\n")
    assert call("backfill", f"+{GOLD}", "--from", ONE, "--to", THREE)[0] == 0
    before = {name: set(table(shop, name).file_uris()) for name in (BRONZE, SILVER, GOLD)}
    assert f"shop/{BRONZE}: 1 rows" in call("quarantine")[1]
    landed[TWO].unlink()
    # A run that was not asked to rebuild finds nothing new.
    assert call("run", BRONZE, "--day", TWO)[0] == 0
    assert windows(shop, BRONZE, "no_new_data") == [TWO]
    code, said = call("reprocess", BRONZE, "--from", TWO, "--to", TWO)
    assert code == 0, said
    assert [shop.days(name) for name in (BRONZE, SILVER, GOLD)] == [[ONE, THREE]] * 3
    assert shop.rows("gold_till_overview", "days", "total") == [("2", "20.0")]
    for name, files in before.items():
        assert all(f"ordered_on={TWO}" in file for file in files ^ set(table(shop, name).file_uris()))
    said = call("quarantine")[1]
    assert f"shop/{SILVER}: 2 rows" in said
    assert BRONZE not in said
    assert "no windows late" in call("late")[1]
    assert call("audit")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backfill", GOLD, "--from", "2026-02-05", "--to", "2026-02-01"), "The last day 2026-02-01 is before"),
        (("run", GOLD, "--from", "2999-01-01"), "is in the future"),
        (("run", GOLD, "--from", "2026-2-1"), "is not a day; write it as 2026-02-01."),
        (("run", GOLD, "--to", "2026-02-01"), "has no first day; name both."),
        (("run", GOLD, "--window", "range"), "needs a first and a last day"),
        (("run", GOLD, "--window", "last_week"), "is not a window; choose one of full"),
        (("run", GOLD, "--window", "full", "--day", ONE), "takes no days"),
        (("run", GOLD, "--day", ONE, "--from", TWO), f"--day {ONE} is a day by itself; leave it out, or --from"),
        (("run", "gold_till_totls"), "Did you mean gold_till_totals?"),
        (("reprocess", "--from", ONE), "Say what to run"),
        (("run", GOLD, "--timeout", "soon"), "is not a length of time"),
        (("approve", GOLD, "--why", "x"), "Nothing of shop/gold_till_totals waits for a signature."),
        (("resume", "nobody"), "There is no pipeline run 'nobody'"),
        (("run", BRONZE, "--set", "source.path=/etc"), "--set source.path"),
        (("run", BRONZE, "--policy-pack", "nothing"), "There is no policy pack 'nothing'"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    call: Callable[..., tuple[int, str]], words: tuple[str, ...], message: str
) -> None:
    code, said = call(*words)
    assert code in (1, 2)
    assert message in said
    assert "Traceback" not in said


def test_a_value_set_for_one_run_is_used_and_recorded(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    shop.land(ONE, 1)
    other = shop.root / ".lakehouse/landing/elsewhere/y_2026/m_02/d_01/orders.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"order_id": "x", "amount": 5, "ordered_on": ONE}) + "\n")
    path = shop.root / ".lakehouse/landing/elsewhere"
    code, said = call("run", BRONZE, "--day", ONE, "--set", f"source.path={path}")
    assert code == 0, said
    assert shop.rows(BRONZE, "order_id") == [("x",)]
    (row,) = logged(shop, BRONZE)
    assert row["report"]["request"]["set"] == {"source.path": str(path)}


def test_what_a_person_has_to_sign_is_not_published_before(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    shop.land(ONE, 10, -1, -2)
    assert call("run", BRONZE, "--day", ONE)[0] == 0
    code, said = call("run", SILVER, "--day", ONE, "--approval-required")
    assert code == 1
    assert "66.7% of the rows were quarantined; this waits for a signature" in said
    assert not (shop.root / ".lakehouse/warehouse/lake/shop" / SILVER / "_delta_log").exists()
    assert call("run", GOLD, "--day", ONE)[0] == 1
    assert logged(shop, GOLD)[-1]["status"] == "held"

    asked = logged(shop, SILVER)[-1]["run_id"]
    assert f"(run {asked[:8]})" in call("approve")[1]
    assert "asked for nothing that waits" in call("approve", SILVER, "--why", "known", "--run", "0123")[1]
    assert "A signature needs a reason" in call("approve", SILVER)[1]
    signing = ("approve", SILVER, "--why", "the till was broken", "--by", "ada", "--run", asked[:8], "--expires")
    assert "'soon' is not a length of time" in call(*signing, "soon")[1]
    assert call(*signing, "2h")[0] == 0
    code, said = call("run", SILVER, GOLD, "--day", ONE, "--approval-required")
    assert code == 0, said
    signed = logged(shop, SILVER)[-1]["report"]["approval"]
    assert (signed["by"], signed["why"]) == ("ada", "the till was broken")
    assert datetime.fromisoformat(signed["expires"]) - datetime.fromisoformat(signed["at"]) == timedelta(hours=2)
    assert shop.rows(GOLD, "total") == [("10.0",)]

    # More bad rows than were signed for wait again.
    shop.land(ONE, 10, -1, -2, -3)
    assert call("run", BRONZE, "--day", ONE)[0] == 0
    assert call("run", SILVER, "--day", ONE, "--approval-required")[0] == 1


def test_a_column_that_comes_or_goes_waits_for_a_signature(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    words = ("run", BRONZE, "--approval-required", "--day")
    shop.land(ONE, 10)
    assert call(*words, ONE)[0] == 0
    file = shop.land(TWO, 10)
    file.write_text(json.dumps({"order_id": "1", "ordered_on": TWO, "colour": "red"}) + "\n")
    code, said = call(*words, TWO)
    assert code == 1
    assert "the source has new columns: colour; this waits for a signature" in said
    assert "the source lost columns: amount" in said
    assert shop.days(BRONZE) == [ONE]
    assert call("approve", BRONZE, "--why", "agreed with the vendor")[0] == 0
    assert call(*words, TWO)[0] == 0
    assert shop.days(BRONZE) == [ONE, TWO]


def test_a_file_can_be_the_signature(shop: Shop, call: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    shop.land(ONE, 10, -1, -2)
    assert call("run", BRONZE, "--day", ONE)[0] == 0
    file = tmp_path / "2026-02-01.ok"
    words = ("run", SILVER, "--day", ONE, "--approval-required", "--approval-file", str(file))
    assert call(*words)[0] == 1
    file.write_text("run_id: somebody-else\n")
    code, said = call(*words)
    assert code == 1
    assert "approves the run somebody-else, which did not ask" in said
    file.write_text(f"by: ada\nwhy: known\nexpires: {(datetime.now(UTC) - timedelta(hours=1)).isoformat()}\n")
    assert call(*words)[0] == 1
    file.write_text("by: ada\nwhy: known\n")
    code, said = call(*words)
    assert code == 0, said
    assert logged(shop, SILVER)[-1]["report"]["approval"]["by"] == "ada"


def test_a_run_that_takes_too_long_is_ended_and_says_so(shop: Shop, call: Callable[..., tuple[int, str]]) -> None:
    shop.land(ONE, 10)
    code, said = call("run", BRONZE, "--day", ONE, "--timeout", "0.01s", "--retries", "0")
    assert code == 1
    assert "The run took longer than the 0.01 seconds it may." in said
    assert logged(shop, BRONZE)[-1]["status"] == "failed"
    assert call("run", BRONZE, "--day", ONE)[0] == 0


def test_a_contract_that_keeps_failing_is_left_alone_for_a_while(
    shop: Shop, call: Callable[..., tuple[int, str]]
) -> None:
    path = "contracts/shop/till/bronze_till_orders.yaml"
    text = (shop.root / path).read_text()
    text = text.replace(
        "com.lakelogic.partitions: daily", "com.lakelogic.partitions: daily, com.lakelogic.max_consecutive_failures: 2"
    )
    shop.write(path, text)
    shop.land(ONE, 10)
    for _ in range(2):
        assert call("run", BRONZE, "--day", ONE, "--timeout", "0.01s")[0] == 1
    code, said = call("run", BRONZE, "--day", ONE)
    assert code == 1
    assert "the last 2 runs failed, so it is left alone until" in said
    assert call("run", BRONZE, "--day", ONE, "--ignore-gates")[0] == 0


def test_reference_data_may_be_old_for_as_long_as_the_contract_says(
    shop: Shop, call: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said_before = "{com.lakelogic.partitions: daily}"
    grace = "{com.lakelogic.partitions: daily, com.lakelogic.upstream_freshness: {silver_till_orders: 6h}}"
    path = "contracts/shop/till/gold_till_totals.yaml"
    shop.write(path, (shop.root / path).read_text().replace(said_before, grace))
    shop.land(ONE, 10)
    assert call("run", f"+{GOLD}", "--day", ONE)[0] == 0
    # The next day is held in silver; what silver had before is fresh enough to stand in.
    shop.land(TWO, CLOSED)
    code, said = call("run", f"+{GOLD}", "--day", TWO)
    assert code == 1
    assert logged(shop, SILVER)[-1]["status"] == "blocked"
    assert logged(shop, GOLD)[-1]["status"] in ("success", "no_new_data", "unchanged")
    later = datetime.now(UTC) + timedelta(hours=7)
    monkeypatch.setattr("lakelogic_assets.spark.admission.datetime", _Clock(later))
    code, said = call("run", GOLD, "--day", ONE)
    assert code == 1
    assert "silver_till_orders last succeeded 7 hours ago; at most 6 hours are allowed" in said


class _Clock:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self, zone: Any) -> datetime:
        return self._now.astimezone(zone)

"""`lakelogic driver` before anything is run: what it takes from its registries, and when it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.cli.driver import DriverCall
from tests.cli.conftest import ORDERS, ROOT

if TYPE_CHECKING:
    from tests.cli.conftest import Call

REGISTRY = """\
entries:
  - entity: orders
    contracts: {bronze: bronze_orders.yaml, silver: silver_orders.yaml}
  - entity: items
    contracts: {silver: silver_items.yaml}
  - {entity: old, enabled: false, contract_path: silver_old.yaml}
"""
WAREHOUSE = "entries: [{entity: sales, contract_path: gold_sales.yaml}]\n"
EXAMPLE = ROOT / "contracts" / "insurance"
ALL_THREE = (
    *("--registry", EXAMPLE / "_registry.yaml", "--reference-registry", EXAMPLE / "reference/_registry.yaml"),
    *("--gold-registry", EXAMPLE / "warehouse/_registry.yaml"),
)


@pytest.fixture
def registry(shop: Path) -> Path:
    folder = shop / "contracts" / "shop"
    for table in ("bronze_orders", "silver_orders", "silver_items", "silver_old", "warehouse/gold_sales"):
        path = folder / f"{table}.yaml"
        path.parent.mkdir(exist_ok=True)
        layer, name = path.stem.split("_")[0], path.stem
        path.write_text(ORDERS.replace("silver_orders", name).replace("layer: silver", f"layer: {layer}"))
    (folder / "_registry.yaml").write_text(REGISTRY)
    (folder / "warehouse" / "_registry.yaml").write_text(WAREHOUSE)
    return folder / "_registry.yaml"


def planned(lines: list[str]) -> list[str]:
    return sorted(line.split()[1].removeprefix("shop/") for line in lines if line.startswith("  …"))


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_run(registry: Path, call: Call) -> None:
    registry.with_name("silver_items.yaml").write_text("model: [\n")
    registry.with_name("silver_old.yaml").write_text("model: [\n")  # disabled, so nobody's business
    said = call("driver", "--registry", registry, "--dry-run")
    assert planned(said.lines) == ["bronze_orders", "silver_orders"]
    (told,) = [line for line in said.lines if line.startswith("left out")]
    assert told.startswith("left out shop/silver_items: contracts/shop/silver_items.yaml:")
    assert said.code == 1
    # Neither layer nor entity of it was asked for.
    for words in (("--layers", "bronze"), ("--entities", "orders")):
        assert call("driver", "--registry", registry, *words, "--dry-run").code == 0
    alone = call("driver", "--registry", registry, "--entities", "items", "--dry-run")
    assert (alone.code, "silver_items.yaml" in alone.out) == (1, True)


def test_a_contract_with_errors_is_named_too(registry: Path, call: Call) -> None:
    path = registry.with_name("silver_items.yaml")
    path.write_text(path.read_text().replace("strategy: append", "strategy: apend"))
    said = call("driver", "--registry", registry, "--dry-run", "--json")
    assert said.code == 1
    assert said.err.startswith("error: left out shop/silver_items: ")
    assert "apend" in said.err


def test_a_system_is_a_registry_and_its_files_are_named_as_well(registry: Path, call: Call) -> None:
    system = registry.with_name("_system.yaml")
    registry.unlink()
    system.write_text(
        "domain: shop\ncontracts:\n"
        '  - {layer: silver, entity: orders, path: "{silver_layer}_orders.yaml"}\n'
        "  - {layer: silver, entity: items, path: silver_items.yaml}\n"
        "  - {layer: bronze, entity: orders, path: bronze_orders.yaml}\n"
    )
    registry.with_name("silver_items.yaml").write_text("model: [\n")
    said = call("driver", "--registry", system, "--layers", "silver", "--dry-run")
    assert (said.code, planned(said.lines)) == (1, ["silver_orders"])
    assert "left out shop/silver_items" in said.out


def test_gold_is_taken_from_the_warehouse_below_where_it_is_asked_for(registry: Path, call: Call) -> None:
    assert "gold_sales" not in planned(call("driver", "--registry", registry, "--dry-run").lines)
    said = call("driver", "--registry", registry, "--layers", "gold", "--dry-run")
    assert said.lines[0] == "contracts/shop/warehouse/_registry.yaml is taken in for its layer"
    assert planned(said.lines) == ["gold_sales"]
    none = call("driver", "--registry", registry, "--layers", "bronze,reference", "--dry-run")
    assert none.lines[0] == "the registries list nothing in the layer reference"
    assert planned(none.lines) == ["bronze_orders"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--layers", "bronze,sliver"), "The registries have no layer 'sliver'. Did you mean silver?"),
        (("--entities", "orders,itms"), "The registries have no entity 'itms'. Did you mean items?"),
        (("--layers", "reference"), "The registries list nothing to run in the layers reference."),
        (("--gold-registry", "nowhere.yaml"), "There is no registry nowhere.yaml."),
        (("--summary-backend", "duckdb"), "needs a file: say which with --summary-database."),
        (("--summary-table", "t", "--summary-backend", "duckdb"), "needs a file: say which with --summary-database."),
        (("--summary-backend", "duckbd"), "There is no summary backend 'duckbd'; use duckdb."),
        (("--summary-database", "x.duckdb"), "leave the database out."),
        (("--metrics-backend", "jsn"), "'jsn'"),
        (("--window", "range"), "The window `range` needs a first and a last day."),
        (("--window-start-date", "2026-02-01", "--backfill-start-date", "2026-02-01"), "for range and backfill"),
        (("--window", "last_success", "--reprocess-start-date", "2026-02-01"), "leave out --window last_success."),
        (("--window-start-date", "2026-02-05", "--window-end-date", "2026-02-01"), "is before the first day"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(
    registry: Path, call: Call, words: tuple[str, ...], message: str
) -> None:
    said = call("driver", "--registry", registry, *words)
    assert said.code in (1, 2)
    assert said.err.count("\n") == 1
    assert message in said.err


def test_a_registry_that_is_none_or_has_errors_is_refused(registry: Path, call: Call) -> None:
    assert "lists no contracts" in call("driver", "--registry", registry.with_name("silver_items.yaml")).err
    registry.write_text("entries: [{entity: orders, contracts: bronze_orders.yaml}]\n")
    said = call("driver", "--registry", registry)
    assert said.code == 1
    assert "_registry.yaml:1" in said.out


def test_figures_as_json_without_a_path_are_kept_beside_the_logs() -> None:
    logs = Path("lake/_lakelogic")
    said = DriverCall(registry="r", metrics_backend="json")
    assert said.outputs(logs).metrics_path == logs / "pipeline_metrics.json"
    said = DriverCall(registry="r", metrics_backend="json", metrics_path=Path("here.json"))
    assert said.outputs(logs).metrics_path == Path("here.json")
    assert DriverCall(registry="r").outputs(logs).metrics_path is None


@pytest.mark.parametrize(
    "words",
    [
        (*ALL_THREE, "--layers", "reference,bronze,silver,gold", "--window", "last_success"),
        (*ALL_THREE, "--layers", "bronze,silver,gold", "--entities", "policies"),
        (
            *ALL_THREE[:2], "--layers", "bronze", "--set", "source.path=data/bronze", "--set",
            "source.pattern=claims_cdc_2026-02-06.csv",
        ),
        (
            *ALL_THREE, "--layers", "bronze,silver,gold", "--window", "range", "--window-start-date", "2026-02-01",
            "--window-end-date", "2026-02-05",
        ),
        (
            *ALL_THREE[:2], "--layers", "bronze,silver", "--backfill-start-date", "2026-02-01", "--backfill-end-date",
            "2026-02-07", "--backfill-granularity", "day",
        ),
        (
            *ALL_THREE, "--layers", "silver,gold", "--reprocess-start-date", "2026-02-01", "--reprocess-end-date",
            "2026-02-05",
        ),
        (*ALL_THREE[:2], "--layers", "bronze,silver,gold", "--state-path", "logs/driver_state.json", "--resume"),
        (
            *ALL_THREE, "--layers", "reference,bronze,silver,gold", "--window", "last_success", "--summary-table",
            "lakelogic.pipeline_runs", "--summary-backend", "duckdb", "--summary-database", "logs/runs.duckdb",
            "--metrics-path", "logs/pipeline_metrics.json",
        ),
        (
            *ALL_THREE[:2], "--layers", "silver", "--policy-pack", "baseline_silver", "--policy-pack-dir",
            str(ROOT / "contracts/policy_packs"),
        ),
        (*ALL_THREE[:2], "--layers", "gold", "--approval-required", "--approval-file", "approvals/2026-02-06.ok"),
        (*ALL_THREE[:2], "--layers", "silver", "--cache-references"),
        (*ALL_THREE, "--metrics-backend", "prometheus", "--metrics-host", "127.0.0.1", "--metrics-port", "0"),
    ],
)  # fmt: skip
def test_every_call_that_others_know_plans_something_of_the_example(
    call: Call, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    monkeypatch.chdir(tmp_path)
    said = call("driver", *words, "--dry-run")
    assert said.code == 0, said.err + said.out
    assert [line for line in said.lines if line.startswith("  …")]

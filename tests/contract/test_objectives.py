"""Which service levels count: the contract's own, and the registry's where it is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.document import Contract, Place
from lakelogic_assets.contract.objectives import FreshnessObjective, freshness_objective, volume_objective
from lakelogic_assets.contract.service_levels import Anomaly

if TYPE_CHECKING:
    from tests.contract.conftest import LoadText

FIELDS = [{"name": "id", "type": "long"}, {"name": "updated_at", "type": "timestamp"}]
STAMPED: dict[str, Any] = {"lineage": {"enabled": True}}


def contract(slo: dict[str, Any] | None = None, layer: str = "bronze", **sections: Any) -> Contract:
    made = Contract.model_validate({"info": {"table_name": "t"}, "model": {"fields": FIELDS}, **sections})
    return made.with_place(Place(layer=layer, registry={"slo": slo} if slo else {}))


def per_layer(**freshness: Any) -> dict[str, Any]:
    return {"freshness": {"bronze": {"max_delay_minutes": 60, **freshness}}}


def test_nothing_is_promised_where_nobody_says_anything() -> None:
    assert freshness_objective(contract()) is None
    assert volume_objective(contract()) is None


@pytest.mark.parametrize(
    ("levels", "seconds", "said_at"),
    [
        ({"freshness": "6h"}, 21_600, "service_levels.freshness"),
        ({"freshness": 6}, 21_600, "service_levels.freshness"),
        ({"freshness": {"max_delay_minutes": 30}}, 1_800, "service_levels.freshness"),
        ({"freshness_hours": 24}, 86_400, "service_levels.freshness_hours"),
    ],
)
def test_a_contract_promises_in_any_of_its_forms(levels: dict[str, Any], seconds: float, said_at: str) -> None:
    found = freshness_objective(contract(per_layer(), service_levels=levels))
    assert found == FreshnessObjective(seconds, None, said_at)


def test_the_registry_speaks_where_the_contract_is_silent() -> None:
    found = freshness_objective(contract(per_layer(check_column="updated_at")))
    assert found == FreshnessObjective(3_600, "updated_at", "slo.freshness.bronze")


def test_another_layer_promises_nothing() -> None:
    assert freshness_objective(contract(per_layer(), layer="gold")) is None


@pytest.mark.parametrize("key", ["_all", "curated", "silver"])
def test_a_layer_is_found_by_each_of_its_names(key: str) -> None:
    found = freshness_objective(contract({"freshness": {key: {"max_delay_minutes": 1}}}, layer="silver"))
    assert found == FreshnessObjective(60, None, f"slo.freshness.{key}")


def test_one_block_for_all_layers_counts_for_each() -> None:
    found = freshness_objective(contract({"freshness": {"max_delay_minutes": 1}}, layer="gold"))
    assert found == FreshnessObjective(60, None, "slo.freshness")


def test_an_excluded_table_inherits_no_promise_but_keeps_its_own() -> None:
    slo = per_layer(exclude_tables=["T"], check_column="updated_at")
    assert freshness_objective(contract(slo)) is None
    own = freshness_objective(contract(slo, service_levels={"freshness": "1d"}))
    assert own == FreshnessObjective(86_400, "updated_at", "service_levels.freshness")


def test_the_contracts_column_goes_with_the_registrys_threshold() -> None:
    found = freshness_objective(contract(per_layer(), service_levels={"freshness": {"field": "id"}}))
    assert found == FreshnessObjective(3_600, "id", "slo.freshness.bronze")


@pytest.mark.parametrize("column", ["_lakelogic_loaded_at", "not_a_column"])
def test_a_column_the_table_does_not_have_gives_way_to_the_time_rows_were_written(column: str) -> None:
    found = freshness_objective(contract(per_layer(check_column=column), **STAMPED))
    assert found
    assert found.column == "_lakelogic_processed_at"


def test_the_stamp_is_known_by_the_name_that_the_contract_gives_it() -> None:
    lineage = {"enabled": True, "timestamp_column_name": "written_at"}
    found = freshness_objective(contract(per_layer(check_column="_lakelogic_loaded_at"), lineage=lineage))
    assert found
    assert found.column == "written_at"


def test_without_stamps_no_column_tells() -> None:
    found = freshness_objective(contract(per_layer(check_column="_lakelogic_loaded_at")))
    assert found
    assert found.column is None


def test_the_first_column_that_the_table_has_wins() -> None:
    found = freshness_objective(contract(per_layer(check_columns=["changed", "updated_at", "id"])))
    assert found
    assert found.column == "updated_at"


def test_a_delay_of_zero_is_no_promise() -> None:
    assert freshness_objective(contract({"freshness": {"bronze": {"max_delay_minutes": 0}}})) is None


def test_the_volume_is_put_together_key_by_key() -> None:
    slo = {"row_count": {"bronze": {"min_rows": 1, "max_rows": 500, "warn_only": True, "anomaly": {"max_ratio": 3}}}}
    found = volume_objective(contract(slo, service_levels={"row_count": {"min_rows": 10}}))
    assert found
    assert (found.min_rows, found.max_rows, found.warn_only, found.counter) == (10, 500, True, "good")
    assert found.anomaly == Anomaly(max_ratio=3)
    assert found.skip_reprocess_days == 3


def test_what_a_contract_writes_as_empty_is_not_inherited() -> None:
    slo = {"row_count": {"min_rows": 1, "max_rows": 500}}
    found = volume_objective(contract(slo, service_levels={"row_count": {"max_rows": None, "warn_only": False}}))
    assert found
    assert (found.min_rows, found.max_rows) == (1, None)


@pytest.mark.parametrize(
    ("own", "bounds"),
    [({"min_rows": 1_000}, (1_000, None)), ({"max_rows": 5}, (None, 5)), ({"min_rows": 20}, (20, 500))],
)
def test_an_inherited_bound_gives_way_to_one_it_contradicts(own: dict[str, int], bounds: tuple[Any, Any]) -> None:
    found = volume_objective(
        contract({"row_count": {"min_rows": 10, "max_rows": 500}}, service_levels={"row_count": own})
    )
    assert found
    assert (found.min_rows, found.max_rows) == bounds


@pytest.mark.parametrize(
    ("field", "counter"),
    [("counts_source", "source"), ("counts_total", "total"), ("counts_good", "good"), ("order_date", "good")],
)
def test_what_is_counted(field: str, counter: str) -> None:
    found = volume_objective(contract(service_levels={"row_count": {"min_rows": 1, "check_field": field}}))
    assert found
    assert found.counter == counter


def test_an_anomaly_that_is_switched_off_is_none() -> None:
    assert volume_objective(contract(service_levels={"row_count": {"anomaly": {"enabled": False}}})) is None


def test_the_older_multiplier_means_so_many_times_more_or_less() -> None:
    found = volume_objective(contract({"row_count": {"anomaly_multiplier": 4}}))
    assert found
    assert found.anomaly == Anomaly(min_ratio=0.25, max_ratio=4)


def test_a_domain_promises_for_the_contracts_below_it(load_tree: LoadText) -> None:
    registry = load_tree(
        {
            "contracts/shop/_domain.yaml": "domain: shop\nslo: {freshness: {bronze: {max_delay_minutes: 90}}}\n",
            "contracts/shop/crm/_system.yaml": "system: crm\nslo: {freshness: {bronze: {check_column: at}}}\n"
            "contracts: [{path: bronze_a.yaml, layer: bronze}]\n",
            "contracts/shop/crm/bronze_a.yaml": "version: 1.0.0\nmodel: {fields: [{name: at, type: timestamp}]}\n",
        }
    )
    found = freshness_objective(registry.find("bronze_a"))
    assert found == FreshnessObjective(5_400, "at", "slo.freshness.bronze")

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.project import Project

CONTRACT = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders, target_layer: silver}
model: {fields: [{name: id, type: long}, {name: at, type: timestamp}]}
transformations: [{trim: {fields: [id]}}]
quality:
  row_rules: [{name: own, sql: id > 0}]
service_levels: {freshness: 6h}
metadata: {policy_pack: base}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "contracts" / "policy_packs").mkdir(parents=True)
    (tmp_path / "contracts" / "silver_orders.yaml").write_text(CONTRACT)
    return tmp_path


def loaded(folder: Path, pack: str, name: str = "base", project: Project | None = None) -> Registry:
    (folder / "contracts" / "policy_packs" / f"{name}.yaml").write_text(pack)
    return load_project(project or Project(folder), environ={})


def codes(registry: Registry) -> list[tuple[str, str, int]]:
    return [
        (each.code, each.location.file.name if each.location.file else "", each.location.line)
        for each in registry.errors
    ]


def test_a_contract_wins_over_the_defaults_of_its_pack(folder: Path) -> None:
    pack = "defaults: {tier: basic, service_levels: {freshness: 48h, row_count: {min_rows: 1}}}\n"
    contract = loaded(folder, pack).find("silver_orders")
    assert contract.tier == "basic"
    assert contract.service_levels.freshness
    assert contract.service_levels.freshness.threshold == "6h"
    assert contract.service_levels.row_count
    assert contract.service_levels.row_count.min_rows == 1


def test_defaults_of_the_layer_win_over_general_ones(folder: Path) -> None:
    pack = "defaults: {tier: basic}\nsilver_defaults: {tier: good}\ngold_defaults: {tier: best}\n"
    assert loaded(folder, pack).find("silver_orders").tier == "good"


def test_a_registry_wins_over_the_defaults_of_a_pack(folder: Path) -> None:
    (folder / "contracts" / "_domain.yaml").write_text("domain: shop\nquarantine: {write_mode: overwrite}\n")
    contract = loaded(folder, "defaults: {quarantine: {write_mode: append, format: delta}}\n").find("silver_orders")
    assert (contract.quarantine.write_mode, contract.quarantine.format) == ("overwrite", "delta")


def test_stamps_and_quarantine_of_a_pack_are_defaults(folder: Path) -> None:
    path = folder / "contracts" / "silver_orders.yaml"
    path.write_text(CONTRACT + "lineage: {capture_domain: false}\n")
    pack = "lineage: {enabled: true, capture_domain: true}\nquarantine: {format: delta}\ndefaults: {quarantine: {format: parquet}}\n"
    contract = loaded(folder, pack).find("silver_orders")
    assert contract.lineage.enabled
    assert not contract.lineage.capture_domain
    assert contract.quarantine.format == "parquet"


def test_a_slip_in_the_stamps_of_a_pack_is_told(folder: Path) -> None:
    assert codes(loaded(folder, "lineage: {enabld: true}\n")) == [("LL101", "base.yaml", 1)]


def test_rules_are_added_behind_the_contracts_own(folder: Path) -> None:
    pack = "quality:\n  row_rules:\n    - {name: late, sql: at < now()}\n  dataset_rules: [{unique: id}]\n"
    registry = loaded(folder, pack)
    contract = registry.find("silver_orders")
    assert [rule.name for rule in contract.quality.row_rules] == ["own", "late"]
    assert len(contract.quality.dataset_rules) == 1
    where = registry.merged[contract.key].locate(("quality", "row_rules", 1, "sql"))
    assert (where.file and where.file.name, where.line) == ("base.yaml", 3)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("", ["drop", "trim"]),
        ("transformations_mode: prepend\n", ["drop", "trim"]),
        ("transformations_mode: append\n", ["trim", "drop"]),
        ("transformations_mode: replace\n", ["drop"]),
    ],
)
def test_steps_are_placed_by_their_mode(folder: Path, mode: str, kinds: list[str]) -> None:
    contract = loaded(folder, f"transformations: [{{drop: {{columns: [x]}}}}]\n{mode}").find("silver_orders")
    assert [step.kind for step in contract.transformations] == kinds


def test_steps_of_a_layer_may_have_a_mode_of_their_own(folder: Path) -> None:
    pack = """\
transformations: [{drop: {columns: [x]}}]
silver_transformations: [{lower: {fields: [id]}}]
silver_transformations_mode: append
gold_transformations: [{upper: {fields: [id]}}]
"""
    contract = loaded(folder, pack).find("silver_orders")
    assert [step.kind for step in contract.transformations] == ["drop", "trim", "lower"]


def test_every_step_keeps_the_place_it_was_written_at(folder: Path) -> None:
    registry = loaded(folder, "transformations:\n  - drop: {columns: [x]}\n")
    merged = registry.merged[registry.find("silver_orders").key]
    files = [merged.locate(("transformations", index)).file for index in (0, 1)]
    assert [file.name for file in files if file] == ["base.yaml", "silver_orders.yaml"]
    assert {path for path, _ in merged.inherited()} == {("transformations", 0)}


def test_placeholders_are_filled_in_packs_too(folder: Path) -> None:
    contract = loaded(folder, 'defaults: {quarantine: {target: "{storage_root}/held"}}\n').find("silver_orders")
    assert contract.quarantine.target == ".lakehouse/held"


def test_a_fault_of_a_rule_is_told_at_the_line_of_the_pack(folder: Path) -> None:
    assert codes(loaded(folder, "quality:\n  row_rules:\n    - {name: bad, sql: 'id > '}\n")) == [
        ("LL201", "base.yaml", 3)
    ]


@pytest.mark.parametrize(
    ("pack", "expected"),
    [
        ("transformations_mod: append\n", ("LL101", "base.yaml", 1)),
        ("quality: {row_rules: [{name: a}]}\n", ("LL107", "base.yaml", 1)),
        ("- a list\n", ("LL009", "base.yaml", 1)),
    ],
)
def test_a_pack_that_is_wrong_is_told_once_and_not_applied(
    folder: Path, pack: str, expected: tuple[str, str, int]
) -> None:
    (folder / "contracts" / "silver_items.yaml").write_text(CONTRACT.replace("silver_orders", "silver_items"))
    registry = loaded(folder, pack)
    assert codes(registry) == [expected]
    assert [step.kind for step in registry.find("silver_orders").transformations] == ["trim"]


def test_a_pack_that_nobody_takes_is_checked_all_the_same(folder: Path) -> None:
    loaded(folder, "name: base\n")
    assert codes(loaded(folder, "defualts: {}\n", name="unused")) == [("LL101", "unused.yaml", 1)]


@pytest.mark.parametrize("name", ["bsae", "../base", "/etc/base", "policy_packs/base"])
def test_a_pack_is_found_by_its_name_alone(folder: Path, name: str) -> None:
    path = folder / "contracts" / "silver_orders.yaml"
    path.write_text(CONTRACT.replace("policy_pack: base", f"policy_pack: {name}"))
    assert codes(loaded(folder, "name: base\n")) == [("LL425", "silver_orders.yaml", 8)]


PLAIN = CONTRACT.replace("metadata: {policy_pack: base}\n", "")


def test_packs_are_asked_for_by_name(folder: Path) -> None:
    (folder / "contracts" / "silver_orders.yaml").write_text(PLAIN)
    registry = loaded(folder, "defaults: {tier: basic}\n", project=Project(folder, policy_packs=("base",)))
    contract = registry.find("silver_orders")
    assert contract.tier == "basic"
    assert contract.place.policy_packs == ("base",)
    assert registry.errors == ()


def test_packs_of_another_folder_come_before_the_projects_own(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "base.yaml").write_text("defaults: {tier: theirs}\n")
    project = Project(folder, policy_packs_folder=other)
    assert loaded(folder, "defaults: {tier: ours}\n", project=project).find("silver_orders").tier == "theirs"


def test_a_registry_names_packs_for_a_layer(folder: Path) -> None:
    (folder / "contracts" / "silver_orders.yaml").write_text(PLAIN)
    gold = PLAIN.replace("silver", "gold")
    (folder / "contracts" / "gold_orders.yaml").write_text(gold)
    (folder / "contracts" / "_domain.yaml").write_text("domain: shop\npolicy_packs: {silver: base, _all: [every]}\n")
    (folder / "contracts" / "policy_packs" / "every.yaml").write_text("defaults: {tier: all, frequency: daily}\n")
    registry = loaded(folder, "defaults: {tier: basic}\n")
    silver, gold_contract = registry.find("silver_orders"), registry.find("gold_orders")
    assert (silver.tier, silver.frequency, silver.place.policy_packs) == ("basic", "daily", ("base", "every"))
    assert (gold_contract.tier, gold_contract.place.policy_packs) == ("all", ("every",))


def test_the_packs_of_a_system_win_over_those_of_its_domain(folder: Path) -> None:
    packs = folder / "contracts" / "policy_packs"
    for name in ("far", "near"):
        (packs / f"{name}.yaml").write_text(f"defaults: {{tier: {name}}}\n")
    (folder / "contracts" / "silver_orders.yaml").unlink()
    system = folder / "contracts" / "shop" / "pos"
    system.mkdir(parents=True)
    (system.parent / "_domain.yaml").write_text("domain: shop\npolicy_packs: {silver: far}\n")
    (system / "_system.yaml").write_text(
        "domain: shop\nsystem: pos\npolicy_packs: {silver: near}\ncontracts: [{path: silver_orders.yaml}]\n"
    )
    (system / "silver_orders.yaml").write_text(PLAIN)
    assert loaded(folder, "name: base\n").find("silver_orders").place.policy_packs == ("near",)


def test_a_stronger_pack_wins_and_its_steps_go_around(folder: Path) -> None:
    (folder / "contracts" / "policy_packs" / "first.yaml").write_text(
        "defaults: {tier: first}\ntransformations: [{upper: {fields: [id]}}]\n"
    )
    project = Project(folder, policy_packs=("first", "base"))
    pack = "defaults: {tier: base, frequency: daily}\ntransformations: [{lower: {fields: [id]}}]\n"
    contract = loaded(folder, pack, project=project).find("silver_orders")
    assert (contract.tier, contract.frequency) == ("first", "daily")
    assert [step.kind for step in contract.transformations] == ["upper", "lower", "trim"]
    assert contract.place.policy_packs == ("first", "base")


def test_a_contract_may_name_several_packs(folder: Path) -> None:
    (folder / "contracts" / "policy_packs" / "more.yaml").write_text("defaults: {frequency: daily}\n")
    path = folder / "contracts" / "silver_orders.yaml"
    path.write_text(CONTRACT.replace("policy_pack: base", "policy_pack: [base, more]"))
    contract = loaded(folder, "defaults: {tier: basic}\n").find("silver_orders")
    assert (contract.tier, contract.frequency) == ("basic", "daily")


@pytest.mark.parametrize("key", ["layers: [mart]", "layers: gold", "layer: gold"])
def test_a_pack_for_other_layers_passes_a_contract_by(folder: Path, key: str) -> None:
    (folder / "contracts" / "silver_orders.yaml").write_text(PLAIN)
    (folder / "contracts" / "gold_orders.yaml").write_text(PLAIN.replace("silver", "gold"))
    project = Project(folder, policy_packs=("base",))
    registry = loaded(folder, f"{key}\ndefaults: {{tier: basic}}\n", project=project)
    assert registry.errors == ()
    assert (registry.find("silver_orders").tier, registry.find("gold_orders").tier) == (None, "basic")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{name: own, sql: id > 0}", []),
        ("{name: own, sql: 'id  >  0', severity: warning, description: text}", []),
        ("{name: own, sql: id > 1}", [("LL428", "silver_orders.yaml", 6)]),
        ("{name: own, not_null: id}", [("LL428", "silver_orders.yaml", 6)]),
    ],
)
def test_a_rule_of_the_same_name_is_the_contracts(
    folder: Path, rule: str, expected: list[tuple[str, str, int]]
) -> None:
    registry = loaded(folder, f"quality:\n  row_rules:\n    - {rule}\n")
    assert codes(registry) == expected
    assert [problem.code for problem in registry.warnings] == []
    assert [rule.sql for rule in registry.find("silver_orders").quality.row_rules] == ["id > 0"]
    assert all("base.yaml:3" in problem.message for problem in registry.errors)


def test_whole_sections_of_a_pack_are_defaults(folder: Path) -> None:
    pack = """\
version: 1.0
layer: silver
materialization: {strategy: merge, reprocess_policy: append}
service_levels: {freshness: 48h, row_count: {min_rows: 1}}
schema_policy: {evolution: strict, unknown_fields: quarantine}
lineage: {enabled: true}
quarantine: {include_error_reason: true}
metadata: {team: core}
compliance: {gdpr: true}
"""
    path = folder / "contracts" / "silver_orders.yaml"
    path.write_text(CONTRACT + "materialization: {strategy: append}\n")
    registry = loaded(folder, pack)
    contract = registry.find("silver_orders")
    assert registry.errors == ()
    assert (contract.materialization.strategy, contract.materialization.reprocess_policy) == ("append", "append")
    assert contract.policy.evolution == "strict"
    assert (contract.metadata["team"], contract.compliance) == ("core", {"gdpr": True})
    where = registry.merged[contract.key].locate(("materialization", "reprocess_policy"))
    assert (where.file and where.file.name, where.line) == ("base.yaml", 3)


def test_everybody_else_loads_a_project_as_before(folder: Path) -> None:
    contract = loaded(folder, "defaults: {tier: basic}\n").find("silver_orders")
    assert contract.place.policy_packs == ("base",)
    assert Project(folder).policy_packs == ()


def test_rules_under_defaults_are_added_too(folder: Path) -> None:
    pack = """\
defaults:
  quality: {enforce_required: false, row_rules: [{name: every, sql: id < 9}]}
silver_defaults:
  quality:
    row_rules: [{not_null: id}, {name: own, sql: id > 0}]
    dataset_rules: [{null_ratio: {field: id, max: 0.01}}]
gold_defaults: {quality: {row_rules: [{not_null: at}]}}
"""
    registry = loaded(folder, pack)
    contract = registry.find("silver_orders")
    assert registry.errors == ()
    assert [rule.name for rule in contract.quality.row_rules] == ["own", "every", None]
    assert len(contract.quality.dataset_rules) == 1
    assert not contract.quality.enforce_required
    assert registry.merged[contract.key].locate(("quality", "row_rules", 2)).line == 5


def test_a_pack_is_called_by_its_file(folder: Path) -> None:
    registry = loaded(folder, "name: other\ndefaults: {tier: basic}\n")
    assert registry.errors == ()
    assert [(each.code, each.suggestion) for each in registry.warnings] == [("LL430", "base")]
    assert registry.find("silver_orders").tier == "basic"

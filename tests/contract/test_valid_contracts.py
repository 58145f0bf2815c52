"""Every folder of tests/cases/contracts/valid: it loads, and the facts beside it hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import references
from lakelogic_assets.contract.loading import load_paths, load_project
from lakelogic_assets.contract.materialization import Scd2
from lakelogic_assets.contract.problems import YamlPath
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import dataset_rules, row_rules
from lakelogic_assets.project import Project

CASES = Path(__file__).parents[1] / "cases" / "contracts" / "valid"
PART = re.compile(r"[^.\[\]]+|\[\d+\]")
OF_THE_PROJECT = {"problems", "count", "levels", "external"}
OF_THE_CASE = {"of", "environ", "contracts"}


def loaded(case: Path, folder: Path, environ: dict[str, str]) -> Registry:
    copy = folder / case.name
    shutil.copytree(case, copy, ignore=shutil.ignore_patterns("expected.yaml"))
    alone = copy / "contract.yaml"
    project = Project(copy)
    return load_paths([alone], project, environ) if alone.exists() else load_project(project, environ)


def rule_text(rule: Any) -> str:
    words = [rule.name, rule.phase, rule.severity, rule.category]
    words += [f"'{rule.label}'"] if rule.label else []
    words += ["null_passes"] if getattr(rule, "null_passes", False) else []
    return " ".join(words)


def scd2_of(contract: Contract) -> Scd2:
    assert contract.scd2 is not None
    return contract.scd2


FACTS: dict[str, Callable[[Contract], Any]] = {
    "table": lambda contract: contract.table,
    "domain": lambda contract: contract.domain,
    "system": lambda contract: contract.system,
    "layer": lambda contract: contract.layer,
    "enabled": lambda contract: contract.place.enabled,
    "target_path": lambda contract: contract.materialization.target_path,
    "quarantine_target": lambda contract: contract.quarantine.target,
    "steps": lambda contract: [f"{step.kind} {step.effective_phase}" for step in contract.transformations],
    "row_rules": lambda contract: [rule_text(rule) for rule in row_rules(contract)],
    "dataset_rules": lambda contract: [rule_text(rule) for rule in dataset_rules(contract)],
    "lineage": lambda contract: list(contract.lineage.columns.values()),
    "policy": lambda contract: [
        contract.policy.evolution,
        contract.policy.unknown_fields,
        contract.policy.on_schema_violation,
    ],
    "types": lambda contract: [field.spark_type for field in contract.model.fields],
    "merge_key": lambda contract: list(contract.merge_key),
    "pairs": lambda contract: [step.rename.pairs for step in contract.transformations if step.rename],
    "business_key": lambda contract: list(contract.business_key),
    "injected": lambda contract: list(scd2_of(contract).injected_columns),
    "tracked": lambda contract: list(scd2_of(contract).track_columns),
    "sentinels": lambda contract: [scd2_of(contract).effective_from_default, scd2_of(contract).effective_to_default],
    "unknown_member": lambda contract: scd2_of(contract).unknown_member is not None,
    "freshness_seconds": lambda contract: contract.service_levels.freshness_seconds,
    "availability": lambda contract: [
        getattr(contract.service_levels.availability, "threshold", None),
        getattr(contract.service_levels.availability, "field", None),
    ],
    "notified": lambda contract: [" ".join(each.on_events) for each in contract.quarantine.notifications],
    "defaults": lambda contract: [getattr(step.operation, "has_default", None) for step in contract.transformations],
    "reads": lambda contract: [reference.name for reference in references(contract)],
    "fact": lambda contract: getattr(contract.materialization.fact, "type", None),
}


def parts_of(path: str) -> YamlPath:
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in PART.findall(path))


def value_at(data: Any, path: YamlPath) -> Any:
    for part in path:
        data = data[part]
    return data


def check_contract(registry: Registry, name: str, expected: dict[str, Any]) -> None:
    contract = registry.find(name)
    merged = next(registry.merged[key] for key, each in registry.contracts.items() if each is contract)
    for fact, wanted in expected.items():
        if fact == "values":
            actual: Any = {path: value_at(merged.data, parts_of(path)) for path in wanted}
        elif fact == "origins":
            places = {path: merged.locate(parts_of(path)) for path in wanted}
            actual = {path: f"{place.file.name}:{place.line}" for path, place in places.items() if place.file}
        elif fact == "registry":
            actual = {key: contract.place.registry.get(key) for key in wanted}
        elif fact == "upstream":
            actual = ["/".join(key) for key in registry.graph.upstream[contract.key]]
        else:
            actual = FACTS[fact](contract)
        assert actual == wanted, f"{name}: {fact}"


def check_project(registry: Registry, folder: Path, expected: dict[str, Any]) -> None:
    problems = []
    for problem in registry.problems:
        file = problem.location.file
        place = "" if file is None or file.name == "contract.yaml" else f"{file.relative_to(folder)} "
        problems.append(f"{place}{problem.code} {problem.location.line}")
    assert problems == expected.get("problems", [])
    assert registry.errors == ()
    if "count" in expected:
        assert len(registry) == expected["count"]
    if "levels" in expected:
        assert [["/".join(key) for key in level] for level in registry.graph.levels] == expected["levels"]
    if "external" in expected:
        assert [edge.upstream[0] for edge in registry.graph.external] == expected["external"]


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
def test_the_contract_loads_and_its_facts_hold(name: str, tmp_path: Path) -> None:
    expected = yaml.safe_load((CASES / name / "expected.yaml").read_text())
    registry = loaded(CASES / name, tmp_path, expected.get("environ", {}))
    check_project(registry, tmp_path / name, expected)
    facts = {key: value for key, value in expected.items() if key not in OF_THE_PROJECT | OF_THE_CASE}
    if facts:
        of = expected.get("of") or next(iter(registry)).table
        check_contract(registry, of, facts)
    for contract, wanted in expected.get("contracts", {}).items():
        check_contract(registry, contract, wanted)
    assert len(registry) > 0

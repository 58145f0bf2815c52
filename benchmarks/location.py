"""Loading a code location of 1,000 contracts, against Dagster loading the same specs written by hand.

Both import, build, make the repository and its snapshot, as a code server does. The bar is twice as long.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.machine import Timing, best_of, in_fresh_process, timed, write_result
from benchmarks.mesh import write_mesh

CONTRACTS = 1000
ROUNDS = 3
BAR = 2.0


def main() -> bool:
    """Measure, print and write the result; gives whether the bar is met."""
    with tempfile.TemporaryDirectory() as folder:
        mesh, plain = Path(folder, "mesh"), Path(folder, "plain.json")
        write_mesh(mesh, CONTRACTS)
        found = in_fresh_process("benchmarks.location", "describe", str(mesh), str(plain))
        ways = {"by hand": plain, "contracts": mesh}
        times = best_of(ROUNDS, {way: lambda way=way, at=at: _measure(way, at) for way, at in ways.items()})  # type: ignore[misc]
    ratio = times["contracts"].cpu / times["by hand"].cpu
    print(f"location: {CONTRACTS} contracts, {found['checks']} checks, best of {ROUNDS}")
    print(f"  specs by hand        {times['by hand']}")
    print(f"  from contracts       {times['contracts']}")
    print(f"  ratio                {ratio:7.2f} (bar {BAR:g})")
    figures: dict[str, Any] = {name.replace(" ", "_"): took.rounded() for name, took in times.items()}
    write_result("location", {"contracts": CONTRACTS, **found, **figures, "ratio": round(ratio, 2), "bar": BAR})
    return ratio <= BAR


def _measure(way: str, at: Path) -> Timing:
    found = in_fresh_process("benchmarks.location", way, str(at))
    return Timing(found["wall"], found["cpu"])


def _serve(way: str, at: Path) -> None:
    """What a code server does before its location is shown."""
    import dagster as dg
    from dagster._core.remote_representation.external_data import RepositorySnap

    definitions = _from_contracts(at) if way == "contracts" else _by_hand(at)
    repository = definitions.get_repository_def()
    repository.load_all_definitions()
    dg.serialize_value(RepositorySnap.from_def(repository))


def _from_contracts(mesh: Path) -> Any:
    from lakelogic_assets.orchestration.build import build_definitions
    from lakelogic_assets.project import Project

    return build_definitions(Project(mesh))


def _by_hand(plain: Path) -> Any:
    import dagster as dg

    from lakelogic_assets.orchestration.resources import SparkResource

    return dg.Definitions(
        assets=[_asset(said) for said in json.loads(plain.read_text())],
        resources={"spark": SparkResource()},
        executor=dg.in_process_executor,
    )


def _asset(said: dict[str, Any]) -> Any:
    from datetime import timedelta

    import dagster as dg

    columns = [
        dg.TableColumn(
            name, kind, description=text, constraints=dg.TableColumnConstraints(nullable=nullable), tags=tags
        )
        for name, kind, text, nullable, tags in said["columns"]
    ]
    reference = dg.LocalFileCodeReference(file_path=said["file"], line_number=1, label="contract")
    spec = dg.AssetSpec(
        dg.AssetKey(said["key"]), deps=[dg.AssetKey(key) for key in said["deps"]], description=said["description"],
        group_name=said["group"], owners=said["owners"], kinds=set(said["kinds"]), tags=said["tags"],
        code_version=said["code_version"],
        metadata={
            "dagster/column_schema": dg.TableSchema(columns), "dagster/table_name": said["table"],
            "dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[reference]),
        },
        freshness_policy=dg.FreshnessPolicy.time_window(timedelta(hours=24), timedelta(hours=18)),
        automation_condition=dg.AutomationCondition.eager(),
    )  # fmt: skip
    checks = [
        dg.AssetCheckSpec(name, asset=spec.key, description=text, blocking=blocking)
        for name, text, blocking in said["checks"]
    ]

    @dg.multi_asset(
        name="__".join(said["key"]), specs=[spec], check_specs=checks, can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(), pool="__".join(said["key"]), required_resource_keys={"spark"},
    )  # fmt: skip
    def step():  # type: ignore[no-untyped-def]
        yield dg.MaterializeResult()

    return step


def _describe(mesh: Path, plain: Path) -> dict[str, int]:
    """The specs that the contracts become, as plain values for those who write them by hand."""
    from lakelogic_assets.orchestration.build import build_location
    from lakelogic_assets.orchestration.translator import ContractTranslator
    from lakelogic_assets.project import Project

    products = build_location(Project(mesh)).products
    described = []
    for product in products:
        spec = ContractTranslator().asset_spec(product)
        columns = spec.metadata["dagster/column_schema"].columns
        described.append(
            {
                "key": spec.key.path,
                "deps": [dep.asset_key.path for dep in spec.deps],
                "tags": {name: value for name, value in spec.tags.items() if not name.startswith("dagster/")},
                "description": spec.description,
                "group": spec.group_name,
                "owners": [*spec.owners],
                "kinds": sorted(spec.kinds),
                "code_version": spec.code_version,
                "file": str(product.contract.place.path),
                "table": spec.metadata["dagster/table_name"],
                "columns": [(c.name, c.type, c.description, c.constraints.nullable, dict(c.tags)) for c in columns],
                "checks": [(check.name, check.description, check.blocking) for check in product.checks],
            }
        )
    plain.write_text(json.dumps(described))
    return {"checks": sum(len(product.checks) for product in products)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One measurement, printed as JSON.")
    parser.add_argument("way", choices=["describe", "by hand", "contracts"])
    parser.add_argument("at", type=Path)
    parser.add_argument("plain", type=Path, nargs="?")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.way == "describe":
        print(json.dumps(_describe(chosen.at, chosen.plain)))
    else:
        took = timed(lambda: _serve(chosen.way, chosen.at))
        print(json.dumps({"wall": took.wall, "cpu": took.cpu}))

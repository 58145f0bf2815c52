"""Loading a code location of 1,000 contracts, against Dagster loading the same specs written by hand.

Both import, build, make the repository and its snapshot, as a code server does.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import in_fresh_process
from benchmarks.measurement import Bar, Measurement, Sample, Size, clocked
from benchmarks.mesh import write_mesh

CONTRACTS = 1000
HAND, OURS = "specs by hand", "from contracts"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    contracts = size.of(CONTRACTS, 5)
    with tempfile.TemporaryDirectory() as folder:
        mesh, plain = Path(folder, "mesh"), Path(folder, "plain.json")
        write_mesh(mesh, contracts)
        found = in_fresh_process("benchmarks.location", "describe", str(mesh), str(plain))
        yield Measurement(
            f"a code location of {contracts:,} contracts with {found['checks']:,} checks",
            {HAND: lambda: _measure(HAND, plain), OURS: lambda: _measure(OURS, mesh)},
            (Bar(OURS, HAND, 1.5, "cpu"),),
            warm_up=0,
        )


def _measure(way: str, at: Path) -> Sample:
    return Sample(**in_fresh_process("benchmarks.location", way, str(at)))


def _serve(way: str, at: Path) -> None:
    """What a code server does before its location is shown."""
    import dagster as dg
    from dagster._core.remote_representation.external_data import RepositorySnap

    definitions = _from_contracts(at) if way == OURS else _by_hand(at)
    repository = definitions.get_repository_def()
    repository.load_all_definitions()
    dg.serialize_value(RepositorySnap.from_def(repository))


def _from_contracts(mesh: Path) -> Any:
    """The module that a workspace names, for a project that the environment names."""
    from lakelogic_assets.project import PROJECT_VARIABLE

    os.environ[PROJECT_VARIABLE] = str(mesh)
    from lakelogic_assets.definitions import defs

    return defs


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


def _worker(arguments: list[str]) -> dict[str, Any]:
    way, at = arguments[0], Path(arguments[1])
    return _describe(at, Path(arguments[2])) if way == "describe" else asdict(clocked(lambda: _serve(way, at)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(_worker(sys.argv[1:])))

"""Run a whole mesh from an empty lake and keep a record: `python -m tests.public_mesh DIR [--env NAME] [--keep FILE]`.

For projects that others published. First on sound data: make it, run everything, run it again, write the site; then, in
a lake of its own, on data of which some rows are broken. Each step is a command as a user would give it, with a JVM of
its own, and is timed. Prints a table, keeps it as JSON, and ends with 1 when a promise is not kept. The folder itself
is run as it is, and nothing is written to it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.names import ERRORS_COLUMN
from lakelogic_assets.project import Project
from lakelogic_assets.spark.workspace import Workspace
from tests.report.site_pages import broken_links

SCHEMA = "Type Mismatch"
NEGATIVE = "positive_spend"
KEYED = ("merge", "scd2")
SHOWN = 8
Reports = dict[str, dict[str, Any]]


@dataclass
class Record:
    """What was done, how long it took, and which promises were kept."""

    steps: list[tuple[str, float]] = field(default_factory=list)
    promises: list[tuple[str, bool, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def promise(self, what: str, wrong: list[str], seen: str) -> None:
        """Kept where nothing is wrong; `seen` says what was looked at."""
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        self.promises.append((what, not wrong, "; ".join(wrong[:SHOWN]) + more or seen))

    @property
    def kept(self) -> bool:
        return all(kept for _, kept, _ in self.promises)

    def as_dict(self) -> dict[str, Any]:
        return {
            "seconds": {step: round(seconds, 1) for step, seconds in self.steps},
            "promises": [{"what": what, "kept": kept, "seen": seen} for what, kept, seen in self.promises],
            **self.facts,
        }


class Mesh:
    """A folder of contracts with a lake of its own, worked with by commands."""

    def __init__(self, folder: Path, environment: str, lake: Path, record: Record) -> None:
        self.lake, self._record = lake, record
        self._words = ("--project", str(folder), "--env", environment)
        self._environ = os.environ | {"LAKELOGIC_VAR_LAKE": str(lake), "PYTHONPATH": str(Path.cwd())}
        os.environ["LAKELOGIC_VAR_LAKE"] = str(lake)
        project = Project(folder, environment)
        self.registry: Registry = load_project(project)
        self.workspace = Workspace(project)

    @property
    def contracts(self) -> list[Contract]:
        return [contract for contract in self.registry if contract.place.enabled]

    def call(self, step: str, *words: str) -> Any:
        """What a command says as JSON."""
        command = [sys.executable, "-m", "lakelogic_assets.cli", *words[:1], *self._words, "--json", *words[1:]]
        begun = time.monotonic()
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, check=False)
        self._record.steps.append((step, time.monotonic() - begun))
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}") from None

    def run(self, step: str, *words: str) -> Reports:
        return {each["asset"]: each for each in self.call(step, "run", *(words or ("--all",)))}

    def files(self, strategies: tuple[str, ...]) -> dict[str, frozenset[str]]:
        """The data files that lie below the tables of these strategies, whether a version needs them or not."""
        found = {}
        for contract in self.contracts:
            if contract.materialization.strategy in strategies:
                folder = Path(self.workspace.destination(contract).target)
                found[contract.table] = frozenset(str(path) for path in folder.rglob("*.parquet"))
        return found

    def rows(self, path: str) -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(path):
            return []
        rows: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table().to_pylist()
        return rows


def not_well(mesh: Mesh, reports: Reports) -> list[str]:
    """Enabled contracts that did not end well, and why."""
    wrong = [f"{'/'.join(c.key)} was not run" for c in mesh.contracts if "/".join(c.key) not in reports]
    for name, each in reports.items():
        if each["state"] != "done":
            report = each.get("report") or {}
            why = each.get("error") or each.get("waits_for") or report.get("reasons") or ""
            wrong.append(f"{name} is {each['state']}: {str(why).splitlines()[:1]}")
    return wrong


def on_sound_data(mesh: Mesh, record: Record, options: argparse.Namespace) -> None:
    made = mesh.call("generate", "generate", *_size(options))
    first = mesh.run("first run")
    record.promise("every enabled contract ends well", not_well(mesh, first), f"{len(first)} contracts")
    held = [f"{name}: {each['report']['counts']['quarantined']}" for name, each in first.items() if _bad(each)]
    record.promise("no sound row is quarantined", held, f"{_total(first, 'good'):,} good rows")
    before = mesh.files(KEYED)
    second = mesh.run("second run")
    record.promise("every enabled contract ends well again", not_well(mesh, second), f"{len(second)} contracts")
    after = mesh.files(KEYED)
    news = [
        f"{table} has {len(after[table] ^ before[table])} other files"
        for table in after
        if after[table] != before[table]
    ]
    record.promise("the second run writes nothing to merge and scd2 tables", news, f"{len(after)} tables")
    record.promise("the second run reads no file twice", list(_read_twice(mesh, first, second)), _read(first))
    site = mesh.lake / "site"
    mesh.call("docs", "docs", "--output", str(site))
    pages = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")}
    record.promise("the site has no broken link", broken_links(pages), f"{len(pages)} pages")
    record.facts |= {
        "contracts": len(mesh.contracts),
        "rows made": sum(each["rows"] for each in made["contracts"]),
        "no data for": [f"{each['asset']}: {each['why']}" for each in made["skipped"]],
        "seconds by contract": _slowest(first),
    }


def _size(options: argparse.Namespace) -> list[str]:
    return ["--rows", str(options.rows), "--days", str(options.days)]


def _bad(each: dict[str, Any]) -> int:
    return int(((each.get("report") or {}).get("counts") or {}).get("quarantined", 0))


def _total(reports: Reports, kind: str) -> int:
    return sum(each["report"]["counts"][kind] for each in reports.values() if each.get("report"))


def _slowest(reports: Reports) -> dict[str, float]:
    spent = {name: each["report"]["seconds"] for name, each in reports.items() if each.get("report")}
    return dict(sorted(spent.items(), key=lambda pair: -pair[1])[:SHOWN])


def _read(reports: Reports) -> str:
    return f"{sum(len(_files(each)) for each in reports.values())} files read by the first"


def _files(each: dict[str, Any]) -> set[str]:
    watermark = (each.get("report") or {}).get("watermark") or {}
    return {str(name) for name, *_ in watermark.get("files", ())}


def _read_twice(mesh: Mesh, first: Reports, second: Reports) -> Iterator[str]:
    """Files that both runs read, of contracts that do not ask for all of their source every time."""
    for contract in mesh.contracts:
        name = "/".join(contract.key)
        if contract.source is None or contract.source.load_mode == "full" or name not in second:
            continue
        both = _files(first[name]) & _files(second[name])
        if both:
            yield f"{name} read {len(both)} files twice"


def on_broken_data(mesh: Mesh, record: Record, options: argparse.Namespace) -> None:
    """The first day is sound and brings what has history up to it; the days after it have news, and broken rows."""
    days = [datetime.now(UTC).date() - timedelta(days=number) for number in range(max(options.days, 2), 0, -1)]
    kept = [f"+{contract.table}" for contract in mesh.contracts if contract.materialization.strategy == "scd2"]
    rows = ("--rows", str(options.rows))
    mesh.call("generate a first day", "generate", *rows, "--from", str(days[0]), "--to", str(days[0]))
    if kept:
        mesh.run("run what has history", *kept)
    later = ("--from", str(days[1]), "--to", str(days[-1]))
    made = mesh.call("generate more days, some broken", "generate", *rows, *later, "--invalid", options.invalid)
    reports = mesh.run("run, some broken")
    record.promise(
        "broken rows do not keep a contract from ending well", not_well(mesh, reports), f"{len(reports)} contracts"
    )
    bad = {c.table: mesh.rows(mesh.workspace.destination(c).quarantine) for c in mesh.contracts}
    _judge_rule(mesh, record, bad)
    casts = Counter({t: sum(SCHEMA in str(row[ERRORS_COLUMN]) for row in rows) for t, rows in bad.items()})
    found = f"{casts.total()} rows in {len(+casts)} tables"
    record.promise("values that cannot be cast are quarantined", [] if casts.total() else ["there is none"], found)
    _judge_history(mesh, record, made)
    strange = [
        Path(place).name
        for c in mesh.contracts
        if bad[c.table] and not Path(place := mesh.workspace.destination(c).quarantine).name.startswith(f"{c.domain}_")
    ]
    there = sum(bool(rows) for rows in bad.values())
    record.promise("quarantine tables are named by domain", strange or ([] if there else ["there is none"]), f"{there}")
    record.facts |= {
        "rules broken": sum(len(each["broken_by_rule"]) for each in made["contracts"]),
        "rules left alone": {r: why for each in made["contracts"] for r, why in each["left_alone"].items()},
        "quarantined": {table: len(rows) for table, rows in bad.items() if rows},
    }


def _judge_rule(mesh: Mesh, record: Record, bad: dict[str, list[dict[str, Any]]]) -> None:
    asking = [c.table for c in mesh.contracts if any(rule.name == NEGATIVE for rule in row_rules(c))]
    if not asking:
        return  # not every mesh has it
    held = {table: sum(NEGATIVE in str(row[ERRORS_COLUMN]) for row in bad[table]) for table in asking}
    wrong = [f"{table} holds no row back for it" for table, rows in held.items() if not rows]
    record.promise(
        f"{NEGATIVE} quarantines", wrong, ", ".join(f"{rows} rows of {table}" for table, rows in held.items())
    )


def _judge_history(mesh: Mesh, record: Record, made: dict[str, Any]) -> None:
    """Each key has one version that counts; and each table that later days brought news for has versions that are over."""
    wrong, seen = [], []
    again = {each["asset"] for each in made["contracts"] if any(file["state"] == "written" for file in each["files"])}
    for contract in mesh.contracts:
        if contract.scd2 is None:
            continue
        flag = contract.scd2.current_flag_field
        names = contract.business_key
        rows = mesh.rows(mesh.workspace.destination(contract).target)
        current = Counter(tuple(row[name] for name in names) for row in rows if row[flag])
        keys = {tuple(row[name] for name in names) for row in rows}
        over = len(rows) - current.total()
        seen.append(f"{contract.table}: {current.total()} current, {over} over")
        if current.total() != len(keys) or len(current) != len(keys):
            wrong.append(f"{contract.table} has {len(keys)} keys and {current.total()} current versions")
        news = again & {"/".join(key) for key in mesh.registry.graph.around({contract.key}, up=True)}
        if news and not over:
            wrong.append(f"no version of {contract.table} is over after more days of {', '.join(sorted(news))}")
    record.promise("scd2 tables have history", wrong, ", ".join(seen))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--env", default="local_spark", help="the environment of the registries")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--invalid", default="2%")
    parser.add_argument("--keep", type=Path, default=Path(".cache/public_mesh.json"))
    options = parser.parse_args()
    record = Record()
    lots: list[Callable[[Mesh, Record, argparse.Namespace], None]] = [on_sound_data, on_broken_data]
    with tempfile.TemporaryDirectory(prefix="lakelogic-mesh-") as lakes:
        for lot in lots:
            lot(Mesh(options.folder.resolve(), options.env, Path(lakes) / lot.__name__, record), record, options)
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    options.keep.write_text(json.dumps(record.as_dict(), indent=2) + "\n")
    print(*lines(record), sep="\n")
    return 0 if record.kept else 1


def lines(record: Record) -> Iterator[str]:
    for step, seconds in record.steps:
        yield f"{seconds:8.1f} s  {step}"
    whole = ("generate", "first run", "second run")
    yield f"{sum(seconds for step, seconds in record.steps if step in whole):8.1f} s  making the data and running it twice"
    for what, kept, seen in record.promises:
        yield f"{'ok' if kept else 'NO'} {what}: {seen}"


if __name__ == "__main__":
    sys.exit(main())

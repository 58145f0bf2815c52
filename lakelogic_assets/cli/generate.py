"""`lakelogic generate`: landing files made from contracts, and what is wrong with them on purpose."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.printing import complain, counted, say, say_json, shown_path
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.authoring.landing import LandingPlan
    from lakelogic_assets.authoring.landing_report import LandedFile, LandingReport
    from lakelogic_assets.contract.graph import Key

_PERIOD = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def generate(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SELECT]...", help="Contracts: a name, a file, domain:retail, +name, a glob."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of a contract and day.")] = 200,
    days: Annotated[int, typer.Option(min=1, help="How many days, the last of them yesterday or --to.")] = 3,
    first: Annotated[str | None, typer.Option("--from", metavar="DATE", help="First day.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Last day, included.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 42,
    invalid: Annotated[str, typer.Option(metavar="SHARE", help="Share of broken rows, such as 2%; 0 for none.")] = "0%",
    edge_cases: Annotated[
        bool, typer.Option("--edge-cases", help="Add empty, extreme, hostile and doubled rows.")
    ] = False,
    locale: Annotated[str, typer.Option(help="Names and addresses of this place, such as de_DE.")] = "en_US",
    stream: Annotated[bool, typer.Option("--stream", help="One window after another, as if live.")] = False,
    interval: Annotated[str, typer.Option(metavar="TIME", help="Between the windows of --stream.")] = "5s",
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Lay the files below this folder instead of the lake's.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there and were not made here.")
    ] = False,
) -> None:
    """Make landing files from contracts: rows that pass their rules, and, if asked for, some that break each of them.

    Files land where the contracts' sources look for them. Without SELECT every enabled contract that reads files gets
    some. Rows that refer to other contracts hold keys that the files of those contracts hold under the same options.
    """
    from lakelogic_assets.authoring.landing import LandingPlan, Request, requested_days
    from lakelogic_assets.spark.session import open_session
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    found = chosen(settings.project, select or ())
    workspace = Workspace(found.project)
    share = _share(invalid)
    request = Request(
        requested_days(first, last, days), rows, seed, share, thorough=True, edge_cases=edge_cases, locale=locale,
        only=frozenset(found.keys) if select else None, overwrite=overwrite,
    )  # fmt: skip
    plan = LandingPlan(found.registry, found.project, workspace.root, request, output=output)
    spark = open_session(workspace.spark_conf)
    pause = _seconds(interval)
    report = _streamed(plan, spark, pause, quiet=settings.as_json) if stream else plan.land(spark)
    if settings.as_json:
        say_json(_as_dict(report))
    else:
        _print(report, invalid=share > 0)
    left_out = name_left_out(found.left_out, found.project, as_json=settings.as_json)
    raise typer.Exit(left_out if report.files else 1)


def _streamed(plan: LandingPlan, spark: Any, seconds: float, *, quiet: bool) -> LandingReport:
    """The windows one by one; each line is printed when its file is there."""
    from lakelogic_assets.authoring.landing_report import LandingReport

    files: list[LandedFile] = []
    last: LandingReport | None = None
    for report in plan.stream(spark):
        if last is not None:
            time.sleep(seconds)
        files += report.files
        last = report
        if not quiet:
            for file in (each for each in report.files if each.state != "kept"):
                say(f"  {datetime.now(UTC):%H:%M:%S}  {shown_path(file.path)}  {counted(file.rows, 'row')}")
    return LandingReport(tuple(files), last.skipped if last else (), last.unbroken_rules if last else {})


def _print(report: LandingReport, *, invalid: bool) -> None:
    for key in dict.fromkeys(file.contract for file in report.files):
        files = [file for file in report.files if file.contract == key and file.state != "kept"]
        if not files:
            continue
        rows = f"{sum(file.rows for file in files):,} rows in {counted(len(files), 'file')}"
        odd = sum(file.broken for file in files)
        edges = sum(sum(file.edges.values()) for file in files)
        broken = f", {odd:,} broken on purpose" if odd else ""
        strange = f", {edges:,} edge cases" if edges else ""
        say(f"{'/'.join(key)}: {rows}{broken}{strange}, below {shown_path(_folder(files))}")
        if invalid:
            _print_rules(report, key)
    for key in _without_files(report) if invalid else ():
        say(f"{'/'.join(key)}: reads no files of its own")
        _print_rules(report, key)
    name_kept(report)
    for each in report.skipped:
        when = f" on {each.day}" if each.day else ""
        say(f"{'/'.join(each.contract)}: nothing{when}, {each.why}")


def name_kept(report: LandingReport) -> None:
    """Files that were there and that nobody makes out of a contract."""
    for path in report.kept:
        say(f"{shown_path(path)}: kept, as it was not made here; --overwrite of `lakelogic generate` replaces it")


def _print_rules(report: LandingReport, key: Key) -> None:
    for rule, number in report.broken_rules(key).items():
        say(f"    breaks {rule}: {counted(number, 'row')}")
    for rule, why in report.unbroken_rules.get(key, {}).items():
        say(f"    leaves {rule} alone: {why}")


def _without_files(report: LandingReport) -> list[Key]:
    """Contracts with rules that are told of though nothing was made for them."""
    landed = {file.contract for file in report.files}
    return [key for key, rules in report.unbroken_rules.items() if rules and key not in landed]


def _folder(files: Sequence[LandedFile]) -> Path:
    """The deepest folder that holds all files."""
    parents = [file.path.parent for file in files]
    return next(each for each in (parents[0], *parents[0].parents) if all(p.is_relative_to(each) for p in parents))


def _as_dict(report: LandingReport) -> dict[str, Any]:
    contracts = []
    for key in dict.fromkeys(file.contract for file in report.files):
        files = [file for file in report.files if file.contract == key]
        contracts.append(
            {
                "asset": "/".join(key),
                "rows": sum(file.rows for file in files),
                "broken": sum(file.broken for file in files),
                "broken_by_rule": report.broken_rules(key),
                "left_alone": dict(report.unbroken_rules.get(key, {})),
                "edge_cases": sum(sum(file.edges.values()) for file in files),
                "files": [{"path": str(f.path), "day": f.day, "rows": f.rows, "state": f.state} for f in files],
            }
        )
    far = {"/".join(key): dict(report.unbroken_rules[key]) for key in _without_files(report)}
    skipped = [{"asset": "/".join(each.contract), "day": each.day, "why": each.why} for each in report.skipped]
    return {"contracts": contracts, "left_alone": far, "skipped": skipped}


def _share(text: str) -> float:
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError as error:
        complain(f"--invalid {text} is no share: write 2% or 0.02.")
        raise typer.Exit(2) from error
    if not 0 <= share < 1:
        complain(f"--invalid {text} is no share below 100 %: write 2% or 0.02.")
        raise typer.Exit(2)
    return share


def _seconds(text: str) -> float:
    found = _PERIOD.fullmatch(text.strip())
    if not found:
        complain(f"--interval {text} is no time: write 5s, 500ms or 1m.")
        raise typer.Exit(2)
    return float(found[1]) * _SECONDS[found[2]]

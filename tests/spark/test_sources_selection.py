from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.layout import DateLayout, Span, span_of
from lakelogic_assets.spark.sources.listing import list_files
from lakelogic_assets.spark.sources.needed import needed_columns
from lakelogic_assets.spark.sources.selection import select_files
from lakelogic_assets.spark.sources.snapshot import Boundary, SourceSnapshot
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable

Select = Any
HOURLY = {"format": "y_%Y/m_%m/d_%d/h_%H"}


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def scope_of(tmp_path: Path, warnings: list[str]) -> Callable[..., Scope]:
    """A scope without a session: choosing files needs none."""

    def made(**contract: Any) -> Scope:
        return Scope(
            spark=None,  # type: ignore[arg-type]
            contract=Contract.model_validate({"info": {"title": "t"}, **contract}),
            lakehouse=Lakehouse(tmp_path / "lake", project_root=tmp_path),
            run_id="run-1",
            pipeline_run_id="run-1",
            started_at=datetime(2026, 2, 3, 12, tzinfo=UTC),
            warn=warnings.append,
        )

    return made


@pytest.fixture
def select(scope_of: Callable[..., Scope], tmp_path: Path) -> Select:
    def selected(boundary: Boundary | None = None, path: str = "in", **source: Any) -> list[str]:
        scope = scope_of(source={"path": path, **source})
        assert scope.contract.source is not None
        place = scope.lakehouse.file_path(path)
        files = select_files(scope, scope.contract.source, place, boundary or Boundary())
        return [str(Path(file.path).relative_to(tmp_path / "in")) for file in files]

    return selected


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., None]:
    def made(*names: str) -> None:
        for name in names:
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / name).write_text("id\n1\n")

    return made


def test_a_folder_means_its_files_and_hidden_names_are_no_data(select: Select, files: Any) -> None:
    files("a.csv", "_SUCCESS", ".hidden.csv", "_tmp/x.csv", "k=1/b.csv")
    assert select() == ["a.csv", "k=1/b.csv"]


def test_folders_below_are_read_when_asked_for_and_told_otherwise(select: Any, files: Any, warnings: list[str]) -> None:
    files("a.csv", "sub/b.csv", "sub/deep/c.csv")
    assert select(options={"recursiveFileLookup": "true"}) == ["a.csv", "sub/b.csv", "sub/deep/c.csv"]
    assert warnings == []
    assert select() == ["a.csv"]
    assert "recursiveFileLookup" in warnings[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("in/*.csv", ["a.csv"]),
        ("in/**/*.csv", ["a.csv", "sub/b.csv", "sub/deep/c.csv"]),
        ("in/sub/{b,x}.csv", ["sub/b.csv"]),
        ("in/[a-c].*", ["a.csv", "b.json"]),
        ("in/?.json", ["b.json"]),
        ("in/sub", ["sub/b.csv"]),
        ("in/s*", ["sub/b.csv"]),
        ("in/a.csv", ["a.csv"]),
        ("in/none.csv", []),
    ],
)
def test_globs(select: Select, files: Any, path: str, expected: list[str]) -> None:
    files("a.csv", "b.json", "sub/b.csv", "sub/deep/c.csv")
    assert select(path=path, options={"recursiveFileLookup": False}) == expected


def test_a_name_that_exists_is_no_glob(select: Select, files: Any) -> None:
    files("a[1].csv", "a1.csv")
    assert select(path="in/a[1].csv") == ["a[1].csv"]


def test_patterns_narrow_a_folder(select: Select, files: Any) -> None:
    files("orders_1.csv", "other.csv", "sub/orders_2.csv")
    everything = {"options": {"recursiveFileLookup": True}}
    assert select(pattern="orders_*.csv", **everything) == ["orders_1.csv", "sub/orders_2.csv"]
    assert select(pattern="sub/*.csv", **everything) == ["sub/orders_2.csv"]
    assert select(partition={"format": "%Y", "file_pattern": "oth*"}) == ["other.csv"]


def test_a_link_to_a_folder_above_does_not_go_round(tmp_path: Path, files: Any) -> None:
    files("sub/a.csv")
    (tmp_path / "in/sub/up").symlink_to(tmp_path / "in")
    (tmp_path / "in/gone").symlink_to(tmp_path / "nothing")
    assert [Path(f.path).name for f in list_files(str(tmp_path / "in"), recursive=True)] == ["a.csv"]


def test_only_files_that_were_not_read_yet(select: Select, files: Any, tmp_path: Path) -> None:
    files("old.csv", "same_read.csv", "same_new.csv", "new.csv")
    for name, at in (("old", 10), ("same_read", 20), ("same_new", 20), ("new", 30)):
        os.utime(tmp_path / f"in/{name}.csv", (at, at))
    seen = frozenset({str(tmp_path / "in/same_read.csv")})
    assert select(Boundary(after_mtime=20.0, seen_at_mtime=seen)) == ["new.csv", "same_new.csv"]


def test_excluded_folders_and_the_archive_are_left_out(select: Select, files: Any) -> None:
    files("2026/a.csv", "2025/b.csv", "done/c.csv", "d.csv")
    archive = {"action": "archive", "archive_path": "in/done"}
    options = {"recursiveFileLookup": True}
    chosen = select(Boundary(excluded=frozenset({"2025", "d.csv"})), options=options, post_ingestion=archive)
    assert chosen == ["2026/a.csv"]


LANDED = ("y_2026/m_02/d_02/h_23/a.csv", "y_2026/m_02/d_03/h_07/b.csv", "y_2026/m_02/d_03/h_99/c.csv", "flat.csv")


def test_without_dates_everything_is_read_whatever_its_folder(select: Select, files: Any) -> None:
    files(*LANDED)
    assert select(partition=HOURLY) == sorted(LANDED)


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        (Boundary(from_date=date(2026, 2, 3), to_date=date(2026, 2, 3)), [LANDED[1], LANDED[2]]),
        (Boundary(to_date=datetime(2026, 2, 3, tzinfo=UTC)), [LANDED[0]]),
        (
            Boundary(from_date=datetime(2026, 2, 3, 7, tzinfo=UTC), to_date=datetime(2026, 2, 3, 8, tzinfo=UTC)),
            [LANDED[1]],
        ),
        (Boundary(from_date=date(2027, 1, 1)), []),
    ],
)
def test_dates_choose_folders(select: Select, files: Any, boundary: Boundary, expected: list[str]) -> None:
    files(*LANDED)
    assert select(boundary, partition=HOURLY) == expected


def test_files_without_a_date_are_told_when_dates_are_asked_for(select: Any, files: Any, warnings: list[str]) -> None:
    files(*LANDED)
    select(Boundary(from_date=date(2026, 2, 3)), partition=HOURLY)
    assert "2 files" in warnings[0]


def test_a_look_back_counts_from_the_day_of_the_run_unless_the_run_names_dates(select: Select, files: Any) -> None:
    files("2026-01-01/a.csv", "2026-02-02/b.csv", "2026-02-03/c.csv")
    layout = {"format": "%Y-%m-%d", "lookback_days": 1}
    assert select(partition=layout) == ["2026-02-02/b.csv", "2026-02-03/c.csv"]
    assert select(Boundary(to_date=date(2026, 1, 1)), partition=layout) == ["2026-01-01/a.csv"]
    assert select(partition={"format": "%Y-%m-%d", "start_date": "2026-01-01", "end_date": "2026-01-31"}) == [
        "2026-01-01/a.csv"
    ]


@pytest.mark.parametrize(
    ("layout", "path", "days"),
    [
        ("%Y/%m/%d", "2024/02/29/a.csv", 1),
        ("dt=%Y-%m-%d", "x/dt=2024-02-29/a.csv", 1),
        ("%Y/%m", "2024/02/a.csv", 29),
        ("%Y", "2024/a.csv", 366),
        ("orders_%Y%m%d", "orders_20240229.csv", 1),
        ("%Y/%m/%d", "2024/13/01/a.csv", None),
        ("%Y/%m/%d", "x2024/02/01/a.csv", None),
        ("%Y/%m/%d", "2024/02/30/a.csv", None),
    ],
)
def test_layouts_are_read_from_paths(layout: str, path: str, days: int | None) -> None:
    span = DateLayout(layout).span(path)
    assert (span and (span[1] - span[0]).days) == days


def test_spans_narrow_each_other() -> None:
    year = span_of("2026-01-01", "2026-12-31")
    assert year.end == datetime(2027, 1, 1, tzinfo=UTC)
    assert year.narrowed(Span()) == year
    assert year.narrowed(span_of("2026-06-01T12:00", None)).start == datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_a_snapshot_knows_when_there_is_nothing() -> None:
    assert SourceSnapshot().is_empty
    assert SourceSnapshot(version=4, first_version=5).is_empty
    assert not SourceSnapshot(version=5, first_version=5).is_empty
    assert not SourceSnapshot(listed=False).is_empty
    assert replace(SourceSnapshot(version=1)).identity != SourceSnapshot(version=2).identity


def contract(**parts: Any) -> Contract:
    model = {"fields": [{"name": "id"}, {"name": "v"}]}
    return Contract.model_validate({"model": model, "schema_policy": {"unknown_fields": "drop"}, **parts})


def test_the_columns_that_steps_and_rules_read_are_needed() -> None:
    needed = needed_columns(
        contract(
            source={"path": "x", "watermark_field": "at", "partition_filters": {"day": "1"}},
            transformations=[
                {"derive": {"field": "v", "sql": "coalesce(a, lower(b))"}},
                {"rename": {"from": "old", "to": "v"}},
                {"rollup": {"group_by": ["g"], "aggregations": {"s": "sum(x * y)"}, "keys": "k"}},
            ],
            quality={
                "row_rules": [{"sql": "c > 0", "name": "r"}, {"not_null": "d"}, {"range": {"field": "e", "min": 1}}]
            },
        )
    )
    assert needed is not None
    assert needed >= set("id v at day a b old g x y k c d e".split())
    assert "unused" not in needed


@pytest.mark.parametrize(
    "parts",
    [
        {"schema_policy": {"unknown_fields": "allow"}},
        {"model": {}},
        {"transformations": [{"sql": "SELECT * FROM source"}]},
        {"quality": {"row_rules": [{"name": "r", "sql": "id IN (SELECT id FROM l WHERE l.x = y)"}]}},
        {"source": {"path": "x", "flatten_nested": True}},
        {"external_logic": {"type": "python", "path": "x.py", "engine": "spark"}},
    ],
)
def test_any_column_may_be_needed(parts: dict[str, Any]) -> None:
    assert needed_columns(contract(**parts)) is None

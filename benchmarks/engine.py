"""Row rules beside the same job written by hand, beside a plain copy, and beside fewer and more of them.

Everything is written to Delta tables. The shape of the libraries for rules, an array of structs a row, is there too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.by_hand import copy_rows, make_source, split_by_mask, split_by_structs
from benchmarks.measurement import Bar, Job, Measurement, Size
from benchmarks.workbench import Workbench, quarantine_of, row_rules, ruled, workbench

COPY, HAND, STRUCTS = "copy, no rules", "by hand, 40 rules", "array of structs, 40 rules"
OURS, FEW, MANY, CLEAN = "ours, 40 rules", "ours, 8 rules", "ours, 180 rules", "ours, none bad"
BARS = (
    Bar(OURS, HAND, 1.10),
    Bar(CLEAN, COPY, 1.2),
    Bar(OURS, COPY, 1.65),
    Bar(OURS, FEW, 1.25),
    Bar(MANY, FEW, 2.0),
    Bar(OURS, STRUCTS, 1 / 2.2),
)


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    with workbench("engine") as bench:
        spark, source, clean = bench.spark, bench.kept / "in", bench.kept / "clean"
        make_source(spark, source, size.rows)
        make_source(spark, clean, size.rows, clean=True)
        copied, hand, structs = (bench.folder / name for name in ("copy", "hand", "structs"))
        rules = row_rules(40)
        yield Measurement(
            f"{size.rows:,} rows of 12 columns, 2 % bad, append to Delta",
            {
                COPY: bench.job(COPY, lambda: copy_rows(spark, source, copied), good=copied),
                HAND: bench.job(
                    HAND, lambda: split_by_mask(spark, source, hand, rules), good=hand / "good", bad=hand / "bad"
                ),
                STRUCTS: bench.job(
                    STRUCTS,
                    lambda: split_by_structs(spark, source, structs, rules),
                    good=structs / "good",
                    bad=structs / "bad",
                ),
                OURS: _ours(bench, OURS, 40, source),
                FEW: _ours(bench, FEW, 8, source),
                MANY: _ours(bench, MANY, 180, source),
                CLEAN: _ours(bench, CLEAN, 40, clean),
            },
            BARS,
            before_each=bench.clear,
        )


def _ours(bench: Workbench, name: str, rules: int, source: Path) -> Job:
    target = bench.folder / "ours"
    contract = ruled(source, rules)
    return bench.job(name, lambda: bench.run_contract(contract, target), good=target, bad=quarantine_of(target))

"""What Spark itself says of the jobs that a measurement ran: how many, what they read, and by which plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError

from benchmarks.measurement import SCRATCH, Sample, clocked
from lakelogic_assets.spark.frames import SparkSession


@dataclass(frozen=True, slots=True)
class Scan:
    """One look of one query at a table or a folder: what the plan says of it, and how many files it opened."""

    text: str
    files: int


class Watch:
    """Sees what runs between two looks, from the bookkeeping that Spark keeps even without its UI."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext._jsc.sc()
        self._sql = spark._jsparkSession.sharedState().statusStore()

    def watched(self, run: Callable[[], Any], plan: str) -> Sample:
        """Clock it; then how many jobs it took, how many rows they read, and the outline of its greatest plan."""
        jobs, queries = self._newest_job(), self._newest_query()
        sample = clocked(run)
        self._context.listenerBus().waitUntilEmpty()
        found = [job for job in self._jobs() if job.jobId() > jobs]
        stages = {int(stage) for job in found for stage in _each(job.stageIds())}
        facts = {"spark jobs": len(found), "rows read": sum(map(self._rows_read, stages))}
        return replace(sample, facts={**facts, "plan": self._keep_plans(plan, queries)})

    def scans(self, after: int) -> Iterator[Scan]:
        """Every scan of the queries after this one that was really run."""
        for query in self._queries():
            if query.executionId() > after:
                counted = dict(_pairs(self._sql.executionMetrics(query.executionId())))
                for node in _each(self._sql.planGraph(query.executionId()).allNodes()):
                    metrics = {each.name(): counted.get(each.accumulatorId()) for each in _each(node.metrics())}
                    files = metrics.get("number of files read")
                    if str(node.name()).startswith("Scan") and files is not None:
                        yield Scan(str(node.desc()), int(files.replace(",", "")))

    def newest_query(self) -> int:
        """The number of the last query that Spark's books know, once they are up to date."""
        self._context.listenerBus().waitUntilEmpty()
        return self._newest_query()

    def _rows_read(self, stage: int) -> int:
        try:
            return int(self._context.statusStore().lastStageAttempt(stage).inputRecords())
        except Py4JJavaError:  # a stage that was never needed is not in the books
            return 0

    def _keep_plans(self, name: str, after: int) -> str:
        """All plans in a file of their own; what is shown is the outline of the one with the most operators."""
        texts = [query.physicalPlanDescription() for query in self._queries() if query.executionId() > after]
        file = SCRATCH / "plans" / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(texts))
        outlines = [re.findall(r"^[\s:+*|-]*([A-Z]\w+)[^\n]*\(\d+\)", text, re.MULTILINE) for text in texts]
        return " < ".join(max(outlines, key=len, default=[]))

    def _jobs(self) -> list[Any]:
        return list(_each(self._context.statusStore().jobsList(None)))

    def _queries(self) -> list[Any]:
        return list(_each(self._sql.executionsList()))

    def _newest_job(self) -> int:
        return max((job.jobId() for job in self._jobs()), default=-1)

    def _newest_query(self) -> int:
        return max((query.executionId() for query in self._queries()), default=-1)


def _each(found: Any) -> Iterator[Any]:
    return (found.apply(index) for index in range(found.size()))


def _pairs(found: Any) -> Iterator[tuple[int, str]]:
    entries = found.iterator()
    while entries.hasNext():
        entry = entries.next()
        yield int(entry._1()), str(entry._2())


def rows_of(**tables: Path) -> Mapping[str, Any]:
    """How many rows each table holds, by its own log; a table that nobody wrote holds none."""
    return {f"rows {name}": _rows(path) for name, path in tables.items()}


def _rows(path: Path) -> int:
    return DeltaTable(str(path)).count() if (path / "_delta_log").is_dir() else 0

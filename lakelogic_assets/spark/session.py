"""The Spark session of a process, with Delta, and what to do when its JVM has died."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from lakelogic_assets.contract.resources import SPARK_MASTER, SPARK_REMOTE
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.names import SECRET_WORDS
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.jars import cached_jars
from lakelogic_assets.spark.java import jvm_environment
from lakelogic_assets.spark.local_dirs import LOCAL_DIR, LOCAL_DIRS_VARIABLE, bases, note_jvm, private_folder, sweep

APP_NAME: Final = "lakelogic"

SETTINGS: Final = {
    SPARK_MASTER: "local[2]",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Tables are found by path, so a catalogue that two processes would fight over is not wanted.
    "spark.sql.catalogImplementation": "in-memory",
    # The defaults of 200 and 50 tasks cost seconds a query on one machine.
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    # A date must not depend on where the machine stands.
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    # Without it half of the flipped bits in a Parquet page are read as data.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # The default counts nanoseconds, in which the year 9999 of an open version is no time that other readers know.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # With Delta's extension on, `spark.sql(text, args=...)` binds nothing unless this is set.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # A commit whose answer was lost is recognised as our own instead of as a conflict.
    "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
    # Many derived columns times many predicates make the optimizer run for minutes.
    "spark.sql.constraintPropagation.enabled": "false",
    # Every call on a Column would look up the line of Python it stands in, which is always one of ours.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # A contract's text means itself: `${env:HOME}` is not filled in from the machine it runs on.
    "spark.sql.variable.substitute": "false",
    # The Arrow path of Python functions needs pandas, which nothing else here does.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
}

# Reachable from this machine only; the host name need not resolve. Executors elsewhere must find their driver.
ONE_MACHINE: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

# Both print the message of a failed query, values included, around any log set-up of the application.
TALKATIVE: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_starting = threading.RLock()
_remote: dict[str, SparkSession] = {}


def open_session(conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that a project's resources ask for: of a Spark Connect server, else of this process."""
    address = (conf or {}).get(SPARK_REMOTE)
    return remote_session(address, conf or {}) if address else local_session(conf=conf)


def remote_session(address: str, conf: Mapping[str, str]) -> SparkSession:
    """The session of this process at a Spark Connect server, opened anew when the server has forgotten it."""
    from lakelogic_assets.spark.driver.connect import connected

    with _starting:
        _hush()
        known = _remote.get(address)
        if known is None or not session_alive(known):
            known = _remote[address] = connected(address, SETTINGS | dict(conf))
        return known


def local_session(app_name: str = APP_NAME, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, started when there is none or its JVM has died.

    The driver is always here; `spark.master` says where the work is done. `conf` wins over the settings here. Settings
    of the JVM itself, such as its memory, count only at the start. The jars come from the cache, and executors fetch
    them from the driver: nothing is resolved and no network is needed.
    """
    with _starting:
        if not _reusable():
            _forget_jvm()
        settings = SparkConf().setAll([*_settings(conf or {}).items()])
        if SparkContext._gateway is None:
            _launch_jvm(settings)
        if _local:
            settings.set(LOCAL_DIR, ",".join(map(str, _local)))
        return SparkSession.builder.appName(app_name).config(conf=settings).getOrCreate()


def session_alive(spark: SparkSession) -> bool:
    """Whether the driver answers and the session is not stopped; a few milliseconds."""
    return driver_of(spark).is_alive(spark)


def jvm_pid(spark: SparkSession) -> int | None:
    """The process of the JVM, which a lock notes beside that of Python; None where it is on another machine."""
    return driver_of(spark).process(spark)


def restart(app_name: str = APP_NAME, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A new session on a new JVM, whatever became of the old one. Frames of the old one are lost."""
    with _starting:
        if (known := SparkSession._instantiatedSession) is not None and session_alive(known):
            known.stop()
        _forget_jvm()
        return local_session(app_name, conf)


def _reusable() -> bool:
    """Whether `getOrCreate` can go on from what PySpark remembers."""
    if (known := SparkSession._instantiatedSession) is not None:
        return session_alive(known)
    try:
        return SparkContext._jvm is None or bool(SparkContext._jvm.System.nanoTime())
    except (OSError, Py4JError):
        return False


def _settings(conf: Mapping[str, str]) -> dict[str, str]:
    log4j = Path(__file__).with_name("log4j2.properties")
    own = SETTINGS | {
        "spark.driver.memory": os.environ.get("LAKELOGIC_DRIVER_MEMORY", "4g"),
        "spark.driver.extraJavaOptions": f'-Duser.timezone=UTC "-Dlog4j2.configurationFile={log4j.as_uri()}"',
        "spark.jars": ",".join(jar.as_uri() for jar in cached_jars()),
        "spark.sql.warehouse.dir": (_scratch() / "warehouse").as_uri(),
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
    }
    here = conf.get(SPARK_MASTER, own[SPARK_MASTER]).startswith("local")
    return own | (ONE_MACHINE if here else {}) | dict(conf)


@cache
def _scratch() -> Path:
    """A folder that lives as long as this process, so that Spark leaves nothing in the working directory."""
    return private_folder(Path(tempfile.gettempdir()))


_local: list[Path] = []
"""Where the JVM of this process puts its rows."""


def _own_local_dirs(settings: SparkConf) -> dict[str, str]:
    """Gives the JVM of this machine folders of its own, once those of dead processes are swept; its variables."""
    if not str(settings.get(SPARK_MASTER, "")).startswith("local"):
        return {}
    places = bases(dict(settings.getAll()))
    sweep({*places, Path(tempfile.gettempdir())})
    _local[:] = [private_folder(place) for place in places]
    said = ",".join(map(str, _local))
    settings.set(LOCAL_DIR, said)  # also for what the JVM is started with
    return {LOCAL_DIRS_VARIABLE: said} if os.environ.get(LOCAL_DIRS_VARIABLE) else {}


def _drop_local_dirs() -> None:
    while _local:
        shutil.rmtree(_local.pop(), ignore_errors=True)


def _launch_jvm(settings: SparkConf) -> None:
    """Starts the JVM quietly: what it prints is shown only when asked for, or told when it does not start."""
    os.environ.update(jvm_environment())
    before, own = dict(os.environ), _own_local_dirs(settings)
    _hush()
    printed = _scratch() / "jvm.log"
    with printed.open("wb") as log:
        kwargs = {} if "LAKELOGIC_SPARK_LOG_LEVEL" in os.environ else {"stderr": log}
        try:
            os.environ.update(own)
            gateway = launch_gateway(_told_in_public(settings), kwargs)
        except PySparkRuntimeError as error:
            raise ProjectError(f"Spark's JVM did not start: {_complaint(printed) or error}") from error
        finally:
            os.environ.update({name: before[name] for name in own})
    if process := getattr(gateway, "proc", None):
        note_jvm(_local, process.pid)
    SparkContext._ensure_initialized(gateway=gateway, conf=settings)


def _told_in_public(settings: SparkConf) -> SparkConf:
    """What the JVM is started with stands in the list of processes; secrets reach it later, through its own socket."""

    def is_secret(name: str) -> bool:
        plain = name.lower().replace(".", "_").replace("-", "_")
        return any(word in plain for word in SECRET_WORDS)

    return SparkConf().setAll([(name, value) for name, value in settings.getAll() if not is_secret(name)])


def _hush() -> None:
    for name in TALKATIVE:
        # By level: whoever sets logging up by a dictionary, as Dagster does, switches disabled loggers on again.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _complaint(printed: Path) -> str:
    """The line that says why: the root cause of an exception, else the first that is not a warning of Java's."""
    lines = printed.read_text(errors="replace").splitlines()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1:] or [line for line in lines if not line.startswith("WARNING")] or [""])[0]


def _forget_jvm() -> None:
    """Drops every reference PySpark keeps to its JVM: nothing heals by itself, and `getOrCreate` would use it."""
    gateway = SparkContext._gateway
    context = SparkContext._active_spark_context
    if gateway is not None:
        with contextlib.suppress(OSError, Py4JError):
            gateway.shutdown()
    # There is no process to end when this one was itself started by spark-submit.
    if process := getattr(gateway, "proc", None):
        with process:
            process.kill()
        _drop_local_dirs()
    if context is not None and (server := getattr(context, "_accumulatorServer", None)):
        server.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None

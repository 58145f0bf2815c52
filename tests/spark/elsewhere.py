"""Spark's own server processes on loopback, started from the pyspark package and ended with their test."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from lakelogic_assets.spark.jars import cached_jars
from lakelogic_assets.spark.java import jvm_environment, spark_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

HOST = "127.0.0.1"
# Short lives: what a JVM learns about its own code it would never earn back.
QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_PATIENCE_SECONDS = 180


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """A master and two workers of one core each; the address of the master."""
    port, page = free_port(), free_port()
    with ExitStack() as running:
        master = ("master.Master", "--host", HOST, "--port", str(port), "--webui-port", str(page))
        running.enter_context(_deployed(master, folder))
        address = f"spark://{HOST}:{port}"
        for number in (1, 2):
            worker = ("worker.Worker", "--host", HOST, "--cores", "1", "--memory", "700m", "--webui-port", "0")
            work = ("--work-dir", str(folder / f"work{number}"))
            running.enter_context(_deployed((*worker, *work, address), folder))
        wait_until(lambda: _page(f"http://{HOST}:{page}/json/").count('"state" : "ALIVE"') == 2)
        yield address


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server with Delta, as docs/guides/scaling.md says it is started; its address."""
    port = free_port()
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.ui.enabled": "false",
    }
    submit = [
        spark_home() / "bin" / "spark-submit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
    ]
    place = ["--master", "local[2]", "--jars", ",".join(map(str, cached_jars()))]
    said = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with started([*submit, *place, *said, "spark-internal"], folder) as server:
        wait_until(lambda: is_listening(port) or server.poll() is not None)
        assert server.poll() is None, (folder / "servers.log").read_text("utf-8")[-2000:]
        yield f"sc://{HOST}:{port}"


@contextmanager
def _deployed(command: Sequence[str], folder: Path) -> Iterator[None]:
    name, *rest = command
    with started(
        [spark_home() / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *rest], folder, memory="256m"
    ):
        yield


@contextmanager
def started(command: Sequence[object], folder: Path, memory: str = "1g") -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | jvm_environment() | {"SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": memory} | QUICK
    with (folder / "servers.log").open("ab") as log:
        process = subprocess.Popen([*map(str, command)], env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "the servers did not come up"
        time.sleep(0.1)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind((HOST, 0))
        return int(chosen.getsockname()[1])


def _page(address: str) -> str:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - our own server
            return str(answer.read().decode())
    except OSError:
        return ""

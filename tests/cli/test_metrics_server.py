"""`/metrics` over HTTP."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from lakelogic_assets.cli.metrics_server import LOOPBACK, MetricsServer
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.report.metrics import Metric


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with MetricsServer(port=0) as made:
        yield made


def asked(server: MetricsServer, method: str = "GET", path: str = "/metrics") -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection(LOOPBACK, server.port, timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {key.lower(): value for key, value in answer.getheaders()}
    finally:
        connection.close()


def test_the_page_follows_the_run(server: MetricsServer) -> None:
    assert asked(server)[:2] == (200, "")
    for value in (1, 2):
        server.update([Metric("lakelogic_pipeline_windows", value, {"outcome": "succeeded"}, "Windows.")])
        status, body, headers = asked(server)
        assert (status, body.splitlines()[-1]) == (200, f'lakelogic_pipeline_windows{{outcome="succeeded"}} {value}')
        assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert int(headers["content-length"]) == len(body.encode())


def test_head_is_answered_without_the_page(server: MetricsServer) -> None:
    server.update([Metric("m", 1)])
    status, body, headers = asked(server, "HEAD")
    assert (status, body) == (200, "")
    assert int(headers["content-length"]) > 0


@pytest.mark.parametrize("path", ["/", "/metrics/", "/metrics/../etc/passwd", "/Metrics", "/%6Detrics"])
def test_nothing_else_is_here(server: MetricsServer, path: str) -> None:
    server.update([Metric("m", 1)])
    status, body, _ = asked(server, path=path)
    assert (status, body) == (404, "Only /metrics is here.\n")


def test_a_question_mark_does_not_hide_the_page(server: MetricsServer) -> None:
    assert asked(server, path="/metrics?name=x")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nobody_can_write(server: MetricsServer, method: str) -> None:
    assert asked(server, method)[0] == 501


def test_only_this_machine_is_served_unless_told_otherwise(server: MetricsServer) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}/metrics"
    with MetricsServer("0.0.0.0", 0) as open_to_all:  # noqa: S104 - that is what is asked for here
        assert open_to_all.url.startswith("http://0.0.0.0:")


def test_a_port_that_is_taken_is_one_line(server: MetricsServer) -> None:
    with pytest.raises(ProjectError, match=rf"port {server.port}: Address already in use; choose"):
        MetricsServer(port=server.port)
    with pytest.raises(ProjectError, match="port 70000"):
        MetricsServer(port=70_000)
    with pytest.raises(ProjectError, match=r"no-such-host\.invalid"):
        MetricsServer("no-such-host.invalid", 0)


def test_a_reader_that_says_nothing_or_hangs_up_disturbs_nobody(
    server: MetricsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.update([Metric("m", 1, {"n": "x" * 1_000_000})])
    with socket.create_connection((LOOPBACK, server.port)) as silent:
        with socket.create_connection((LOOPBACK, server.port)) as rude:
            rude.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            rude.recv(10)
        assert asked(server)[0] == 200
        silent.sendall(b"\x00\xff nonsense\r\n\r\n")
        assert asked(server)[0] == 200
    assert capsys.readouterr().err == ""


def test_after_the_end_nobody_listens() -> None:
    with MetricsServer(port=0) as made:
        port = made.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), timeout=60)
    assert "metrics" not in {thread.name for thread in threading.enumerate()}


def test_it_lingers_as_long_as_asked(server: MetricsServer) -> None:
    began = time.monotonic()
    server.linger(0.2)
    assert 0.2 <= time.monotonic() - began < 30
    assert asked(server)[0] == 200


def test_readers_see_one_state_or_the_other(server: MetricsServer) -> None:
    states = [[Metric("m", value, {"n": str(n)}) for n in range(50)] for value in (1, 2)]
    server.update(states[0])
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for state in states:
                server.update(state)

    writer = threading.Thread(target=change)
    writer.start()
    try:
        seen = [{line.split()[-1] for line in asked(server)[1].splitlines() if line[0] != "#"} for _ in range(40)]
    finally:
        stop.set()
        writer.join()
    assert all(len(each) == 1 for each in seen)

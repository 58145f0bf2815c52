"""`/metrics` over HTTP while a pipeline runs: one page, read only, on this machine unless told otherwise."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from types import TracebackType
from typing import ClassVar
from urllib.parse import urlsplit

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.report.metrics import CONTENT_TYPE, Metric, as_prometheus

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 9100


class MetricsServer:
    """Serves what it was last told, from the moment it is made until it is closed; use it in a `with` block."""

    def __init__(self, host: str = LOOPBACK, port: int = DEFAULT_PORT) -> None:
        """Port 0 is any free one; `port` says which it became."""
        self._server = _listening(host, port)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        host = str(self._server.server_address[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def update(self, metrics: Iterable[Metric]) -> None:
        """Show these figures from now on; a reader sees the old ones or the new ones, never a mix."""
        self._server.page = as_prometheus(metrics).encode()

    def linger(self, seconds: float) -> None:
        """Keep serving for a while after the work is done, so that a scraper comes by; Ctrl-C ends it early."""
        try:
            self._stopped.wait(seconds)
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingTCPServer):
    """Not the library's HTTPServer, which asks the network for the machine's name before it listens."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    page: bytes = b""

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader that hangs up early is no news."""


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout: ClassVar[int] = 10  # nobody keeps a thread by saying nothing
    server_version = "lakelogic"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        """A scrape every few seconds is nothing to tell a person about."""

    def _answer(self, *, with_body: bool) -> None:
        found = urlsplit(self.path).path == "/metrics"
        body = self.server.page if found else b"Only /metrics is here.\n"
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _listening(host: str, port: int) -> _Server:
    kind = _ServerV6 if ":" in host else _Server
    try:
        return kind((host, port), _Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProjectError(
            f"Metrics cannot be served on {host}, port {port}: {reason}; "
            "choose another with --metrics-host and --metrics-port."
        ) from error

"""An API server that does not list our group at first, as a real one that has just started may do.

A plain HTTP server on loopback before `kubectl proxy`; all but the first answer to /apis is the real one's.
"""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

from penstock_operator.constants import GROUP
from tests.testbed import ports, run
from tests.testbed.kubernetes import kubeconfig
from tests.testbed.kubernetes.access import Access
from tests.testbed.programs import Program

READY_SECONDS = 60
CHUNK_BYTES = 65536


class Forgetful(ThreadingHTTPServer):
    """Passes requests on, and leaves our group out of the first list of groups."""

    def __init__(self, behind: int) -> None:
        super().__init__((ports.LOOPBACK, 0), Handler)
        self.behind = behind
        self.has_left_out = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Forgetful

    def do_GET(self) -> None:
        with contextlib.closing(http.client.HTTPConnection(ports.LOOPBACK, self.server.behind)) as connection:
            connection.request("GET", self.path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            if self.path == "/apis" and not self.server.has_left_out.is_set():
                self.server.has_left_out.set()
                self.wfile.write(without_our_group(answer.read()))
                return
            with contextlib.suppress(ConnectionError, http.client.IncompleteRead):  # either end may end a watch
                while chunk := answer.read1(CHUNK_BYTES):
                    self.wfile.write(chunk)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the API server has a log of its own."""


def without_our_group(body: bytes) -> bytes:
    listed = json.loads(body)
    listed["groups"] = [group for group in listed["groups"] if group["name"] != GROUP]
    return json.dumps(listed).encode()


@contextlib.contextmanager
def forgetful(plane: Access) -> Iterator[Path]:
    """Put the forgetful server before an API server, and give a kubeconfig for it."""
    folder, behind = run.current().new_folder("forgetful"), ports.free_port()
    arguments = [f"--kubeconfig={plane.kubeconfig}", "proxy", f"--port={behind}"]
    proxy = Program("kubectl-proxy", [plane.kubectl_program, *arguments], folder)
    proxy.start()
    proxy.wait_ready(lambda: ports.answers(behind), READY_SECONDS)
    with Forgetful(behind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kubeconfig.write(folder / "kubeconfig", {"server": f"http://{ports.LOOPBACK}:{server.server_port}"}, {})
        assert server.has_left_out.is_set(), "which groups there are was not asked: the test has tested nothing"
        server.shutdown()
    proxy.stop()

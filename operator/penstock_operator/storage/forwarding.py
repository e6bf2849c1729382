"""Ports of pods, reached through the API server as `kubectl port-forward` does: a WebSocket for each connection.

Knows the protocol `v4.channel.k8s.io`, which kubelets have spoken since long before any version that we meet: frames
begin with the number of a channel, the first of each channel is the port, then channel 0 has data and channel 1 what
went wrong. Does not know what is carried. The caller gets one end of a pair of sockets: nothing listens on this
machine, so nobody else on it has our way into the cluster.
"""

import asyncio
import socket
from contextlib import suppress
from types import TracebackType
from typing import Self

import aiohttp
from kubernetes.aio.client import ApiClient

from penstock_operator.storage import paths
from penstock_operator.storage.backends import Backend
from penstock_operator.storage.errors import HomeError, NoAnswerError

PROTOCOL = "v4.channel.k8s.io"
DATA, WRONG = b"\x00", b"\x01"
PIECE_BYTES = 64 << 10
FIRST_WORD_SECONDS = 0.3
"""How long to wait for what the pod says first: if nothing listens there, that is told in the place of it."""


class CannotForwardError(HomeError):
    """The API server or the pod did not take the connection. The text is a sentence."""


class Forwarding:
    """All that is forwarded. Use it by `async with`, in the event loop that uses the sockets."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._carrying:
            task.cancel()
        if self._carrying:
            await asyncio.wait(self._carrying)

    async def connect(self, backend: Backend) -> socket.socket:
        """Return a socket that leads to a pod's port."""
        channel = await self._open(backend)
        ours, theirs = socket.socketpair()
        try:
            for end in (ours, theirs):
                end.settimeout(0)
            unread = await _begin(channel, backend)
            await asyncio.get_running_loop().sock_sendall(ours, unread)
        except BaseException:
            ours.close()
            theirs.close()
            await channel.close()
            raise
        task = asyncio.create_task(_carry(channel, ours), name=f"penstock-forwarding {backend.pod}")
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        return theirs

    async def _open(self, backend: Backend) -> aiohttp.ClientWebSocketResponse:
        path = f"{paths.of_pod(backend.namespace, backend.pod)}/portforward"
        query = [("ports", str(backend.port))]
        _, url, headers, _, _ = await self._client.param_serialize(
            "GET", path, header_params={}, query_params=query, auth_settings=["BearerToken"]
        )
        rest = self._client.rest_client
        session = rest.pool_manager
        assert session is not None, "whoever knows a backend has asked for it"  # noqa: S101 - what the library made then
        try:
            return await session.ws_connect(
                url,
                protocols=(PROTOCOL,),
                headers=headers,
                proxy=rest.proxy,
                proxy_headers=rest.proxy_headers,
                server_hostname=self._client.configuration.tls_server_name,
                max_msg_size=0,
            )
        except aiohttp.WSServerHandshakeError as refusal:
            raise CannotForwardError(_sentence(refusal.status, backend)) from refusal
        except aiohttp.ClientError as problem:
            raise NoAnswerError(f"The API server cannot be reached: {problem}") from problem


async def _begin(channel: aiohttp.ClientWebSocketResponse, backend: Backend) -> bytes:
    """Read the ports' numbers, and return the pod's first word, if it says one."""
    numbered: set[bytes] = set()
    while True:
        try:
            message = await channel.receive(timeout=FIRST_WORD_SECONDS if len(numbered) > 1 else None)
        except TimeoutError:
            return b""
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise CannotForwardError(f"The connection to port {backend.port} of {_named(backend)} was closed at once.")
        where, said = message.data[:1], message.data[1:]
        if where not in numbered:
            numbered.add(where)
        elif where == DATA:
            return bytes(said)
        elif where == WRONG:
            why = said.decode(errors="replace").strip()
            raise CannotForwardError(f"Port {backend.port} of {_named(backend)} took no connection: {why}")


async def _carry(channel: aiohttp.ClientWebSocketResponse, near: socket.socket) -> None:
    """Carry bytes both ways until either side has enough."""
    with near:
        sending = asyncio.create_task(_send(channel, near), name="penstock-forwarding-there")
        try:
            await _receive(channel, near)
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            await channel.close()


async def _receive(channel: aiohttp.ClientWebSocketResponse, near: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):  # who used the socket has closed it
        async for message in channel:
            if message.type is not aiohttp.WSMsgType.BINARY or message.data[:1] != DATA:
                return
            await loop.sock_sendall(near, memoryview(message.data)[1:])


async def _send(channel: aiohttp.ClientWebSocketResponse, near: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):  # the API server has closed its side
        while piece := await loop.sock_recv(near, PIECE_BYTES):
            await channel.send_bytes(DATA + piece)
    await channel.close()


def _sentence(code: int, backend: Backend) -> str:
    match code:
        case 401:
            return "The API server does not accept your credentials."
        case 403:
            rights = "the verbs get and create on pods/portforward"
            return f"You may not forward ports to pods in namespace {backend.namespace}: that needs {rights}."
        case 404:
            return f"There is no {_named(backend)} any more."
        case _:
            return f"The API server answered {code} to a forwarding to {_named(backend)}."


def _named(backend: Backend) -> str:
    return f"pod {backend.namespace}/{backend.pod}"

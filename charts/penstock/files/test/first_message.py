"""`helm test`: a message goes through a queue group of its own, and all that was made for it is taken away again.

Runs in a pod of the chart, from the worker's image, as an account that may declare things in one namespace. Asks the
API server and a NATS server, and nobody else: it does what a user would do first, and sees what a user would see. Says
what it waits for whenever that changes, and ends with 0, or with 1 and a sentence.
"""

import asyncio
import json
import os
import secrets
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.errors import JetStreamError, MissingError

Json = dict[str, Any]
OWN_NATS_PORT = 4222
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
API = "/apis/penstock.dev/v1alpha1"
PLURALS = {"Connection": "connections", "Stream": "streams", "Consumer": "consumers", "QueueGroup": "queuegroups"}
WORD, ANSWER = b"penstock", b"PENSTOCK"
REQUEST_SECONDS = 30
REMOVAL_SECONDS = 120
LOOK_AGAIN_SECONDS = 0.5
NOT_FOUND = 404


class FailedError(Exception):
    """The test ends here; the text is for people."""


class AnsweredError(Exception):
    """The API server has answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Settings:
    """What the chart says, by the environment."""

    namespace: str
    nats: str
    seconds: float
    deletion: str
    """Retain where the server goes with this pod: what is on it nobody will miss, and nobody has to reach it."""
    code: Path
    api: str
    account: Path = ACCOUNT

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        own_nats = f"nats://{bracketed(environment['POD_IP'])}:{OWN_NATS_PORT}"
        host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
        return cls(
            namespace=environment["NAMESPACE"],
            nats=environment["NATS_URL"] or own_nats,
            seconds=float(environment["SECONDS"]),
            deletion="Delete" if environment["NATS_URL"] else "Retain",
            code=Path(__file__).with_name("capitals.py"),
            api=f"https://{bracketed(host)}:{port}",
            account=Path(environment.get("ACCOUNT", ACCOUNT)),
        )


def bracketed(address: str) -> str:
    """Return an address as URLs have it."""
    return f"[{address}]" if ":" in address else address


class Kubernetes:
    """The API server, as our account may ask it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tls = ssl.create_default_context(cafile=settings.account / "ca.crt")

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        return await asyncio.to_thread(self._ask, method, path, body)

    def _ask(self, method: str, path: str, body: Json | None) -> Json:
        headers = {
            "Authorization": f"Bearer {(self._settings.account / 'token').read_text().strip()}",
            "Content-Type": "application/json",
        }
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self._settings.api + path, data, headers, method=method)  # noqa: S310 - https
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS, context=self._tls) as answer:  # noqa: S310
                found = json.load(answer)
        except urllib.error.HTTPError as problem:
            raise AnsweredError(problem.code, said(problem)) from problem
        except OSError as problem:
            raise FailedError(f"The API server cannot be asked: {problem}") from problem
        assert isinstance(found, dict)  # noqa: S101 - the API's
        return found


def said(problem: urllib.error.HTTPError) -> str:
    """Return the sentence in an answer that is an error."""
    text = problem.read().decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text or str(problem)


@dataclass
class Tale:
    """What is said: each line with the time since the beginning, and of each thing only what is new."""

    began: float = field(default_factory=time.monotonic)
    _last: dict[str, str] = field(default_factory=dict)
    """What was said last, by what it is about: what stands before the first colon."""

    def tell(self, line: str) -> None:
        about, _, _ = line.partition(":")
        if self._last.get(about) != line:
            self._last[about] = line
            print(f"{time.monotonic() - self.began:6.1f} s  {line}", flush=True)


class Journey:
    """The test, from what it declares until nothing of that is left."""

    def __init__(self, settings: Settings, kubernetes: Kubernetes, tale: Tale) -> None:
        self.settings, self.kubernetes, self.tale = settings, kubernetes, tale
        once = secrets.token_hex(3)
        self.name, self.subjects = f"penstock-test-{once}", f"penstock-test.{once}"
        self.words, self.answers = f"{self.subjects}.words", f"{self.subjects}.answers"
        self.until = tale.began + settings.seconds
        self.made: list[str] = []
        """Paths of what was made, the latest last."""

    async def go(self) -> None:
        await self.know_the_kinds()
        async with self.connected() as connection:
            js = JetStream(connection)
            await self.declare_streams()
            await self.declare_group()
            self.tale.tell(f"A message is published: {WORD.decode()}")
            await js.publish(self.words, WORD)
            answer = await self.answered(js)
        if answer != ANSWER:
            raise FailedError(f"The answer is not what the job makes of {WORD!r}: {answer!r}.")
        self.tale.tell(f"Spark has answered: {answer.decode()}")

    async def know_the_kinds(self) -> None:
        try:
            found = await self.kubernetes.ask("GET", API)
        except AnsweredError as problem:
            if problem.code != NOT_FOUND:
                raise
            found = {"resources": []}
        missing = set(PLURALS.values()) - {each["name"] for each in found["resources"]}
        if missing:
            cure = "penstock crds | kubectl apply --server-side -f -"
            raise FailedError(f"The cluster does not know {', '.join(sorted(missing))}. They come by: {cure}")

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        url = self.settings.nats
        connection = Connection(url, name="penstock helm test")
        try:
            await connection.open()
        except JetStreamError as problem:
            raise FailedError(f"The NATS server at {url} cannot be reached from this pod: {problem}") from problem
        self.tale.tell(f"The NATS server at {url} can be reached.")
        try:
            yield connection
        finally:
            await connection.close()

    async def declare_streams(self) -> None:
        management = {"deletion": self.settings.deletion}
        await self.declare("Connection", "", {"servers": [self.settings.nats]})
        subjects = {"words": self.words, "answers": self.answers, "dead": f"{self.subjects}.dead.>"}
        for part, subject in subjects.items():
            stream = {"connectionRef": {"name": self.name}, "management": management, "subjects": [subject]}
            await self.declare("Stream", part, stream)
        consumer = {"streamRef": {"name": f"{self.name}-words"}, "management": management, "ackPolicy": "Explicit"}
        await self.declare("Consumer", "", consumer)
        for kind, part in (("Connection", ""), *(("Stream", part) for part in subjects), ("Consumer", "")):
            await self.ready(kind, part)

    async def declare_group(self) -> None:
        code = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"capitals.py": self.settings.code.read_text()}}
        await self.make(f"/api/v1/namespaces/{self.settings.namespace}/configmaps", code, self.name)
        handler = {
            "entrypoint": "capitals:process",
            "configMapRef": {"name": self.name},
            "env": [{"name": "ANSWERS", "value": self.answers}],
        }
        group = {
            "consumerRef": {"name": self.name},
            "handler": handler,
            "spark": {"master": "local[1]"},
            "deadLetter": {"streamRef": {"name": f"{self.name}-dead"}},
            "scaling": {"minReplicas": 0, "maxReplicas": 1},
        }
        await self.declare("QueueGroup", "", group)

    async def answered(self, js: JetStream) -> bytes:
        """Wait for the answer, saying how the group and its pods stand."""
        found: list[bytes] = []
        stream = self.named("answers")

        async def look() -> bool:
            try:
                found.append((await js.streams.get_message(stream, last_by_subject=self.answers)).data)
            except MissingError:
                self.tale.tell(standing("QueueGroup", await self.read("QueueGroup", "")))
                for pod in await self.pods():
                    self.tale.tell(pod_standing(pod))
            return bool(found)

        await self.wait(look, "Spark has answered")
        return found[0]

    async def ready(self, kind: str, part: str) -> None:
        stands = [""]

        async def look() -> bool:
            found = await self.read(kind, part)
            stands[0] = standing(kind, found)
            if conditions_of(found):
                self.tale.tell(stands[0])
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions_of(found))

        try:
            await self.wait(look, f"{kind} {self.named(part)} is ready")
        except FailedError as problem:
            raise FailedError(f"{problem} {stands[0]}") from problem
        self.tale.tell(f"{kind} {self.named(part)} is ready.")

    async def wait(self, look: Callable[[], Awaitable[bool]], what: str) -> None:
        while not await look():
            if time.monotonic() > self.until:
                raise FailedError(f"It took more than {self.settings.seconds:.0f} s until {what}.")
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def named(self, part: str) -> str:
        return f"{self.name}-{part}" if part else self.name

    def path(self, kind: str, part: str) -> str:
        return f"{API}/namespaces/{self.settings.namespace}/{PLURALS[kind]}/{self.named(part)}"

    async def read(self, kind: str, part: str) -> Json:
        return await self.kubernetes.ask("GET", self.path(kind, part))

    async def pods(self) -> list[Json]:
        where = f"/api/v1/namespaces/{self.settings.namespace}/pods"
        listed = await self.kubernetes.ask("GET", f"{where}?labelSelector=penstock.dev/queue-group={self.name}")
        return list(listed["items"])

    async def declare(self, kind: str, part: str, spec: Json) -> None:
        body = {"apiVersion": "penstock.dev/v1alpha1", "kind": kind, "spec": spec}
        await self.make(self.path(kind, part).rpartition("/")[0], body, self.named(part))

    async def make(self, where: str, body: Json, name: str) -> None:
        metadata = {"name": name, "labels": {"app.kubernetes.io/part-of": "penstock-test"}}
        try:
            await self.kubernetes.ask("POST", where, {**body, "metadata": metadata})
        except AnsweredError as problem:
            raise FailedError(f"{body['kind']} {name} could not be made: {problem}") from problem
        self.made.append(f"{where}/{name}")
        self.tale.tell(f"{body['kind']} {name} is declared.")

    async def remove(self) -> None:
        """Take away what was made, the latest first, and wait until each is gone: what came later needs it."""
        self.until = time.monotonic() + REMOVAL_SECONDS
        for path in reversed(self.made):
            await self.kubernetes.ask("DELETE", path)

            async def is_gone(path: str = path) -> bool:
                try:
                    await self.kubernetes.ask("GET", path)
                except AnsweredError as problem:
                    return problem.code == NOT_FOUND
                return False

            await self.wait(is_gone, f"{path} is gone")

        async def no_pod() -> bool:
            return not await self.pods()

        await self.wait(no_pod, "the worker has ended")
        self.tale.tell("All of it is taken away again.")


def conditions_of(found: Json) -> list[Json]:
    return list(found.get("status", {}).get("conditions", []))


def standing(kind: str, found: Json) -> str:
    """Say how something stands, in the operator's words."""
    ready = next((each for each in conditions_of(found) if each["type"] == "Ready"), None)
    name = found["metadata"]["name"]
    if ready is None:
        return f"{kind} {name}: nobody has looked at it yet. Is the operator running, and does it serve this namespace?"
    return f"{kind} {name}: {ready['reason']}: {ready['message']}"


def pod_standing(pod: Json) -> str:
    """Say how a worker's pod stands: what its containers wait for, or which are ready."""
    return f"Pod {pod['metadata']['name']}: {', '.join(_containers(pod)) or pod['status'].get('phase', 'Pending')}"


def _containers(pod: Json) -> Iterator[str]:
    status = pod["status"]
    for each in (*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])):
        [state] = each.get("state") or {"waiting": {}}
        about = each.get("state", {}).get(state, {})
        if state == "running":
            yield f"{each['name']} {'is ready' if each['ready'] else 'runs'}"
        else:
            yield f"{each['name']} {' '.join(filter(None, (state, about.get('reason'), about.get('message'))))}"


async def main(settings: Settings) -> int:
    tale = Tale()
    journey = Journey(settings, Kubernetes(settings), tale)
    code = 0
    try:
        await journey.go()
    except (FailedError, AnsweredError, JetStreamError) as problem:
        tale.tell(f"FAILED: {problem}")
        code = 1
    try:
        await journey.remove()
    except (FailedError, AnsweredError) as problem:
        left = "kubectl delete penstock,configmap --selector=app.kubernetes.io/part-of=penstock-test"
        tale.tell(f"FAILED to take all of it away: {problem}\n  {left} --namespace {settings.namespace}")
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Settings.read(os.environ))))

"""A client of the Kubernetes API that tells how each of its requests was answered, whoever made it.

Knows where all requests of the generated client pass. Does not know who counts.
"""

from collections.abc import Callable
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient, ApiException, Configuration
from typing_extensions import override

NO_ANSWER = "none"

Answered = Callable[[str, str], None]
"""Is told a request's method, and the code of its answer or that there was none."""


class Client(ApiClient):
    def __init__(self, access: Configuration, answered: Answered) -> None:
        super().__init__(access)
        self._answered = answered

    @override
    async def call_api(self, method: str, *arguments: Any, **named: Any) -> Any:
        try:
            answer = await super().call_api(method, *arguments, **named)
        except ApiException as refusal:
            self._answered(method, str(refusal.status))
            raise
        except (TimeoutError, aiohttp.ClientError):
            self._answered(method, NO_ANSWER)
            raise
        self._answered(method, str(answer.status))
        return answer

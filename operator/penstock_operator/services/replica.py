"""One process among its replicas: it stands for a Lease and leads now and then, or it is alone and always leads.

Knows how a Lease that was asked for on the command line becomes an election. Called by handlers.process.
"""

import asyncio
import socket
import uuid

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.lease import Candidate, Terms
from penstock_operator.services.election import Election
from penstock_operator.services.leading import Leadership
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.lease import Lease


class Alone:
    """A process that has no replicas."""

    def __init__(self) -> None:
        self.leadership = Leadership.alone()

    async def stand(self) -> None:
        """Lead until cancelled."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """There is nobody to leave the lead to."""


def replica(client: ApiClient, lease: tuple[str, str] | None, terms: Terms, vitals: Vitals) -> Election | Alone:
    """Return what stands for the Lease of this namespace and name, if there is one."""
    if lease is None:
        return Alone()
    return Election(Lease(client, *lease), Candidate(identity=new_identity(), terms=terms), vitals)


def new_identity() -> str:
    """Return a name for this life of this process: its machine's or pod's, and something that its next life has not."""
    return f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"

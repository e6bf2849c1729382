"""What goes wrong below NATS, said in NATS's terms: sockets, names, TLS.

Knows the exceptions of asyncio, socket and ssl. Does not raise anything itself.
"""

import os
import socket
import ssl

from penstock_jetstream.core.servers import Address
from penstock_jetstream.errors import AuthenticationError, JetStreamError, LinkError

_CLIENT_CERTIFICATE_ALERTS = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "UNKNOWN_CA",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_UNKNOWN",
    "UNSUPPORTED_CERTIFICATE",
)


def explained(address: Address, problem: Exception) -> JetStreamError:
    """Return what happened to a link, or to the attempt to have one, in one sentence and with what to do."""
    if isinstance(problem, JetStreamError):
        return problem
    if isinstance(problem, ssl.SSLCertVerificationError):
        return _untrusted(address, problem)
    if isinstance(problem, ssl.SSLError):
        return _tls_failure(address, problem)
    if isinstance(problem, OSError):
        return _unreachable(address, problem)
    return LinkError(f"The link to {address} failed with {type(problem).__name__}.")


def _untrusted(address: Address, problem: ssl.SSLCertVerificationError) -> LinkError:
    advice = "Give the authority that issued its certificate: Tls(ca=...)."
    if "mismatch" in problem.verify_message:
        advice = "Connect by a name that stands in its certificate, or say which it has: Tls(server_name=...)."
    return LinkError(f"{address} is not trusted: {problem.verify_message.rstrip('.')}.", advice=advice)


def _tls_failure(address: Address, problem: ssl.SSLError) -> LinkError:
    reason = problem.reason or str(problem)
    if any(alert in reason for alert in _CLIENT_CERTIFICATE_ALERTS):
        return AuthenticationError(
            f"{address} does not trust our certificate: {reason}.",
            advice="Give one that its authority issued: Tls(certificate=..., key=...).",
        )
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}:
        return LinkError(
            f"{address} does not begin with TLS.", advice="Leave out handshake_first, or check the port's number."
        )
    return LinkError(f"TLS with {address} failed: {reason}.")


def _unreachable(address: Address, problem: OSError) -> LinkError:
    if isinstance(problem, socket.gaierror):
        return LinkError(f"{address} has no address: {problem.strerror}.", advice="Check the name of the host.")
    if isinstance(problem, ConnectionRefusedError):
        return LinkError(f"{address} refused the connection: nothing listens there.", advice="Is the server running?")
    words = os.strerror(problem.errno) if problem.errno else str(problem) or type(problem).__name__
    return LinkError(f"The link to {address} failed: {words.rstrip('.')}.")

"""The handshake of driver and agent: who they are, before anything is decoded.

As between block servers and their clients (`remote/handshake.py`), both prove that they know the
application's secret without sending it. Both also send their versions, and the agent its ticket;
the proofs cover these. All messages have fixed sizes.

    driver: nonce, versions        agent: nonce, proof, versions, ticket        driver: proof
"""

from __future__ import annotations

import hmac
import platform
import socket

from pyrite.errors import ClusterError
from pyrite.remote.handshake import NONCE_BYTES, PROOF_BYTES, fresh_nonce, prove
from pyrite.version import __version__

VERSIONS_BYTES = 96
TICKET_BYTES = 32
GREETING_BYTES = NONCE_BYTES + VERSIONS_BYTES
ANSWER_BYTES = NONCE_BYTES + PROOF_BYTES + VERSIONS_BYTES + TICKET_BYTES

# The protocol's number grows with every change of the messages between driver and agent.
PROTOCOL = 3
DRIVER_ROLE = b"pyrite agents: driver"
SAME_VERSIONS = "install the same versions on all nodes"
AGENT_ROLE = b"pyrite agents: agent"


class Refusal(ClusterError):
    """The other side is no driver or agent of this application, or one of other versions."""


def own_versions() -> bytes:
    """The versions that must agree: of the messages, of pickled code, of the package."""
    python = ".".join(platform.python_version_tuple()[:2])
    text = f"Python {python}, Pyrite {__version__}, protocol {PROTOCOL}"
    return text.encode().ljust(VERSIONS_BYTES)


def shown_versions(versions: bytes) -> str:
    return versions.decode("ascii", "replace").strip()


def greeting() -> bytes:
    """The driver's first message."""
    return fresh_nonce() + own_versions()


def answer(secret: bytes, greeting: bytes, ticket: str) -> bytes:
    """The agent's message."""
    nonce, said = fresh_nonce(), own_versions() + ticket.encode().ljust(TICKET_BYTES)
    proof = prove(secret, AGENT_ROLE + greeting[NONCE_BYTES:] + said, greeting[:NONCE_BYTES], nonce)
    return nonce + proof + said


def check_answer(secret: bytes, greeting: bytes, answer: bytes) -> tuple[str, bytes, bytes] | None:
    """The agent's ticket and versions, and the driver's proof; None if the agent does not know the
    secret."""
    nonce, rest = answer[:NONCE_BYTES], answer[NONCE_BYTES:]
    proof, said = rest[:PROOF_BYTES], rest[PROOF_BYTES:]
    versions, ticket = said[:VERSIONS_BYTES], said[VERSIONS_BYTES:]
    about = greeting[NONCE_BYTES:] + said
    expected = prove(secret, AGENT_ROLE + about, greeting[:NONCE_BYTES], nonce)
    if not hmac.compare_digest(proof, expected):
        return None
    return ticket.decode().strip(), versions, prove(secret, DRIVER_ROLE + about, expected, nonce)


def meet_driver(sock: socket.socket, secret: bytes, ticket: str) -> None:
    """Does the agent's part over a blocking socket; raises Refusal where they do not agree."""
    received = receive_exactly(sock, GREETING_BYTES)
    said = answer(secret, received, ticket)
    sock.sendall(said)
    proof = receive_exactly(sock, PROOF_BYTES)
    nonce, shown = said[:NONCE_BYTES], said[NONCE_BYTES : NONCE_BYTES + PROOF_BYTES]
    about = received[NONCE_BYTES:] + said[NONCE_BYTES + PROOF_BYTES :]
    if not hmac.compare_digest(proof, prove(secret, DRIVER_ROLE + about, shown, nonce)):
        raise Refusal("the driver did not prove that it knows the application's secret")
    if received[NONCE_BYTES:] != own_versions():
        raise Refusal(disagreement("this node", own_versions(), received[NONCE_BYTES:]))


def disagreement(node: str, versions: bytes, driver: bytes) -> str:
    """Says which versions a node and the driver have, and what to do."""
    return (
        f"{node} has {shown_versions(versions)}, and the driver has {shown_versions(driver)}: "
        + SAME_VERSIONS
    )


def receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise Refusal("the driver closed the connection during the handshake")
        data += more
    return data

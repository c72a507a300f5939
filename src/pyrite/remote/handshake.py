"""The handshake: both sides prove that they know the application's secret, and never show it.

The server sends a nonce, the client its own nonce and proof, the server its proof. Each message
has a fixed size, and one of random bytes tells a stranger nothing.
"""

from __future__ import annotations

import hmac
import os

SECRET_BYTES = 32
NONCE_BYTES = 32
PROOF_BYTES = 32
ANSWER_BYTES = NONCE_BYTES + PROOF_BYTES

# Different for each side, so that no proof can be sent back to its maker; they change with the
# protocol, so that sides that would misunderstand each other part here.
CLIENT = b"pyrite blocks 2: client"
SERVER = b"pyrite blocks 2: server"


def check_secret(secret: bytes) -> bytes:
    """The secret, where it is as long as it must be."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(
            f"an application's secret has {SECRET_BYTES} random bytes, not {len(secret)}: "
            f"make it with os.urandom({SECRET_BYTES})"
        )
    return secret


def fresh_nonce() -> bytes:
    """Random bytes that are used once."""
    return os.urandom(NONCE_BYTES)


def prove(secret: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    """What only who knows the secret can say about these nonces in this role."""
    return hmac.digest(secret, role + server_nonce + client_nonce, "sha256")


def answer(secret: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    """The client's message: its nonce and its proof."""
    return client_nonce + prove(secret, CLIENT, server_nonce, client_nonce)


def counter_proof(secret: bytes, server_nonce: bytes, said: bytes) -> bytes | None:
    """The server's proof for a client's answer; None where the client does not know the secret."""
    client_nonce, proof = said[:NONCE_BYTES], said[NONCE_BYTES:]
    if not hmac.compare_digest(proof, prove(secret, CLIENT, server_nonce, client_nonce)):
        return None
    return prove(secret, SERVER, server_nonce, client_nonce)


def server_proved(secret: bytes, server_nonce: bytes, client_nonce: bytes, proof: bytes) -> bool:
    """Whether the server's proof shows that it knows the secret."""
    return hmac.compare_digest(proof, prove(secret, SERVER, server_nonce, client_nonce))

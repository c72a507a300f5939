"""The handshake: both sides prove that they know the application's secret without sending it.

The server sends a nonce, the client its own nonce and proof, the server its proof. Each message
has a fixed size, and reveals nothing about the secret.
"""

from __future__ import annotations

import hmac
import os

SECRET_BYTES = 32
NONCE_BYTES = 32
PROOF_BYTES = 32
ANSWER_BYTES = NONCE_BYTES + PROOF_BYTES

# Different for each side, so that no proof can be reflected to its sender; they change with the
# protocol, so that different versions fail here.
CLIENT = b"pyrite blocks 2: client"
SERVER = b"pyrite blocks 2: server"


def check_secret(secret: bytes) -> bytes:
    """Returns the secret if it has the right length."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(
            f"an application's secret has {SECRET_BYTES} random bytes, not {len(secret)}: "
            f"make it with os.urandom({SECRET_BYTES})"
        )
    return secret


def fresh_nonce() -> bytes:
    """Returns random bytes for one use."""
    return os.urandom(NONCE_BYTES)


def prove(secret: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    """Returns the proof for these nonces and this role, which requires the secret."""
    return hmac.digest(secret, role + server_nonce + client_nonce, "sha256")


def answer(secret: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    """The client's message: its nonce and its proof."""
    return client_nonce + prove(secret, CLIENT, server_nonce, client_nonce)


def counter_proof(secret: bytes, server_nonce: bytes, message: bytes) -> bytes | None:
    """The server's proof for a client's message; None if the client does not know the secret."""
    client_nonce, proof = message[:NONCE_BYTES], message[NONCE_BYTES:]
    if not hmac.compare_digest(proof, prove(secret, CLIENT, server_nonce, client_nonce)):
        return None
    return prove(secret, SERVER, server_nonce, client_nonce)


def server_proved(secret: bytes, server_nonce: bytes, client_nonce: bytes, proof: bytes) -> bool:
    """Whether the server's proof shows that it knows the secret."""
    return hmac.compare_digest(proof, prove(secret, SERVER, server_nonce, client_nonce))

"""Only who knows the secret can prove it, each time anew."""

import os

import pytest

from pyrite.remote.handshake import (
    ANSWER_BYTES,
    CLIENT,
    NONCE_BYTES,
    answer,
    check_secret,
    counter_proof,
    fresh_nonce,
    prove,
    server_proved,
)

SECRET = b"s" * 32


def test_both_sides_prove_themselves() -> None:
    server_nonce, client_nonce = fresh_nonce(), fresh_nonce()
    said = answer(SECRET, server_nonce, client_nonce)
    assert len(said) == ANSWER_BYTES
    proof = counter_proof(SECRET, server_nonce, said)
    assert proof is not None
    assert server_proved(SECRET, server_nonce, client_nonce, proof)


def test_another_secret_proves_nothing() -> None:
    server_nonce, client_nonce = fresh_nonce(), fresh_nonce()
    assert (
        counter_proof(SECRET, server_nonce, answer(b"t" * 32, server_nonce, client_nonce)) is None
    )
    proof = counter_proof(b"t" * 32, server_nonce, answer(b"t" * 32, server_nonce, client_nonce))
    assert proof is not None
    assert not server_proved(SECRET, server_nonce, client_nonce, proof)


def test_an_answer_serves_once() -> None:
    said = answer(SECRET, fresh_nonce(), fresh_nonce())
    assert counter_proof(SECRET, fresh_nonce(), said) is None


def test_a_proof_sent_back_proves_nothing() -> None:
    server_nonce, client_nonce = fresh_nonce(), fresh_nonce()
    theirs = prove(SECRET, CLIENT, server_nonce, client_nonce)
    assert not server_proved(SECRET, server_nonce, client_nonce, theirs)


@pytest.mark.parametrize("position", [0, NONCE_BYTES - 1, NONCE_BYTES, ANSWER_BYTES - 1])
def test_every_byte_of_an_answer_counts(position: int) -> None:
    server_nonce = fresh_nonce()
    said = bytearray(answer(SECRET, server_nonce, fresh_nonce()))
    said[position] ^= 1
    assert counter_proof(SECRET, server_nonce, bytes(said)) is None


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_secret_has_its_size(size: int) -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        check_secret(os.urandom(size))

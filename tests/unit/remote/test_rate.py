"""The bytes that a server may send: a burst, then so many a second, and no drops."""

import pytest

from pyrite.remote.rate import BURST_S, SPELL_BYTES, SPELL_S, TokenBucket

RATE = 100_000_000
SPELL = int(SPELL_S * RATE)


def drain(bucket: TokenBucket) -> int:
    """Sends all that may be sent."""
    sent = 0
    while granted := bucket.grant(1 << 30):
        bucket.spend(granted)
        sent += granted
    return sent


def test_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(RATE)
    bucket.fill(10.0)
    assert drain(bucket) == pytest.approx(BURST_S * RATE, abs=SPELL)
    sent = 0
    for step in range(1, 1001):
        bucket.fill(10.0 + step / 1000)
        sent += drain(bucket)
    assert sent == pytest.approx(RATE, abs=SPELL)


def test_a_pause_gives_no_more_than_a_burst() -> None:
    bucket = TokenBucket(RATE)
    bucket.fill(0.0)
    drain(bucket)
    bucket.fill(1000.0)
    assert drain(bucket) == pytest.approx(BURST_S * RATE, abs=SPELL)


def test_nothing_is_granted_before_it_is_worth_a_call() -> None:
    bucket = TokenBucket(RATE)
    bucket.fill(0.0)
    drain(bucket)
    assert bucket.is_dry
    wait_s = bucket.wait_s()
    assert wait_s > 0
    bucket.fill(0.9 * wait_s)
    assert bucket.is_dry and bucket.grant(1) == 0
    bucket.fill(1.01 * wait_s)
    assert not bucket.is_dry and bucket.wait_s() == 0 and bucket.grant(1 << 30) == SPELL


def test_one_is_granted_no_more_than_a_spell() -> None:
    assert TokenBucket(RATE).grant(10) == 10
    assert TokenBucket(RATE).grant(1 << 30) == SPELL
    assert TokenBucket(1).grant(1 << 30) == SPELL_BYTES


def test_what_was_sent_beyond_is_owed() -> None:
    bucket = TokenBucket(RATE)
    bucket.fill(0.0)
    bucket.spend(RATE)
    bucket.fill(0.5)
    assert bucket.grant(1) == 0
    bucket.fill(1.1)
    assert bucket.grant(1) == 1


def test_no_rate_is_no_limit() -> None:
    bucket = TokenBucket(0)
    for now_s in 0.0, 1.0:
        bucket.fill(now_s)
        assert bucket.grant(1 << 30) == 1 << 30
        bucket.spend(1 << 30)
        assert not bucket.is_dry

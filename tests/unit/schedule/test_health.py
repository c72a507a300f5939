"""Who is left out, and who is forgiven."""

from __future__ import annotations

from pyrite.ids import ExecutorId
from pyrite.schedule.health import ExclusionRule, Health

A, B = ExecutorId(0), ExecutorId(1)


def failing(*times_s: float, timeout_s: float = 10.0) -> Health:
    """A has failed at these times, each time at another task of stage 1."""
    health = Health(ExclusionRule(enabled=True, timeout_s=timeout_s))
    for partition, at_s in enumerate(times_s):
        health.failed(1, partition, A, at_s)
    return health


def test_an_executor_is_left_out_until_its_failures_are_old() -> None:
    health = failing(0.0, 5.0)
    assert health.excluded(A) and not health.excluded(B)
    assert not health.forgive(9.0)
    assert health.excluded(A)
    assert health.forgive(10.0)
    assert not health.excluded(A)
    assert not health.forgive(15.0), "it had been forgiven before"
    assert not health.recent and not health.failures


def test_forgiveness_of_one_of_many_failures_changes_nothing() -> None:
    health = failing(0.0, 5.0, 6.0)
    assert not health.forgive(10.0)
    assert health.excluded(A)


def test_a_stage_goes_on_refusing_whom_the_application_forgave() -> None:
    health = failing(0.0, 5.0)
    health.forgive(100.0)
    assert health.excluded_from(1, A) and not health.excluded_from(2, A)
    assert list(health.refused(1, A)) == [0, 1]
    assert not health.refused(1, B)
    health.forget_stage(1)
    assert not health.excluded_from(1, A)


def test_a_lost_executor_leaves_nothing_behind() -> None:
    health = failing(0.0, 5.0)
    health.failed(1, 7, B, 6.0)
    health.forget_executor(A)
    assert not health.excluded(A) and not health.refused(1, A)
    assert list(health.refused(1, B)) == [7]
    assert not health.forgive(20.0)
    assert not health.failures


def test_it_tells_when_fewer_executors_may_be_usable() -> None:
    health = failing(0.0)
    before = health.changes
    health.forgive(100.0)
    assert health.changes == before
    health.forget_executor(B)
    assert health.changes > before

"""The cost of rented machines, with changing prices and billing periods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from pyrite.rent.completion import Hire, Instance

HOUR_S = 3600.0
# Rounding errors of sums must not start another period.
ROUNDING = 1e-9


class StageHire(NamedTuple):
    """One run of a stage: its machines and its duration."""

    hire: Hire
    seconds: float


class Rented(NamedTuple):
    """One type of machine in one role; machines of different roles are not exchanged."""

    instance: Instance
    executes: bool


def price_at(instance: Instance, at_s: float) -> float:
    """Dollars per hour at this time after the start."""
    price = instance.prices[0][1]
    for from_s, later in instance.prices:
        if from_s <= at_s:
            price = later
    return price


def spent(instance: Instance, from_s: float, until_s: float) -> float:
    """Dollars for one machine, without billing periods."""
    dollars = 0.0
    changes = [each for each, _ in instance.prices if from_s < each < until_s]
    edges = [from_s, *changes, until_s]
    for begin_s, end_s in pairwise(edges):
        dollars += price_at(instance, begin_s) * (end_s - begin_s) / HOUR_S
    return dollars


def spent_by_period(instance: Instance, from_s: float, until_s: float, period_s: float) -> float:
    """Dollars for one machine; each started period has the price of its start."""
    periods = max(1, ceil((until_s - from_s) / period_s - ROUNDING))
    dollars, counted = 0.0, 0
    for at_s, price in reversed(instance.prices):
        # The periods that start at this price: all except earlier and later ones.
        before = 0 if at_s == instance.prices[0][0] else max(0, ceil((at_s - from_s) / period_s))
        here = max(0, periods - counted - before)
        dollars += here * price
        counted += here
    return dollars * period_s / HOUR_S


def crew(hire: Hire) -> list[tuple[Rented, int]]:
    """The machines of a stage by type and role."""
    found = [(Rented(hire.executor, True), hire.executors)]
    if hire.storage is not None and hire.storages:
        found.append((Rented(hire.storage, False), hire.storages))
    return found


def rate_per_s(hire: Hire, at_s: float = 0.0) -> float:
    """Dollars per second for all machines of a stage."""
    hourly = sum(price_at(rented.instance, at_s) * count for rented, count in crew(hire))
    return hourly / HOUR_S


def bill(turns: Iterable[StageHire], start_s: float = 0.0, period_s: float = 0.0) -> float:
    """Dollars for the whole job; without billing periods if `period_s` is 0.

    A machine stays rented if the next stage needs one of the same kind.
    """
    dollars, now_s = 0.0, start_s
    # The start of each machine's rent, by kind; the latest last.
    since: dict[Rented, list[float]] = {}
    for hire, seconds in turns:
        wanted = dict(crew(hire))
        for rented in [*since, *(each for each in wanted if each not in since)]:
            begun = since.setdefault(rented, [])
            count = wanted.get(rented, 0)
            while len(begun) > count:
                dollars += returned(rented.instance, begun.pop(), now_s, period_s)
            begun += [now_s] * (count - len(begun))
        now_s += seconds
    for rented, begun in since.items():
        dollars += sum(returned(rented.instance, each, now_s, period_s) for each in begun)
    return dollars


def returned(instance: Instance, from_s: float, until_s: float, period_s: float) -> float:
    """The cost of a machine up to its return, including its startup before it was needed."""
    from_s -= instance.startup_s
    if not period_s:
        return spent(instance, from_s, until_s)
    return spent_by_period(instance, from_s, until_s, period_s)


def price_changes(instances: Sequence[Instance], from_s: float) -> list[float]:
    """A moment, and all later price changes."""
    later = {at_s for each in instances for at_s, _ in each.prices if at_s > from_s}
    return [from_s, *sorted(later)]

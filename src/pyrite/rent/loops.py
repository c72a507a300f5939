"""Loops: stages that run in turns and therefore share their machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise


def loops_of(stages: int, order: Sequence[int]) -> list[list[int]]:
    """Groups stages that run in turns: each iteration of a loop uses the same machines.

    >>> loops_of(5, [0, 1, 2, 1, 2, 1, 2, 3, 4, 4, 4])
    [[0], [1, 2], [3], [4]]
    """
    changes = Counter(pair for pair in pairwise(order) if pair[0] != pair[1])
    loop = list(range(stages))
    for (before, after), count in changes.items():
        if count > 1 or (after, before) in changes:
            old, new = loop[after], loop[before]
            loop = [new if each == old else each for each in loop]
    found: dict[int, list[int]] = {}
    for stage in dict.fromkeys([*order, *range(stages)]):
        found.setdefault(loop[stage], []).append(stage)
    return list(found.values())


def turns_of(order: Sequence[int], loop_of: Mapping[int, int]) -> list[tuple[int, float]]:
    """The loops in the order in which they run, each with the fraction of its runs in that turn."""
    turns: list[tuple[int, int]] = []
    for stage in order:
        loop = loop_of[stage]
        if turns and turns[-1][0] == loop:
            turns[-1] = loop, turns[-1][1] + 1
        else:
            turns.append((loop, 1))
    totals = Counter(loop_of[stage] for stage in order)
    return [(loop, count / totals[loop]) for loop, count in turns]


def neighbours_of(turns: Sequence[int]) -> dict[int, list[int]]:
    """The loops that run just before or after each."""
    found: dict[int, dict[int, None]] = {loop: {} for loop in turns}
    for before, after in pairwise(turns):
        found[before][after] = found[after][before] = None
    return {loop: list(each) for loop, each in found.items()}

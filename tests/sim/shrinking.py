"""Making a case that fails smaller, as long as it fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from cases import Case, random_case
from smaller_programs import shrink
from trial import run_case

from pyrite.cluster.sim.world import World


def kind_of(failure: str) -> str:
    """What failed, without the numbers that differ from case to case."""
    found = re.search(r"\b(CheckFailed|\w+Error|\w+Aborted|\w+Died|left behind)\b.*", failure)
    text = found[0] if found else failure
    return re.sub(r"[\d.]+|'[^']*'|\(.*|\{.*", "", text)[:80]


def smallest(case: Case, failure: str, patience_s: float) -> Case:
    """The smallest case that was found in the time given."""
    wanted = kind_of(failure)
    deadline_s = time.monotonic() + patience_s
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in smaller(case):
            if time.monotonic() > deadline_s:
                return case
            if kind_of(run_case(candidate).failure) == wanted:
                case = candidate
                shrunk = True
                break
    return case


def smaller(case: Case) -> Iterator[Case]:
    """Candidates, those that leave out most first."""
    for world in smaller_worlds(case.world):
        yield case._replace(world=world)
    for program in shrink(case.program):
        yield case._replace(program=program)
    if case.cancel_all is not None:
        yield case._replace(cancel_all=None)
    for number in range(len(case.settings)):
        left_out = case.settings[:number] + case.settings[number + 1 :]
        if case.settings[number][0] != "spark.task.maxFailures":
            yield case._replace(settings=left_out)


def smaller_worlds(world: World) -> Iterator[World]:
    faults = world.faults
    if len(faults) > 1:
        half = len(faults) // 2
        yield world._replace(faults=faults[:half])
        yield world._replace(faults=faults[half:])
    for number in range(len(faults)):
        yield world._replace(faults=faults[:number] + faults[number + 1 :])
    for number in range(len(world.nodes)):
        nodes = world.nodes[:number] + world.nodes[number + 1 :]
        if sum(node.executors for node in nodes):
            yield world._replace(nodes=nodes)
    for name, usual in World._field_defaults.items():
        if name not in ("faults", "most_events") and getattr(world, name) != usual:
            yield world._replace(**{name: usual})


def shrunk_seed(seed: int, failure: str, patience_s: float) -> Case:
    return smallest(random_case(seed), failure, patience_s)

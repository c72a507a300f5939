"""How many programs to try, and how a trial goes.

PYRITE_EXAMPLES=500 tries so many of each kind, other ones each time; PYRITE_SHRINK=1 makes a
program that fails smaller, which takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from idle import assert_nothing_left
from lineage import Ask, Program, build, check, evaluate
from plain_rows import Plain
from sabotage import Faults, Saboteur

from pyrite import RDD, SparkContext
from pyrite.errors import StageAborted

Start = Callable[[dict[str, str]], SparkContext]

EXAMPLES = int(os.environ.get("PYRITE_EXAMPLES", "0"))
PHASES = [Phase.explicit, Phase.generate]
if os.environ.get("PYRITE_SHRINK"):
    PHASES.append(Phase.shrink)


def tries(usual: int) -> settings:
    """So many examples, always the same ones unless others were asked for."""
    return settings(
        database=None,
        phases=PHASES,
        derandomize=not EXAMPLES,
        max_examples=EXAMPLES or usual,
        suppress_health_check=list(HealthCheck),
    )


def run(program: Program, faults: Faults, sc: SparkContext, folder: Path) -> None:
    """Runs a program, compares every answer, and looks whether anything stays behind."""
    plains = evaluate(program)
    with Saboteur(sc, faults) as saboteur:
        rdds = build(program, sc, folder)
        [asks] = program.threads
        for number, ask in enumerate(asks):
            with none_or_torn(faults):
                check(ask, rdds, plains)
            saboteur.spoil(number, len(asks))
    del rdds
    assert_nothing_left(sc)


@contextmanager
def none_or_torn(faults: Faults) -> Iterator[None]:
    """Lets pass that a lost map output of repartition could not be made alike again."""
    try:
        yield
    except StageAborted as error:
        if not faults.losses or "repartition dealt" not in str(error):
            raise


def ask_all(asks: tuple[Ask, ...], rdds: list[RDD[Any]], plains: list[Plain]) -> None:
    for ask in asks:
        check(ask, rdds, plains)


def run_at_once(program: Program, faults: Faults, sc: SparkContext, folder: Path) -> None:
    """Runs all actions of a program in two threads over the same RDDs."""
    plains = evaluate(program)
    with Saboteur(sc, faults), ThreadPoolExecutor(2) as threads:
        rdds = build(program, sc, folder)
        [asks] = program.threads
        orders = [asks, asks[::-1]]
        list(threads.map(partial(ask_all, rdds=rdds, plains=plains), orders))
    del rdds
    assert_nothing_left(sc)

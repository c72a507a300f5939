"""Many seeds, on all cores, and what they came to."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from itertools import islice
from typing import NamedTuple

CHUNK = 25


class Failed(NamedTuple):
    """A seed that fails, and how."""

    seed: int
    failure: str


class Summary(NamedTuple):
    """What some seeds came to."""

    seeds: int
    events: int
    virtual_s: float
    faults: Counter[str]
    errors: Counter[str]
    marks: Counter[str]
    failed: tuple[Failed, ...]

    def plus(self, other: Summary) -> Summary:
        return Summary(
            self.seeds + other.seeds,
            self.events + other.events,
            self.virtual_s + other.virtual_s,
            self.faults + other.faults,
            self.errors + other.errors,
            self.marks + other.marks,
            self.failed + other.failed,
        )


NOTHING = Summary(0, 0, 0.0, Counter(), Counter(), Counter(), ())


def run_seeds(seeds: tuple[int, ...], mutation: str | None = None) -> Summary:
    """Runs seeds one after another, up to the first that fails."""
    from cases import random_case
    from mutations import switched_on
    from trial import run_case

    from pyrite import probe

    probe.reached.clear()
    total = NOTHING
    with switched_on(mutation) if mutation else nullcontext():
        for seed in seeds:
            result = run_case(random_case(seed))
            failed = (Failed(seed, result.failure),) if result.failure else ()
            total = total.plus(
                Summary(
                    1,
                    result.events,
                    result.virtual_s,
                    result.faults,
                    result.errors,
                    Counter(),
                    failed,
                )
            )
            if failed:
                break
            if total.seeds % CHUNK == 0:
                # A trial's own collections don't see what earlier trials have left.
                gc.collect()
    return total._replace(marks=Counter(probe.reached))


def start_worker(path: list[str], numbers: multiprocessing.Queue[int]) -> None:
    """One core for each: threads that take turns only lose by being moved."""
    sys.path[:] = path
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[numbers.get() % len(cores)]})


def make_pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    numbers = context.Queue()
    for number in range(workers):
        numbers.put(number)
    return ProcessPoolExecutor(workers, context, start_worker, (sys.path, numbers))


def explore(seeds: Iterable[int], workers: int, until_s: float | None = None) -> Iterator[Summary]:
    """Runs seeds by chunks and gives the sum so far; ends after a failure or when time is up."""
    waiting = iter(seeds)
    chunks = iter(lambda: tuple(islice(waiting, CHUNK)), ())
    total = NOTHING
    with make_pool(workers) as pool:
        running: set[Future[Summary]] = set()
        more = True
        while True:
            more = more and not total.failed and (until_s is None or time.monotonic() < until_s)
            while more and len(running) < 2 * workers:
                chunk = next(chunks, None)
                more = chunk is not None
                if chunk is not None:
                    running.add(pool.submit(run_seeds, chunk))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                total = total.plus(each.result())
            yield total

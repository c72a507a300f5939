"""Faults: executors killed and map outputs lost, at moments that are part of the example."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any, NamedTuple

from hypothesis import strategies as st

from pyrite import SparkContext
from pyrite.ids import BlockRef

MOST_KILLS = 6
LATEST_EVENT = 60


class Kill(NamedTuple):
    """One of the executors ends some milliseconds after the n-th event."""

    event: int
    executor: int
    delay_ms: int = 0


class Loss(NamedTuple):
    """After the n-th action a map output is spoilt, or the file that it lies in is deleted."""

    ask: int
    output: int
    deleted: bool = False


class Faults(NamedTuple):
    """What goes wrong in one program."""

    kills: tuple[Kill, ...] = ()
    losses: tuple[Loss, ...] = ()


kills = st.builds(
    Kill, st.integers(0, LATEST_EVENT), st.integers(0, 1), st.sampled_from([0, 0, 0, 1, 2, 5])
)
losses = st.builds(Loss, st.integers(0, 4), st.integers(0, 9), st.booleans())
several_kills = st.lists(kills, max_size=MOST_KILLS).map(tuple)
some_kills = st.builds(Faults, several_kills)
some_faults = st.builds(Faults, several_kills, st.lists(losses, max_size=3).map(tuple))


class Saboteur:
    """Kills executors while a program runs, and checks the scheduler after every event."""

    def __init__(self, sc: SparkContext, faults: Faults) -> None:
        self.engine = sc._engine
        self.faults = faults
        self.timers: list[threading.Timer] = []
        self.events = 0
        self.by_event: dict[int, list[Kill]] = {}
        for kill in faults.kills:
            self.by_event.setdefault(kill.event, []).append(kill)

    def __enter__(self) -> Saboteur:
        self.engine.story.listeners.append(self._hear)
        return self

    def __exit__(self, *exc: object) -> None:
        self.engine.story.listeners.remove(self._hear)
        for timer in self.timers:
            timer.join()

    def _hear(self, now_s: float, event: Any, commands: Any) -> None:
        """Called by the driver's loop, before the commands are performed."""
        self.engine.scheduler.check()
        for each in self.by_event.get(self.events, ()):
            timer = threading.Timer(each.delay_ms / 1000, kill, (self.engine, each.executor))
            timer.start()
            self.timers.append(timer)
        self.events += 1

    def spoil(self, ask: int, asks: int) -> None:
        """Does what was planned after an action, as long as there is one more."""
        for loss in self.faults.losses:
            if loss.ask % (asks - 1) == ask:
                lose(self.engine, loss)


def kill(engine: Any, number: int) -> None:
    pids = [each.pid for each in list(engine.cluster.by_id.values()) if each.pid is not None]
    if pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pids[number % len(pids)], signal.SIGKILL)


def lose(engine: Any, loss: Loss) -> None:
    shuffles = list(engine.scheduler.outputs._shuffles.values())
    refs = [ref for each in shuffles for ref in each.refs if ref is not None]
    if not refs:
        return
    ref = refs[loss.output % len(refs)]
    path = engine.cluster.nodes[ref.node].folders.path(ref.segment, ref.medium)
    # Others lie there too whose loss nothing can make good, such as local checkpoints.
    if loss.deleted and all_outputs(engine, ref, refs):
        delete(engine, path)
    else:
        overwrite(path, ref)


def all_outputs(engine: Any, ref: BlockRef, refs: list[BlockRef]) -> bool:
    """Whether there is nothing in the segment but map outputs."""
    segment = engine.scheduler.storage.ledger.segments.get(ref.segment)
    known = sum(each.segment == ref.segment for each in refs)
    return segment is not None and segment.live == known


def delete(engine: Any, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    # Whoever has it open would go on writing to it, where nobody can read.
    for each in list(engine.cluster.by_id.values()):
        if each.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)


def overwrite(path: str, ref: BlockRef) -> None:
    with contextlib.suppress(FileNotFoundError), open(path, "r+b") as file:
        file.seek(ref.offset)
        file.write(bytes(ref.length))

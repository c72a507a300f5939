"""Running a case: the program on the simulated cluster, with every checker looking on."""

from __future__ import annotations

import gc
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cases import Case
from judge import Judge
from lineage import Ask, build, check, evaluate
from machine_mode import machine_settings
from plain_rows import Plain
from random_worlds import world_json

from pyrite import RDD, SparkConf, SparkContext
from pyrite.cluster.sim.checkers.leaks import what_is_left
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.story import readable

# Virtual seconds within which an idle engine must have let go of everything.
IDLE_S = 600.0
# Where folders really lie is of no interest and differs from run to run; errors are cut short, so
# only a part of the path may be there.
FOLDER = re.compile(r"/[^\s']*(?:pyrite-\d+/app-|pyrite-case-)[^\s']*")


class Result(NamedTuple):
    """What came of a case; `failure` says what was wrong, or nothing."""

    failure: str
    events: int
    virtual_s: float
    faults: Counter[str]
    errors: Counter[str]


class Chapters:
    """The story as text, a line per event and command."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tell(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.lines.extend(FOLDER.sub("", line) for line in readable(now_s, event, commands))


class Trial:
    """One case while it runs."""

    def __init__(self, case: Case, story: Chapters | None = None) -> None:
        self.case = case
        self.story = story
        self.judge = Judge(case)
        self.failures: list[str] = []

    def run(self) -> Result:
        conf = (
            SparkConf(False).setMaster("sim").set("pyrite.sim.world", world_json(self.case.world))
        )
        for name, value in [*machine_settings().items(), *self.case.settings]:
            conf.set(name, value)
        folder = Path(tempfile.mkdtemp(prefix="pyrite-case-"))
        if conf.contains("pyrite.recovery.bound"):
            conf.set("spark.checkpoint.dir", str(folder / "recovery"))
        with collector_off():
            sc = SparkContext(conf=conf)
            cluster = sc._engine.cluster
            assert isinstance(cluster, SimCluster)
            try:
                sc._checkpoints.set_folder(str(folder / "checkpoints"))
                self._watch(sc)
                self._ask_all(sc, folder)
                self._look_for_leaks(sc, cluster)
            except Exception as error:
                self._fail(describe(error))
            finally:
                sc.stop()
                shutil.rmtree(folder, ignore_errors=True)
        return Result(
            self.failures[0] if self.failures else "",
            cluster.events_taken,
            cluster.now_s(),
            Counter(each.kind for each in cluster.faults.happened) + cluster.reached,
            self.judge.errors,
        )

    def _watch(self, sc: SparkContext) -> None:
        listeners = sc._engine.story.listeners
        if self.story is not None:
            # Before the checkers, so that it has the chapter that they refuse.
            listeners.insert(0, self.story.tell)
        listeners.append(self.judge.see)
        listeners.append(Canceller(sc, self.case).see)

    def _ask_all(self, sc: SparkContext, folder: Path) -> None:
        program = self.case.program
        plains = evaluate(program)
        try:
            rdds = build(program, sc, folder)
        except Exception as error:
            # Sorting runs a job of its own while the lineage is made.
            self._judge(error, None)
            return
        ask_each = partial(self._ask_each, rdds=rdds, plains=plains)
        others = [
            sc._engine.threads.start(partial(ask_each, asks), f"user {number}")
            for number, asks in enumerate(program.threads[1:], 1)
        ]
        ask_each(program.threads[0] if program.threads else ())
        for thread in others:
            thread.join()

    def _ask_each(self, asks: tuple[Ask, ...], rdds: list[RDD[Any]], plains: list[Plain]) -> None:
        for ask in asks:
            try:
                check(ask, rdds, plains, self.case.program.cancels)
            except Exception as error:
                self._judge(error, ask)

    def _judge(self, error: Exception, ask: Ask | None) -> None:
        if not self.judge.is_justified(error):
            self._fail(f"{ask}: {describe(error)}")

    def _fail(self, text: str) -> None:
        self.failures.append(text)

    def _look_for_leaks(self, sc: SparkContext, cluster: SimCluster) -> None:
        sc._checkpoints.finish()
        for name in sc.collections() if not sc._engine.broken else ():
            sc.dropNamespace(name)
        gc.collect()
        engine = sc._engine
        if engine.broken:
            return
        left = partial(what_is_left, engine.scheduler, cluster)
        if not engine.threads.wait(WaitQueue(), lambda: not left(), IDLE_S):
            self._fail(f"left behind: {left()}")


class Canceller:
    """Cancels job groups after so many events, as the program says."""

    def __init__(self, sc: SparkContext, case: Case) -> None:
        self.sc = sc
        self.by_event: dict[int, list[str]] = {}
        for cancel in case.program.cancels:
            self.by_event.setdefault(cancel.after_event, []).append(cancel.group)
        self.cancel_all = case.cancel_all
        self.events = 0

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.events += 1
        if self.events == self.cancel_all:
            self.sc.cancelAllJobs()
        for group in self.by_event.get(self.events, ()):
            self.sc.cancelJobGroup(group)


@contextmanager
def collector_off() -> Iterator[None]:
    """The collector runs where the trial says, so that objects die at the same moments.

    It need not look at what was there before.
    """
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text.partition("This is a bug in Pyrite. The story so far:")[0].strip()


def run_case(case: Case, story: Chapters | None = None) -> Result:
    return Trial(case, story).run()

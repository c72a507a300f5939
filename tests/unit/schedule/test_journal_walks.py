"""What a journal restores is the scheduler: it answers all that follows in the same way."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from test_random_walks import Walk, run_walk

from pyrite.driver.log.journal import Journal, restore
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.scheduler import Scheduler

# What is under way so seldom that it is waited for.
SELDOM = ("move", "writer that waits", "barrier")


class JournalWalk(Walk):
    """A walk whose journal is read now and then; whoever was restored has to keep up with it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.folder = str(folder)
        self.cuts = Random(f"cuts {seed}")
        self.journal: Journal | None = None
        self.twin: Scheduler | None = None
        # How often something was under way when the scheduler was restored, by what it is.
        self.met: Counter[str] = Counter()
        super().__init__(seed)

    def begin_journal(self, scheduler: Scheduler) -> Journal:
        if self.journal is not None:
            self.journal.close(keep=True)
        self.journal = Journal(self.folder, "walk", scheduler, self.cuts.choice((5, 30, 1000)))
        return self.journal

    def tell(self, event: ev.Event) -> None:
        journal = self.journal or self.begin_journal(self.scheduler)
        self.now_s += self.dice.random()
        answer = self.scheduler.handle(event, self.now_s)
        if self.twin is not None:
            assert comparable(self.twin.handle(event, self.now_s)) == comparable(answer)
        journal.record(self.now_s, event, answer)
        self.met["new beginning"] += journal.events == 0
        seldom = any(under_way(self.scheduler)[kind] for kind in SELDOM)
        if self.cuts.random() < (0.2 if seldom else 0.03):
            self.restart(journal)
        for command in answer:
            self.perform(command)

    def restart(self, journal: Journal) -> None:
        self.twin, at_s = restore(os.path.join(self.folder, "walk.journal"))
        self.twin.check()
        assert at_s == self.now_s
        self.met.update(under_way(self.twin))
        if self.cuts.random() < 0.3:
            # As a driver would that has been restored, and is restored again later.
            self.begin_journal(self.twin)
        else:
            journal.scheduler = self.twin


def under_way(scheduler: Scheduler) -> dict[str, bool]:
    return {
        "job": bool(scheduler.jobs._jobs),
        "task": bool(scheduler.attempts._attempts),
        "plan ahead": bool(scheduler.plans._runs),
        "prefetched segment": bool(scheduler.segments._by_fetch),
        "move": bool(scheduler.storage.ledger.moves),
        "writer that waits": bool(scheduler.room._waiting),
        "barrier": any(run.together for run in scheduler.stages._runs.values()),
    }


def comparable(commands: list[do.Command]) -> list[Any]:
    """Commands by kind and content; exceptions are never equal."""
    return [
        (type(each), *(str(value) if isinstance(value, Exception) else value for value in each))
        for each in commands
    ]


def test_a_restored_scheduler_answers_as_the_one_that_was_lost(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in range(60):
        walk = JournalWalk(seed, tmp_path)
        run_walk(seed, walk)
        met.update(walk.met)
        assert walk.journal is not None
        walk.journal.close()
    kinds = ["new beginning", *under_way(walk.scheduler)]
    assert all(met[kind] for kind in kinds), f"the walks are too tame: {met}"
    assert not list(tmp_path.iterdir())

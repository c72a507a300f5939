"""The user's threads that wait for their jobs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import copy

from pyrite.cluster.port import Threads
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.driver.engine.results import Result
from pyrite.ids import JobId, RddId, StageId
from pyrite.memory import MemoryReport
from pyrite.place.collectionreport import CollectionReport
from pyrite.schedule.commands import (
    CountAccumulators,
    DeliverResult,
    FinishJob,
    ForDesk,
    TellCollections,
    TellMemory,
    WriteCheckpoints,
)

Report = MemoryReport | tuple[CollectionReport, ...]


class Waiter:
    """One job's results as they arrive."""

    def __init__(self, job: JobId, stage: StageId, counted: bool, threads: Threads) -> None:
        self.job = job
        self.stage = stage
        # Whether its accumulator updates are applied.
        self.counted = counted
        self.threads = threads
        self.results: deque[tuple[int, Result]] = deque()
        self.updates: list[bytes] = []
        self.error: Exception | None = None
        self.ended = False
        # Whether its thread has given it up.
        self.left = False
        self.changed = WaitQueue()

    def wait(self) -> None:
        """Blocks until the job has ended."""
        self.threads.wait(self.changed, lambda: self.ended)

    def wait_until(self, timeout_s: float) -> bool:
        """Blocks until the job has ended or the time is over; True when it has ended."""
        return self.threads.wait(self.changed, lambda: self.ended, timeout_s)


class Question:
    """A thread's request for a report of the pools, or of the collections."""

    def __init__(self) -> None:
        self.answer: Report | Exception | None = None
        self.changed = WaitQueue()

    def give(self, answer: Report | Exception) -> None:
        self.answer = answer
        self.changed.wake_all()


class JobWaiters:
    """All jobs and answers that threads wait for."""

    def __init__(self, threads: Threads, settle: Callable[[Waiter], None]) -> None:
        self.threads = threads
        # Forgets a job that has ended and was given up.
        self.settle = settle
        self.leaving = threading.Lock()
        self.by_job: dict[JobId, Waiter] = {}
        self.questions: dict[int, Question] = {}
        self.end: Exception | None = None
        # Starts to write a kept RDD.
        self.write_checkpoint: Callable[[RddId], None] = lambda rdd: None

    def open(self, waiter: Waiter) -> None:
        self.by_job[waiter.job] = waiter
        # The engine may have ended meanwhile, in another thread.
        if self.end is not None:
            self.perform(FinishJob(waiter.job, self.end))

    def leave(self, waiter: Waiter) -> bool:
        """The thread gives up the job; returns whether it has ended already.

        The later of the two, this call or the job's end, settles it.
        """
        with self.leaving:
            waiter.left = True
            ended = waiter.ended
        if ended:
            self.settle(waiter)
        return ended

    def close(self, job: JobId) -> None:
        self.by_job.pop(job, None)

    def _end(self, waiter: Waiter, error: Exception | None) -> None:
        # Raising it adds frames to it, and the story holds the original.
        waiter.error = copy(error)
        with self.leaving:
            waiter.ended = True
            left = waiter.left
        waiter.changed.wake_all()
        if left:
            self.settle(waiter)

    def ask(self, number: int) -> Question:
        question = self.questions[number] = Question()
        if self.end is not None:
            question.give(self.end)
        return question

    def wait_for(self, question: Question) -> Report:
        """Waits for the answer."""
        self.threads.wait(question.changed, lambda: question.answer is not None)
        assert question.answer is not None
        if isinstance(question.answer, Exception):
            raise copy(question.answer)
        return question.answer

    def perform(self, command: ForDesk) -> None:
        if isinstance(command, TellMemory | TellCollections):
            question = self.questions.pop(command.question, None)
            if question is not None:
                question.give(command.report)
            return
        if isinstance(command, WriteCheckpoints):
            for rdd in command.rdds:
                self.write_checkpoint(rdd)
            return
        waiter = self.by_job.get(command.job)
        if waiter is None:
            return
        match command:
            case CountAccumulators():
                waiter.updates.append(command.updates)
            case DeliverResult():
                waiter.results.append((command.partition, command.result))
            case FinishJob():
                self._end(waiter, command.error)

    def fail_all(self, error: Exception) -> None:
        """Fails all jobs and requests: the engine can't go on."""
        self.end = error
        for job in list(self.by_job):
            self.perform(FinishJob(job, error))
        for question in list(self.questions.values()):
            question.give(error)

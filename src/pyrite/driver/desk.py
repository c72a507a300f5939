"""The desk: where the user's threads wait for their jobs."""

from __future__ import annotations

import threading
from collections import deque
from copy import copy

from pyrite.cluster.port import Threads
from pyrite.ids import BlockRef, JobId, StageId
from pyrite.memory import MemoryReport
from pyrite.schedule.commands import (
    CountAccumulators,
    DeliverResult,
    FinishJob,
    ForDesk,
    TellMemory,
)

Result = bytes | BlockRef | None


class Waiter:
    """One job's results as they come in."""

    def __init__(self, job: JobId, threads: Threads) -> None:
        self.job = job
        self.threads = threads
        self.stage = StageId(-1)
        self.results: deque[tuple[int, Result]] = deque()
        self.updates: list[bytes] = []
        self.error: Exception | None = None
        self.ended = False
        self.changed = threading.Condition()

    def wait(self) -> None:
        """Blocks until the job has ended."""
        self.threads.wait(self.changed, lambda: self.ended)

    def wait_until(self, timeout_s: float) -> bool:
        """Blocks until the job has ended or the time is over; True when it has ended."""
        return self.threads.wait(self.changed, lambda: self.ended, timeout_s)


class Question:
    """What a thread wants to know of the pools."""

    def __init__(self) -> None:
        self.answer: MemoryReport | Exception | None = None
        self.changed = threading.Condition()

    def tell(self, answer: MemoryReport | Exception) -> None:
        with self.changed:
            self.answer = answer
            self.changed.notify_all()


class Desk:
    """All jobs and answers that a thread waits for."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.waiters: dict[JobId, Waiter] = {}
        self.questions: dict[int, Question] = {}
        self.end: Exception | None = None

    def open(self, job: JobId) -> Waiter:
        waiter = self.waiters[job] = Waiter(job, self.threads)
        # Jobs may come while the engine ends, in another thread.
        if self.end is not None:
            self.perform(FinishJob(job, self.end))
        return waiter

    def close(self, job: JobId) -> None:
        self.waiters.pop(job, None)

    def ask(self, number: int) -> Question:
        question = self.questions[number] = Question()
        if self.end is not None:
            question.tell(self.end)
        return question

    def wait_for(self, question: Question) -> MemoryReport:
        """The answer, once it is there."""
        self.threads.wait(question.changed, lambda: question.answer is not None)
        assert question.answer is not None
        if isinstance(question.answer, Exception):
            raise copy(question.answer)
        return question.answer

    def perform(self, command: ForDesk) -> None:
        if isinstance(command, TellMemory):
            question = self.questions.pop(command.question, None)
            if question is not None:
                question.tell(command.report)
            return
        waiter = self.waiters.get(command.job)
        if waiter is None:
            return
        match command:
            case CountAccumulators():
                waiter.updates.append(command.updates)
            case DeliverResult():
                waiter.results.append((command.partition, command.result))
            case FinishJob():
                with waiter.changed:
                    # Whoever raises it adds its frames to it, and the story remembers this one.
                    waiter.error = copy(command.error)
                    waiter.ended = True
                    waiter.changed.notify_all()

    def fail_all(self, error: Exception) -> None:
        """The engine can't go on; nobody may wait for ever."""
        self.end = error
        for job in list(self.waiters):
            self.perform(FinishJob(job, error))
        for question in list(self.questions.values()):
            question.tell(error)

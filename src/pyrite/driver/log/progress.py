"""The run as it goes, for the status tracker and for progress bars."""

from __future__ import annotations

import threading

from pyrite.story.model import REMEMBERED, RunModel
from pyrite.story.parts import JobState, StageState
from pyrite.story.records import Record, TaskStarted


class Progress:
    """A model of the run that other threads read; its memory does not grow with the run."""

    def __init__(self) -> None:
        self.run = RunModel(remembered=REMEMBERED)
        self.lock = threading.Lock()
        self.work = threading.Event()

    def add(self, records: list[Record]) -> None:
        """Takes the records of one chapter."""
        with self.lock:
            add = self.run.add
            for record in records:
                add(record)
                if type(record) is TaskStarted and not self.work.is_set():
                    self.work.set()

    def jobs(self) -> list[JobState]:
        with self.lock:
            return list(self.run.jobs.values())

    def stage_ids(self, job: JobState) -> list[int]:
        """The stages of a job and their ancestors, skipped ones included."""
        with self.lock:
            return self.run.stage_ids(job)

    def stages(self) -> list[StageState]:
        """The stages that have run tasks."""
        with self.lock:
            return [each for each in self.run.stages.values() if each.started_s is not None]

    def said_by_machine(self) -> list[str]:
        """What the row machine said about the functions of the stages, the last ones last."""
        with self.lock:
            return [line for each in self.run.stages.values() for line in each.traced]

    def executors(self, node: str) -> tuple[int, int]:
        """How many executors a node has, and how many partitions they compute."""
        with self.lock:
            found = self.run.executors_of(node)
            running = [self.run.running[id] for each in found for id in each.running]
            return len(found), sum(each.completes for each in running)

    def wait_for_work(self) -> None:
        """Blocks until a task is launched."""
        self.work.wait()
        self.work.clear()

    def stir(self) -> None:
        """Ends `wait_for_work`."""
        self.work.set()

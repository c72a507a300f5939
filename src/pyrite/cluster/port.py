"""The interface between the scheduler and the outside world, and the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pyrite.cluster.waitqueue import WaitQueue
from pyrite.ids import BlockRef, JobId, NodeId, StageId
from pyrite.plan.program import Program
from pyrite.schedule.commands import Command, ForDesk, ForStory
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Story


class Joinable(Protocol):
    """A started thread."""

    def join(self) -> None:
        """Waits until it ends."""


class Threads(Protocol):
    """How the driver's threads start, and wait for each other."""

    def start(self, work: Callable[[], None], name: str) -> Joinable:
        """Runs the work in a new thread."""

    def wait(
        self, changed: WaitQueue, ready: Callable[[], object], timeout_s: float | None = None
    ) -> bool:
        """Waits until `ready()` is true; checks it again each time that `changed` is woken."""


class CommandTarget(Protocol):
    """Performs commands, and returns events."""

    def now_s(self) -> float:
        """The scheduler's time."""

    def perform(self, command: Command) -> None:
        """Starts the work and returns at once."""

    def wait_event(self) -> Event | None:
        """Waits for the next event; None once the cluster is closed."""


class Cluster(CommandTarget, Protocol):
    """Everything that touches processes, memory, disks, clocks and threads."""

    threads: Threads

    def post(self, event: Event) -> None:
        """Queues an event of the driver; callable from any thread."""

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        """Posts the event when the object is freed, or earlier, when the returned function is
        called."""

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        """Calls it in the loop's thread when the object is freed."""

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        """Writes a block of the driver's own into the pool; callable from any thread."""

    def read(self, ref: BlockRef) -> memoryview:
        """Returns the bytes of a block; callable from any thread."""

    def add_node(self, pool_bytes: int) -> NodeId:
        """Adds a storage-only node; callable from any thread."""

    def executor_count(self) -> int:
        """How many executors there should be now."""

    def scratch_folder(self) -> str:
        """A folder of the driver's own, removed when the cluster is released."""

    def files_folder(self) -> str:
        """The driver's folder of `addFile`; each node has one."""

    def share_files(self, names: Sequence[str]) -> None:
        """Brings files below that folder to all nodes, before the tasks of later jobs; callable
        from any thread."""

    def close(self) -> None:
        """Ends the loop: `wait_event` returns None; callable from any thread."""

    def refuse(self) -> None:
        """Fails all requests that wait for an answer, after the loop has ended."""

    def release(self) -> None:
        """Ends all processes and removes all files, after the loop has ended."""


class ResultTarget(Protocol):
    """Delivers results to the driver's threads, which wait for their jobs."""

    def perform(self, command: ForDesk) -> None:
        """Delivers a result, accumulators, the end of a job or an answer to the waiting thread."""


class StageSource(Protocol):
    """Supplies what executors need before they can run a stage's tasks."""

    def program(self, stage: StageId) -> Program:
        """What the stage's tasks compute."""

    def header(self, stage: StageId, job: JobId) -> bytes:
        """The pickled Header of the stage in this job."""


def drive(
    scheduler: Scheduler, cluster: CommandTarget, waiters: ResultTarget, story: Story
) -> None:
    """Passes each event to the scheduler and performs its commands, until the cluster closes."""
    while (event := cluster.wait_event()) is not None:
        now_s = cluster.now_s()
        commands = scheduler.handle(event, now_s)
        story.add(now_s, event, commands)
        for command in commands:
            if isinstance(command, ForDesk):
                waiters.perform(command)
            elif not isinstance(command, ForStory):
                cluster.perform(command)

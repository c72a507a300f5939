"""The port between decisions and the world, and the only loop."""

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
    """A thread that was started."""

    def join(self) -> None:
        """Waits for its end."""


class Threads(Protocol):
    """How threads of the driver start, and wait for each other."""

    def start(self, work: Callable[[], None], name: str) -> Joinable:
        """Runs the work in a thread of its own."""

    def wait(
        self, changed: WaitQueue, ready: Callable[[], object], timeout_s: float | None = None
    ) -> bool:
        """Waits until it is ready, which whoever wakes `changed` may have made it."""


class CommandTarget(Protocol):
    """Where commands are performed, and events come from."""

    def now_s(self) -> float:
        """The time that the scheduler is told."""

    def perform(self, command: Command) -> None:
        """Starts the work and returns at once."""

    def wait_event(self) -> Event | None:
        """The next thing that happened; None once the cluster is closed."""


class Cluster(CommandTarget, Protocol):
    """Everything that touches processes, memory, disks, clocks and threads."""

    threads: Threads

    def post(self, event: Event) -> None:
        """Tells of something that happened in the driver; callable from any thread."""

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        """Posts an event when an object goes, or when what is given is called."""

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        """Calls it in the loop's thread when an object goes."""

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        """Writes a block of the driver's own into the pool; callable from any thread."""

    def read(self, ref: BlockRef) -> memoryview:
        """The bytes of a block, for the driver; callable from any thread."""

    def add_node(self, pool_bytes: int) -> NodeId:
        """Takes in a storage-only node; callable from any thread."""

    def scratch_folder(self) -> str:
        """A folder of the driver that is removed with all other traces of it."""

    def files_folder(self) -> str:
        """The folder that added files are laid into for all tasks."""

    def close(self) -> None:
        """Ends the loop: `wait_event` gives None; callable from any thread."""

    def refuse(self) -> None:
        """The loop has ended: nobody is to wait for an answer any more."""

    def release(self) -> None:
        """Ends every process and removes every trace, after the loop has ended."""


class ResultTarget(Protocol):
    """Where the driver's threads wait for their jobs."""

    def perform(self, command: ForDesk) -> None:
        """Hands a result, a count, an end or an answer to the thread that waits for it."""


class StageSource(Protocol):
    """Gives what executors need before they can run a stage's tasks."""

    def program(self, stage: StageId) -> Program:
        """What the stage's tasks compute."""

    def header(self, stage: StageId, job: JobId) -> bytes:
        """The pickled Header of the stage in this job."""


def drive(scheduler: Scheduler, cluster: CommandTarget, desk: ResultTarget, story: Story) -> None:
    """Events in, commands out, until the cluster is closed."""
    while (event := cluster.wait_event()) is not None:
        now_s = cluster.now_s()
        commands = scheduler.handle(event, now_s)
        story.add(now_s, event, commands)
        for command in commands:
            if isinstance(command, ForDesk):
                desk.perform(command)
            elif not isinstance(command, ForStory):
                cluster.perform(command)

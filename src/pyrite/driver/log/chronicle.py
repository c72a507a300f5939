"""Keeps the story of a context: tells it, writes it down, and folds it for progress."""

from __future__ import annotations

import errno
import logging
import os
import platform
import re
import shutil
import socket
import sys
import time

from pyrite.cluster.port import Cluster
from pyrite.cluster.scratch import make_private
from pyrite.cluster.space import DRIVER_NODE
from pyrite.driver.engine.knownstages import KnownStages
from pyrite.driver.log.progress import Progress
from pyrite.driver.start.page import PageProcess, open_page, page_wanted
from pyrite.ids import BlockRef, JobId, StageId
from pyrite.plan.program import Program
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Story
from pyrite.settings import BadSetting, Settings
from pyrite.story.code import CodeTeller, Surroundings
from pyrite.story.format import StoryHeader
from pyrite.story.paths import new_writer
from pyrite.story.records import ApplicationEnded, Record
from pyrite.story.tell import Teller
from pyrite.story.write import StoryWriter
from pyrite.version import __version__

BLANKED = "*********(redacted)"
# Errors of a disk that is full or fails, rather than of a setting.
BAD_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Chronicle:
    """A listener of the scheduler's story, from before the first node joins to the end."""

    def __init__(
        self,
        settings: Settings,
        progress: Progress,
        simulated: bool,
        one_node: bool,
    ) -> None:
        self.settings = settings
        self.progress = progress
        self.simulated = simulated
        # Whether all blocks lie with the driver.
        self.one_node = one_node
        # A page needs a story, if only while it is shown: in a private folder of its own.
        self.for_page = page_wanted(settings)
        self.page: PageProcess | None = None
        self.folder: str | None = None
        self._folder_lock = -1
        self.writer: StoryWriter | None = None
        self.teller = Teller(lambda _: None, full=False)
        self.stages: KnownStages | None = None
        # Set once it has started; code is told only then.
        self.cluster: Cluster | None = None
        # The file that tasks can be run again from, where it holds their functions.
        self.replay_file: str | None = None

    @property
    def path(self) -> str | None:
        return None if self.writer is None else self.writer.path

    def open(self, story: Story, scheduler: Scheduler, stages: KnownStages) -> None:
        """Begins to listen, before there is a cluster."""
        self.stages = stages
        if self.wants_file():
            self.writer = self._open_writer()
        if self.writer is not None:
            values = self.settings.bool("pyrite.story.values")
            # Looked up each time: a restarted driver has another storage.
            self.teller = Teller(self._program, lambda: scheduler.storage.report(), values=values)
            if self.settings.bool("pyrite.story.code"):
                self._tell_code(stages, self.writer)
        story.listeners.append(self.record)

    def wants_file(self) -> bool:
        enabled = self.settings.bool("spark.eventLog.enabled")
        return enabled or self.for_page or bool(self.settings.str("pyrite.story.file"))

    def record(self, now_s: float, event: Event, commands: list[Command]) -> None:
        told = self.teller.tell(now_s, event, commands)
        if told:
            self.add(told)

    def add(self, told: list[Record]) -> None:
        self.progress.add(told)
        if self.writer is not None:
            self.writer.add(told)

    def close(self, now_s: float | None = None) -> None:
        """Ends the story, after the engine's loop has ended; without a time, where there never was
        a cluster."""
        if self.writer is None:
            self._end_page()
            return
        if now_s is not None:
            told: list[Record] = []
            self.teller.sample(now_s, told)
            self.add([*told, ApplicationEnded(now_s)])
        self.writer.close()
        self._end_page()

    def show_page(self) -> None:
        """Starts the page of this story, where one is wanted."""
        if self.for_page:
            self.page = open_page(self.settings, self.path, self.folder)

    def _end_page(self) -> None:
        """Ends the page, and removes the story that was only written for it."""
        if self.page is not None:
            self.page.stop()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._folder_lock)
            self.folder = None

    def _program(self, stage: StageId) -> Program | None:
        assert self.stages is not None
        try:
            return self.stages.program(stage)
        except KeyError:
            return None

    def _tell_code(self, stages: KnownStages, writer: StoryWriter) -> None:
        limit_bytes = self.settings.bytes("pyrite.story.codeLimit")
        # The folder may be gone when a job begins.
        here = os.getcwd()

        def surroundings(job: JobId) -> Surroundings:
            flags = stages.flags[job]
            # Modules are imported from there, as executors do it.
            paths = (*flags.python_paths, *(path or here for path in sys.path))
            return Surroundings(flags.properties, tuple(dict.fromkeys(paths)))

        def read(ref: BlockRef) -> bytes | None:
            if not self.one_node and ref.node != DRIVER_NODE:
                # The loop must not wait for another node.
                return None
            assert self.cluster is not None
            try:
                return bytes(self.cluster.read(ref))
            except OSError:
                return None

        def files_folder() -> str:
            assert self.cluster is not None
            return self.cluster.files_folder()

        code = CodeTeller(writer, limit_bytes, surroundings, read, files_folder)
        self.teller.tell_code = code.stage
        self.replay_file = writer.path

    def _open_writer(self) -> StoryWriter | None:
        """The new story; None where the disk is full or fails: a wrong setting is refused, but a
        disk must not end a job."""
        file = self.settings.str("pyrite.story.file")
        folder = self.settings.str("spark.eventLog.dir").removeprefix("file://")
        application = self.settings.str("spark.app.id")
        if not file and not self.settings.bool("spark.eventLog.enabled"):
            local_dir = self.settings.str("spark.local.dir").split(",")[0]
            self.folder, self._folder_lock = make_private(local_dir)
            folder = self.folder
        path = file or os.path.join(folder, f"{application}.story")
        try:
            return new_writer(path, self._header(), bool(file), not self.simulated)
        except OSError as error:
            if error.errno in BAD_DISK:
                logging.getLogger("pyrite").warning(
                    "the story %s can't be written (%s): the application runs without it",
                    path,
                    error.strerror,
                )
                return None
            name = "pyrite.story.file" if file else "spark.eventLog.dir"
            problem = f"no story can be written there: {error.strerror}"
            raise BadSetting(name, file or folder, problem) from error

    def _header(self) -> StoryHeader:
        """A simulated run's header has no clock, host or process: its bytes are the seed's."""
        settings = self.settings
        simulated = self.simulated
        given = settings.given()
        if simulated:
            given = {name: text for name, text in given.items() if name not in VARYING}
        return StoryHeader(
            application="sim" if simulated else settings.str("spark.app.id"),
            name=settings.str("spark.app.name"),
            pyrite=__version__,
            python=platform.python_version(),
            host="sim" if simulated else socket.gethostname(),
            pid=0 if simulated else os.getpid(),
            wall_s=0.0 if simulated else time.time(),
            clock_s=0.0 if simulated else time.monotonic(),
            master=settings.str("spark.master"),
            settings=blanked(given, settings.str("spark.redaction.regex")),
            script=sys.argv[0] if sys.argv else "",
            user="" if simulated else user_name(),
            values=settings.bool("pyrite.story.values"),
            code=settings.bool("pyrite.story.code"),
        )


# Settings that differ from run to run of one seed.
VARYING = frozenset({"spark.app.id", "pyrite.story.file", "spark.eventLog.dir"})


def blanked(settings: dict[str, str], pattern: str) -> dict[str, str]:
    """The settings without secrets, as Spark's pages show them."""
    try:
        secret = re.compile(pattern)
    except re.error as error:
        problem = f"expected a regular expression: {error}"
        raise BadSetting("spark.redaction.regex", pattern, problem) from None
    return {
        name: BLANKED if secret.search(name) or secret.search(text) else text
        for name, text in sorted(settings.items())
    }


def user_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

"""The journal: what the scheduler knows, on disk, so that another driver can go on from it.

The scheduler is pure: its state at some moment and the events since are its whole state
(SCache, 6.1, has the master log shuffles and places for the same purpose).
"""

from __future__ import annotations

import os
import pickle
import re
import stat
import sys
from contextlib import suppress
from typing import TypeVar

from pyrite.driver.records import BadJournal, StageTeller, framed, read_records
from pyrite.schedule.commands import Command, CountAccumulators, DeliverResult
from pyrite.schedule.events import Event, JobSubmitted, Made, TaskFailed, TaskSucceeded
from pyrite.schedule.scheduler import Scheduler
from pyrite.version import __version__

# Where a journal is longer it begins anew, so that it is soon read.
MOST_EVENTS = 20_000
MOST_BYTES = 8 << 20

Told = TypeVar("Told", TaskSucceeded, Made)

_PYTHON = ".".join(map(str, sys.version_info[:3]))
HEADLINE = f"journal of Pyrite {__version__} on Python {_PYTHON}\n".encode()
_ANY_HEADLINE = re.compile(rb"journal of Pyrite (\S+) on Python (\S+)\n")


class Journal:
    """Listens to a story: what was decided is written down before it is done.

    It outlives the process, not the machine: nothing is forced to the disk. Nobody else may read
    it. Rows are in it only as long as the scheduler itself holds them, for a barrier.
    """

    def __init__(
        self,
        folder: str,
        application: str,
        scheduler: Scheduler,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.scheduler = scheduler
        self.most_events = most_events
        self.most_bytes = most_bytes
        self.path = journal_path(folder, application)
        self.file = -1
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._begin(scheduler.now_s)

    def tell(self, now_s: float, event: Event, commands: list[Command]) -> None:
        if self.file < 0:
            return
        try:
            if self._is_long():
                self._begin(now_s)
            else:
                self._append(now_s, event, commands)
        except OSError as error:
            self._give_up(error)

    def close(self, keep: bool = False) -> None:
        """Ends it; one that is left behind says that its driver died."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
            if not keep:
                os.unlink(self.path)

    def _is_long(self) -> bool:
        # What it begins with is written seldom enough to cost no more than the events do.
        return self.grown_bytes >= self.begun_bytes and (
            self.events >= self.most_events or self.grown_bytes >= self.most_bytes
        )

    def _begin(self, now_s: float) -> None:
        """Starts with the whole state; the old file is there until the new one is complete."""
        self.teller = StageTeller()
        state = {**vars(self.scheduler), "commands": []}
        data = HEADLINE + self.teller.frames((now_s, state))
        new_path = f"{self.path}.new"
        with suppress(FileNotFoundError):
            os.unlink(new_path)
        file = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(file, data)
            os.replace(new_path, self.path)
        except BaseException:
            os.close(file)
            os.unlink(new_path)
            raise
        if self.file >= 0:
            os.close(self.file)
        self.file = file
        self.begun_bytes = len(data)
        self.grown_bytes = self.events = 0

    def _append(self, now_s: float, event: Event, commands: list[Command]) -> None:
        if isinstance(event, JobSubmitted):
            data = self.teller.frames((now_s, event))
        else:
            record = now_s, without_rows(event, commands)
            data = framed(pickle.dumps(record, pickle.HIGHEST_PROTOCOL))
        write_all(self.file, data)
        self.grown_bytes += len(data)
        self.events += 1

    def _give_up(self, error: OSError) -> None:
        """A journal that stops in the middle would be taken for the state of a dead driver."""
        import logging

        self.close()
        logging.getLogger("pyrite").warning(
            "%s can't be written (%s): it is removed, and the application goes on without it",
            self.path,
            error,
        )


def restore(folder: str, application: str) -> tuple[Scheduler, float]:
    """The scheduler as it was after the last whole record, and the time that it was told then."""
    return read_journal(journal_path(folder, application))


def read_journal(path: str) -> tuple[Scheduler, float]:
    """The same, by the file's path."""
    data = memoryview(read_own(path))
    check_headline(data, path)
    scheduler = None
    now_s = 0.0
    for now_s, told in read_records(data, len(HEADLINE), path):
        if scheduler is None:
            scheduler = Scheduler.__new__(Scheduler)
            vars(scheduler).update(told)
        else:
            scheduler.handle(told, now_s)
    if scheduler is None:
        raise BadJournal(f"{path} ends before it tells anything: start the application anew")
    return scheduler, now_s


def journal_path(folder: str, application: str) -> str:
    return os.path.join(folder, f"{application}.journal")


def without_rows(event: Event, commands: list[Command]) -> Event:
    """The event without what the scheduler has passed on, and does not look at again."""
    if isinstance(event, TaskFailed):
        return event._replace(failure=event.failure._replace(error=None))
    if not isinstance(event, TaskSucceeded):
        return event
    passed: set[int] = set()
    for command in commands:
        if isinstance(command, DeliverResult):
            passed.add(id(command.result))
        elif isinstance(command, CountAccumulators):
            passed.add(id(command.updates))
    if not passed:
        return event
    more = tuple(_without(each, passed) for each in event.more)
    return _without(event, passed)._replace(more=more)


def _without(told: Told, passed: set[int]) -> Told:
    """The same without those bytes that have been passed on, by their identities."""
    result, updates = told.result, told.accumulators
    return told._replace(
        result=None if isinstance(result, bytes) and id(result) in passed else result,
        accumulators=None if id(updates) in passed else updates,
    )


def write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def read_own(path: str) -> bytes:
    """The bytes of a file that nobody else can have written: unpickling runs what it says."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
            raise BadJournal(
                f"{path} could have been written by another user, whose code would be run here: "
                "restore a journal as the user who ran its driver, with mode 0600"
            )
        return file.read()


def check_headline(data: memoryview, path: str) -> None:
    found = _ANY_HEADLINE.match(data)
    if found is None:
        raise BadJournal(f"{path} is not a journal of Pyrite")
    if found.group() != HEADLINE:
        pyrite, python = (each.decode() for each in found.groups())
        raise BadJournal(
            f"{path} was written by Pyrite {pyrite} on Python {python}, and this is Pyrite "
            f"{__version__} on Python {_PYTHON}: restore it with the versions that wrote it"
        )

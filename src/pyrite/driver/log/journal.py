"""The journal: the scheduler's state on disk, so that another driver can go on from it.

The scheduler is pure: a snapshot of its state and the events since restore it (the master of
SCache, 6.1, logs shuffles and places for the same purpose).
"""

from __future__ import annotations

import os
import pickle
import re
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, get_args

from pyrite.driver.log.records import PROTOCOL, BadJournal, StageRecorder, framed, read_records
from pyrite.schedule.commands import Command, CountAccumulators, DeliverResult
from pyrite.schedule.events import (
    Event,
    JobSubmitted,
    KeptNews,
    TaskOutput,
    TaskRaised,
    TaskSucceeded,
)
from pyrite.schedule.scheduler import Scheduler
from pyrite.version import __version__

# A longer journal is replaced by a new snapshot, so that it can be read quickly.
MOST_EVENTS = 20_000
MOST_BYTES = 8 << 20

KINDS = get_args(Event)
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
NO_NEWS = KeptNews()

# Grows with every change of the scheduler's state.
FORMAT = 2

_PYTHON = ".".join(map(str, sys.version_info[:3]))
_WRITER = f"{__version__} (journal {FORMAT})"
HEADLINE = f"journal of Pyrite {_WRITER} on Python {_PYTHON}\n".encode()
_ANY_HEADLINE = re.compile(rb"journal of Pyrite (.+) on Python (\S+)\n")


class Journal:
    """A listener of the story: writes each decision before it is carried out.

    It outlives the process, not the machine: nothing is synced to the disk. Only the user may read
    it. It has rows only while the scheduler itself holds them, for a barrier.
    """

    def __init__(
        self,
        folder: str,
        name: str,
        scheduler: Scheduler,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.scheduler = scheduler
        self.most_events = most_events
        self.most_bytes = most_bytes
        self.path = os.path.join(folder, f"{name}.journal")
        self.file = -1
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._begin(scheduler.turn.now_s)

    def record(self, now_s: float, event: Event, commands: list[Command]) -> None:
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
        """Closes and removes the journal; one that is left shows that its driver died."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
            if not keep:
                with suppress(FileNotFoundError):
                    os.unlink(self.path)

    def _is_long(self) -> bool:
        # A snapshot is written seldom enough to cost no more than the events.
        return self.grown_bytes >= self.begun_bytes and (
            self.events >= self.most_events or self.grown_bytes >= self.most_bytes
        )

    def _begin(self, now_s: float) -> None:
        """Starts a file with a snapshot; the old one stays until the new one is complete."""
        self.recorder = StageRecorder()
        data = HEADLINE + self.recorder.frames((now_s, self.scheduler))
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
        record = now_s, plain(event, commands)
        if isinstance(event, JobSubmitted):
            data = self.recorder.frames(record)
        else:
            data = framed(pickle.dumps(record, PROTOCOL))
        write_all(self.file, data)
        self.grown_bytes += len(data)
        self.events += 1

    def _give_up(self, error: OSError) -> None:
        """Removes the journal: an incomplete one would be taken for that of a dead driver."""
        import logging

        self.close()
        logging.getLogger("pyrite").warning(
            "%s can't be written (%s): it is removed, and the application goes on without it",
            self.path,
            error,
        )


def restore(path: str) -> tuple[Scheduler, float]:
    """Returns the scheduler after the last complete record, and the time of that record."""
    data = memoryview(read_own(path))
    check_headline(data, path)
    scheduler = None
    now_s = 0.0
    for now_s, record in read_records(data, len(HEADLINE), path):
        if scheduler is None:
            scheduler = record
        else:
            scheduler.handle(whole(*record), now_s)
    if scheduler is None:
        raise BadJournal(f"{path} ends before it tells anything: start the application anew")
    return scheduler, now_s


def plain(event: Event, commands: list[Command]) -> tuple[int, Sequence[Any]]:
    """An event as the number of its kind and its fields, which pickle faster than names.

    Leaves out what the scheduler has delivered and does not need again.
    """
    fields: Sequence[Any] = event
    if isinstance(event, TaskSucceeded):
        passed = passed_on(commands)
        made = tuple(without(each, passed) for each in event.made)
        fields = event.attempt, made, None if event.kept == NO_NEWS else event.kept
    elif isinstance(event, TaskRaised):
        fields = event._replace(failure=event.failure._replace(error=None))
    return NUMBERS[type(event)], tuple(fields)


def whole(number: int, fields: Sequence[Any]) -> Event:
    """Restores an event from what `plain` returned."""
    event: Event = KINDS[number](*fields)
    if isinstance(event, TaskSucceeded) and event.kept is None:
        return event._replace(kept=NO_NEWS)
    return event


def passed_on(commands: list[Command]) -> set[int]:
    """The identities of the objects that are delivered to the user's threads."""
    passed = set()
    for command in commands:
        if isinstance(command, DeliverResult):
            if isinstance(command.result, bytes):
                passed.add(id(command.result))
        elif isinstance(command, CountAccumulators):
            passed.add(id(command.updates))
    return passed


def without(made: TaskOutput, passed: set[int]) -> TaskOutput:
    """A partition's output without the bytes that were delivered."""
    if id(made.result) in passed:
        made = made._replace(result=None)
    return made._replace(accumulators=None) if id(made.accumulators) in passed else made


def write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def read_own(path: str) -> bytes:
    """Reads a file that no other user can have written: unpickling runs its code."""
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
            f"{_WRITER} on Python {_PYTHON}: restore it with the versions that wrote it"
        )

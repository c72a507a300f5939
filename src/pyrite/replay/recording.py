"""A story whose tasks can be run again: what it has of stages, functions, values and files."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Collection, Sequence
from itertools import count, islice
from typing import NamedTuple

from pyrite.errors import UserError
from pyrite.story.format import StoryHeader
from pyrite.story.model import RunModel
from pyrite.story.parts import StageState, TaskAttempt
from pyrite.story.read import StoryReader
from pyrite.story.records import (
    RAISED,
    SUCCEEDED,
    BroadcastTold,
    Fields,
    FileTold,
    InputsTold,
    Record,
    StageCode,
)

MOST = 12
HOW = "run the program again with --conf pyrite.story.code=true"


class CantReplay(UserError):
    """A story that can't be run again here, and what to do about it."""


class Operator(NamedTuple):
    """One operator of a stage's program: where it stands, and which call made it."""

    stage: int
    place: int
    number: int
    told: Fields
    # Its number among all operators of the stage.
    position: int = 0

    @property
    def label(self) -> str:
        """How it is asked for: by the id of its RDD or, where that has none, as STAGE.OPERATOR."""
        return f"{self.stage}.{self.position}" if self.rdd is None else str(self.rdd)

    @property
    def names(self) -> tuple[str, ...]:
        """All that it can be asked for by: also its name, and the line that made it."""
        place = os.path.basename(self.site.partition(",")[0])
        return self.label, f"{self.stage}.{self.position}", str(self.told.get("name")), place

    @property
    def rdd(self) -> int | None:
        return self.told.get("rdd")

    @property
    def title(self) -> str:
        """The method that the user called and, where it differs, what it became."""
        method, operator = self.told.get("method"), self.told["operator"]
        named = method if method in (None, operator) else f"{method} ({operator})"
        name = self.told.get("name")
        return f"{named or operator}{f' {name!r}' if name else ''}"

    @property
    def site(self) -> str:
        return str(self.told.get("site", ""))


class Recording:
    """All that a story has for a replay, by id."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reader = StoryReader(path)
        self.run = RunModel(self.reader.header)
        self._attempts: dict[int, dict[int, list[TaskAttempt]]] = {}
        self.code: dict[int, StageCode] = {}
        self.broadcasts: dict[int, BroadcastTold] = {}
        self.files: dict[str, FileTold] = {}
        # The files that stages read, by stage.
        self.inputs: dict[int, Sequence[Fields]] = {}
        try:
            check_owner(path, self.reader.file.fileno())
            check_python(path, self.reader.header)
            for record in self.reader.records():
                self.run.add(record)
                self._take(record)
            if not self.code:
                raise CantReplay(f"{path!r} has no code of stages in it: {HOW}")
        except BaseException:
            self.close()
            raise
        # The stage that writes each shuffle.
        self.writers = {
            stage.writes: stage for stage in self.run.stages.values() if stage.writes is not None
        }

    def close(self) -> None:
        self.reader.close()

    def _take(self, record: Record) -> None:
        match record:
            case StageCode():
                self.code[record.stage] = record
            case BroadcastTold():
                self.broadcasts[record.broadcast] = record
            case FileTold():
                self.files[record.name] = record
            case InputsTold():
                self.inputs[record.stage] = record.files

    def stage(self, number: int) -> StageState:
        """A stage with its code."""
        stages = self.run.stages
        if number not in stages:
            raise CantReplay(f"the story has no stage {number}: it has {several(stages)}")
        if number not in self.code:
            raise CantReplay(f"the story has no code of stage {number}: {HOW}")
        return stages[number]

    def check_partition(self, stage: StageState, partition: int) -> None:
        if not 0 <= partition < stage.partitions:
            raise CantReplay(
                f"stage {stage.id} has no partition {partition}: it has 0 to {stage.partitions - 1}"
            )

    def operators(self, stage: StageState) -> list[list[Operator]]:
        """The operators of a stage by place in its program, in the order in which they run."""
        position = count()
        return [
            [
                Operator(stage.id, place, number, told, next(position))
                for number, told in enumerate(rdd["operators"])
            ]
            for place, rdd in enumerate(stage.rdds)
        ]

    def find_rdd(self, label: str | int) -> Operator:
        """The operator that makes the rows of an RDD, in the first stage that computes it.

        An RDD that is only a step of others may have no id: it is named as STAGE.OPERATOR. It is
        found by the name that the user gave it too, and by its line, such as job.py:31.
        """
        found = [each for each in self.all_operators() if str(label) in each.names]
        if not found:
            known = dict.fromkeys(each.label for each in self.all_operators())
            raise CantReplay(f"the story has no RDD {label}: it has {several(list(known))}")
        # The last of those that a line made has its rows; one with an id is the same in all stages.
        return found[0] if str(label) == found[0].label else found[-1]

    def all_operators(self) -> list[Operator]:
        return [
            each
            for number in self.code
            for ops in self.operators(self.run.stages[number])
            for each in ops
        ]

    def before(self, stage: int) -> set[int]:
        """A stage and those whose outputs it reads, directly or not."""
        found: set[int] = set()
        pending = [stage]
        while pending:
            each = pending.pop()
            if each not in found and each in self.run.stages:
                found.add(each)
                pending.extend(self.run.stages[each].parents)
        return found

    def attempts(self, stage: int, partition: int) -> list[TaskAttempt]:
        """All attempts at a partition, the first one first."""
        if stage not in self._attempts:
            tried = self._attempts[stage] = {}
            for each in self.run.stages[stage].attempts:
                for index in each.partitions:
                    tried.setdefault(index, []).append(each)
        return self._attempts[stage].get(partition, [])

    def failed_attempt(self, stage: int, partition: int) -> TaskAttempt | None:
        """The last attempt that raised; of a partition that never failed, its last one."""
        tried = self.attempts(stage, partition)
        raised = [each for each in tried if each.outcome == RAISED]
        return next(reversed(raised or tried), None)

    def good_attempt(self, stage: int, partition: int) -> TaskAttempt | None:
        """The attempt that made the partition; where none is known, the last one."""
        tried = self.attempts(stage, partition)
        done = [each for each in tried if each.outcome == SUCCEEDED]
        return next(reversed(done or tried), None)


def check_owner(path: str, fd: int) -> None:
    """Refuses a story that somebody else could have written: its code would run as this user.

    The open file is asked: the path may name another one by now.
    """
    facts = os.fstat(fd)
    if facts.st_uid != os.getuid():
        raise CantReplay(
            f"{path!r} belongs to another user, and replay runs the code in it: "
            "replay only stories of your own"
        )
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CantReplay(
            f"other users may write to {path!r}, and replay runs the code in it: if it is as you "
            f"left it, chmod go-w {path}"
        )


def check_python(path: str, header: StoryHeader) -> None:
    """Refuses functions that were pickled by another Python: their bytecode is another."""
    ours, theirs = platform.python_version_tuple()[:2], tuple(header.python.split(".")[:2])
    if ours != theirs:
        raise CantReplay(
            f"{path!r} holds functions of Python {'.'.join(theirs)}, and this is Python "
            f"{'.'.join(ours)}: run pyrite replay with Python {'.'.join(theirs)}"
        )


def several(known: Collection[object]) -> str:
    """Some ids, as text."""
    more = ", ..." if len(known) > MOST else ""
    return ", ".join(map(str, islice(known, MOST))) + more if known else "none"

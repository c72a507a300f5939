"""A run that is followed: its story is read on as it grows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from pyrite.story.clock import clock_s
from pyrite.story.format import DamagedStory
from pyrite.story.model import RunModel
from pyrite.story.paths import is_written
from pyrite.story.read import StoryReader
from pyrite.story.records import Record
from pyrite.story.traffic import Traffic

T = TypeVar("T")
MOST_COMPUTED = 100


class FollowedRun:
    """A story, the model folded from it so far, and whether somebody still writes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reader = StoryReader(path)
        self.model = RunModel(self.reader.header)
        self.traffic = Traffic()
        # Where the story is damaged; nothing behind that is read.
        self.problem: str | None = None
        self.live = True
        # Grows with what is known: whoever has seen a version has seen all of it.
        self.version = 0
        # What takes long to compute, by question, and the version that it was computed of.
        self._computed: dict[Hashable, tuple[int, Any]] = {}
        self.refresh()

    def computed(self, question: Hashable, compute: Callable[[], T]) -> T:
        """The answer to a question, computed once for each version."""
        found = self._computed.get(question)
        if found is None or found[0] != self.version:
            if len(self._computed) >= MOST_COMPUTED:
                self._computed.clear()
            found = self._computed[question] = self.version, compute()
        answer: T = found[1]
        return answer

    def refresh(self) -> None:
        """Reads what has been written since."""
        if not self.live:
            return
        # Asked first: what was written before the end is read after it.
        live = is_written(self.path)
        try:
            self.model.add_all(self._counted())
        except DamagedStory as error:
            self.problem, live = str(error), False
        self.live = live and self.model.ended_s is None
        if not self.live:
            # Its end is news too, where no record tells of it.
            self.version += 1
        elif self.model.running:
            self._go_on()

    def _go_on(self) -> None:
        """Lets the time of running tasks pass, though no record tells of it: news once a second."""
        now_s = clock_s(self.model)
        if int(now_s) > int(self.model.last_s):
            self.version += 1
        self.model.last_s = now_s

    def _counted(self) -> Iterator[Record]:
        for record in self.traffic.watch(self.reader.records()):
            self.version += 1
            yield record

    @property
    def state(self) -> str:
        """`running`, `ended`, or `cut off`: its driver was killed, or the file is not whole."""
        if self.live:
            return "running"
        return "ended" if self.model.ended_s is not None and not self.problem else "cut off"

    def close(self) -> None:
        self.reader.close()

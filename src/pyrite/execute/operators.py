"""One task's operators of a stage."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from pyrite.execute.meter import Moment
from pyrite.metrics import COUNTS
from pyrite.plan.program import ProgramLayout, Slices
from pyrite.rdd.op import Op, Sliced


class Operators:
    """Unpickles pipelines for one task on first use: it needs none below kept rows, and only one
    parent of a union."""

    def __init__(
        self,
        layout: ProgramLayout,
        links: Sequence[bytes],
        slices: bytes | None,
        moment: Callable[[], Moment],
    ) -> None:
        self.layout = layout
        self.links = links
        self.moment = moment
        began = moment()
        self.slices: Slices = {} if slices is None else pickle.loads(slices)
        self._count_since(began)
        self.loaded: dict[int, tuple[Sequence[Op], Any]] = {}

    def of(self, place: int) -> Sequence[Op]:
        """The operators of a node."""
        link, first, end = self.layout.runs[place]
        return self._load(link)[0][first:end]

    def work(self) -> Any:
        """The action or map work for the rows of the stage's last node."""
        return self._load(len(self.links) - 1)[1]

    def _load(self, link: int) -> tuple[Sequence[Op], Any]:
        loaded = self.loaded.get(link)
        if loaded is None:
            began = self.moment()
            loaded = self.loaded[link] = pickle.loads(self.links[link])
            for number, slices in self.slices.get(link, {}).items():
                op = loaded[0][number]
                assert isinstance(op, Sliced)
                op.slices = slices
            self._count_since(began)
        return loaded

    def _count_since(self, began: Moment) -> None:
        ended = self.moment()
        COUNTS.deserialize_s += ended.wall_s - began.wall_s
        COUNTS.deserialize_cpu_s += ended.cpu_s - began.cpu_s

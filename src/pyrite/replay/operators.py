"""The operators of a stage, as a story has them, unpickled for one task."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyrite.execute.meter import ProcessClock
from pyrite.execute.operators import Operators
from pyrite.plan.program import OperatorRun, ProgramLayout
from pyrite.rdd.op import Op
from pyrite.replay.recording import CantReplay, Operator, Recording
from pyrite.replay.surroundings import LIMIT
from pyrite.replay.watched import RecordWatch, watched_op


class StageProgram:
    """The code of one stage, read from the story once."""

    def __init__(self, recording: Recording, stage: int) -> None:
        state = recording.stage(stage)
        code = recording.code[stage]
        blob = recording.reader.blob
        self.stage = stage
        self.code = code
        self.layout: ProgramLayout = pickle.loads(blob(code.layout))
        self.links = [blob(number) for number in code.links]
        self.slices: list[tuple[int, int, dict[int, bytes]]] = [
            (each["link"], each["number"], pickle.loads(blob(each["blob"]))) for each in code.slices
        ]
        self.operators = recording.operators(state)

    def load(self) -> Operators:
        """The stage's operators, unpickled anew: tasks do not share changes in them."""
        operators = Operators(self.layout, self.links, None, ProcessClock().moment)
        for link, number, pickled in self.slices:
            operators.slices.setdefault(link, {})[number] = LazySlices(pickled)
        return operators


class LazySlices(dict[int, Any]):
    """An operator's slices by partition, each unpickled when it is read."""

    def __init__(self, pickled: Mapping[int, bytes]) -> None:
        super().__init__()
        self.pickled = pickled

    def __missing__(self, index: int) -> Any:
        return pickle.loads(self.pickled[index])

    def __len__(self) -> int:
        return len(self.pickled)


class WatchedOperators:
    """The operators of one task, each watched; up to a chosen one, if the rest is not wanted."""

    def __init__(self, program: StageProgram, partition: int, last: Operator | None = None) -> None:
        self.program = program
        self.partition = partition
        self.layout = program.layout if last is None else cut_behind(program.layout, last)
        self.operators = program.load()
        self.operators.layout = self.layout
        self.wrapped: dict[int, list[Any]] = {}

    def of(self, place: int) -> Sequence[Op]:
        """The operators of a node."""
        if place not in self.wrapped:
            told = self.program.operators[place]
            ops = self._unpickled(lambda: self.operators.of(place))
            self.wrapped[place] = [
                watched_op(op, RecordWatch(told[number], self.partition))
                for number, op in enumerate(ops)
            ]
        return self.wrapped[place]

    def work(self) -> Any:
        """The action or map work for the rows of the stage's last node."""
        return self._unpickled(self.operators.work)

    @property
    def last(self) -> Operator:
        """The last operator that runs."""
        place = len(self.layout.steps) - 1
        _, first, end = self.layout.runs[place]
        return self.program.operators[place][end - first - 1]

    def _unpickled(self, load: Callable[[], Any]) -> Any:
        """What is unpickled, which imports modules of the user's."""
        try:
            return load()
        except (ImportError, AttributeError) as error:
            raise CantReplay(
                f"a function of stage {self.program.stage} can't be loaded here "
                f"({type(error).__name__}: {error}): run pyrite replay where the program ran, with "
                "the modules that it imports"
            ) from error


def cut_behind(layout: ProgramLayout, last: Operator) -> ProgramLayout:
    """A program that ends with this operator."""
    link, first, _ = layout.runs[last.place]
    run = OperatorRun(link, first, first + last.number + 1)
    return ProgramLayout(layout.steps[: last.place + 1], [*layout.runs[: last.place], run])


def missing_slices(program: StageProgram) -> CantReplay | None:
    """The error for rows that were too large for the story."""
    if not program.code.missing:
        return None
    what = ", ".join(program.code.missing)
    return CantReplay(f"{what} in stage {program.stage} were too large for the story: {LIMIT}")

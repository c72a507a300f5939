"""All RDDs of a run: what made each, its name, and what is kept of it.

A step of a pipeline has no id until the program asks for one. Such RDDs are told apart by the calls
that made them, back to their sources: one that two stages compute is listed once, and the rounds of
a loop are listed each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyrite.story.model import RunModel
from pyrite.story.parts import RddState, StageState
from pyrite.ui.graph import writer_of
from pyrite.ui.storage import sizes

# A loop may make thousands at one line: so many of the last ones are looked at.
MOST_ALIKE = 8


class OperatorPlace(NamedTuple):
    """An operator: its stage, the step of the stage's program, and its number in that step."""

    stage: int
    step: int
    number: int


@dataclass(slots=True)
class ListedRdd:
    """An RDD, with its id and its name as far as it has them."""

    id: int | None
    name: str | None
    operator: Mapping[str, Any]
    partitions: int
    # Where it was computed last.
    place: OperatorPlace | None = None
    stages: dict[int, None] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return str(self.operator.get("method") or self.operator["operator"])


# An operator's name, the call that made it, and the RDDs that it reads, as numbers.
Made = tuple[str, str, str, tuple[int, ...]]


class RddCatalogue:
    """Numbers the RDDs of stages, in the order in which they are met."""

    def __init__(self, run: RunModel) -> None:
        self.run = run
        self.rdds: list[ListedRdd] = []
        self._by_id: dict[int, int] = {}
        self._alike: dict[Made, list[int]] = {}
        # The RDD at the end of each step of a stage.
        self._ends: dict[tuple[int, int], int] = {}
        for stage in run.stages.values():
            for step in range(len(stage.rdds)):
                self._add_step(stage, step)
        known = {each.id for each in self.rdds}
        for rdd in run.rdds.values():
            if rdd.id not in known:
                self.rdds.append(never_computed(rdd))

    def _add_step(self, stage: StageState, step: int) -> None:
        told = stage.rdds[step]
        reads = tuple(self._inputs(stage, told))
        last = len(told["operators"]) - 1
        for number, operator in enumerate(told["operators"]):
            id = operator.get("rdd")
            if id is None and number == last:
                id = told["id"]
            made = operator["operator"], operator.get("method"), operator.get("site"), reads
            found = self._find(made, id, operator.get("name"))
            if found is None:
                found = len(self.rdds)
                self._alike.setdefault(made, []).append(found)
                self.rdds.append(ListedRdd(id, None, operator, told["partitions"]))
            rdd = self.rdds[found]
            if id is not None:
                rdd.id = id
                self._by_id[id] = found
            rdd.name = operator.get("name") or rdd.name
            rdd.place = OperatorPlace(stage.id, step, number)
            rdd.stages[stage.id] = None
            reads = (found,)
        if reads:
            self._ends[stage.id, step] = reads[-1]

    def _inputs(self, stage: StageState, told: Mapping[str, Any]) -> list[int]:
        found = []
        for each in told["inputs"]:
            if "shuffle" not in each:
                end = stage.id, each["place"]
            else:
                writer = writer_of(self.run, each["shuffle"])
                if writer is None:
                    continue
                end = writer.id, len(writer.rdds) - 1
            if end in self._ends:
                found.append(self._ends[end])
        return found

    def _find(self, made: Made, id: int | None, name: str | None) -> int | None:
        """The RDD of this id, or one that was made like this and may have this id and name."""
        if id is not None and id in self._by_id:
            return self._by_id[id]
        for number in self._alike.get(made, [])[: -MOST_ALIKE - 1 : -1]:
            rdd = self.rdds[number]
            if (id is None or rdd.id is None) and (name is None or rdd.name in (None, name)):
                return number
        return None


def never_computed(rdd: RddState) -> ListedRdd:
    """One that was persisted, and that no stage has computed yet."""
    return ListedRdd(rdd.id, None, {"operator": "not computed yet"}, rdd.partitions)


def all_rdds(run: RunModel) -> list[dict[str, Any]]:
    """All RDDs, the newest first."""
    return [rdd_info(run, each) for each in reversed(RddCatalogue(run).rdds)]


def rdd_info(run: RunModel, rdd: ListedRdd) -> dict[str, Any]:
    """An RDD in a list of all."""
    known = None if rdd.id is None else run.rdds.get(rdd.id)
    parts = [] if known is None else list(known.kept.values())
    memory, disk = sizes(parts)
    return {
        "id": rdd.id,
        "name": rdd.name or rdd.method,
        "named": rdd.name is not None,
        "method": rdd.method,
        "operator": rdd.operator["operator"],
        "site": rdd.operator.get("site") or "",
        "partitions": rdd.partitions,
        "stages": list(rdd.stages),
        "place": None if rdd.place is None else rdd.place._asdict(),
        "level": None if known is None else known.level,
        "kept": len(parts),
        "kept_bytes": memory + disk,
    }

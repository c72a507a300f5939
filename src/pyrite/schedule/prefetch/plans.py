"""The stages that have a plan, and whose input is prefetched."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from pyrite.ids import NodeId, ShuffleId, StageId

if TYPE_CHECKING:
    from pyrite.schedule.prefetch.plan import ReducePlan
    from pyrite.schedule.stages import StageRun

# A source and a target that may have something to fetch; None stands for any node.
Wish = tuple[NodeId | None, NodeId | None]


class Plans:
    """All planned stages, and the pairs of nodes where orders may be possible now."""

    def __init__(self, fair: bool) -> None:
        self.fair = fair
        self._runs: dict[StageId, StageRun] = {}
        self._wishes: dict[Wish, None] = {}

    def __iter__(self) -> Iterator[StageRun]:
        return iter(list(self._runs.values()))

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __contains__(self, run: StageRun) -> bool:
        return run.spec.id in self._runs

    def add(self, run: StageRun) -> None:
        self._runs[run.spec.id] = run

    def remove(self, run: StageRun) -> None:
        self._runs.pop(run.spec.id, None)

    def by_priority(self) -> list[tuple[StageRun, ReducePlan]]:
        """Returns the plans, the most urgent first: by submission, or with fair shares by remaining
        units, since jobs with more get more."""
        found = [(run, run.plan) for run in self._runs.values() if run.plan is not None]
        if self.fair:
            found.sort(key=lambda each: (-each[1].remaining_units, each[0].job, each[0].spec.id))
        else:
            found.sort(key=lambda each: (each[0].job, each[0].spec.id))
        return found

    def fetch(self, shuffle: ShuffleId) -> bool:
        """Whether outputs of the shuffle are prefetched for any stage."""
        if not self._runs:
            return False
        plans = (run.plan for run in self._runs.values())
        return any(plan is not None and shuffle in plan.forecasts for plan in plans)

    def want(self, source: NodeId | None, target: NodeId | None) -> None:
        """Requests a check for possible orders from a node, to a node, or between all."""
        if self._runs:
            self._wishes[source, target] = None

    def take_wishes(self) -> Collection[Wish]:
        wishes, self._wishes = self._wishes, {}
        return wishes

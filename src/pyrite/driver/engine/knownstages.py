"""The stages that executors may be asked to run, and what tasks of them need."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

from pyrite.driver.api.flags import JobFlags
from pyrite.execute.worker import Header
from pyrite.ids import JobId, RddId, StageId
from pyrite.plan.program import Program
from pyrite.plan.stages import Cut, StageSpec
from pyrite.rdd.base import Lineage


class KnownStages:
    """The cluster's source of stages; the engine fills it, the loop's thread reads it."""

    def __init__(self) -> None:
        # Persisted RDDs, while the program refers to them.
        self.kept: weakref.WeakValueDictionary[RddId, Lineage[Any]] = weakref.WeakValueDictionary()
        self.map_stages: weakref.WeakValueDictionary[StageId, Cut] = weakref.WeakValueDictionary()
        self.result_stages: dict[StageId, tuple[StageSpec, Program]] = {}
        self.flags: dict[JobId, JobFlags] = {}

    def program(self, stage: StageId) -> Program:
        found = self.result_stages.get(stage)
        return self.map_stages[stage].program if found is None else found[1]

    def header(self, stage: StageId, job: JobId) -> bytes:
        spec = self.find(stage)
        assert spec is not None
        flags = self.flags[job]
        # Copied first: other threads persist RDDs meanwhile.
        kept = [rdd for each in self.kept.valuerefs() if (rdd := each()) is not None]
        plans = {rdd._id: rdd._plan for rdd in kept if rdd._id in spec.shape.rdds}
        shared = flags.properties, flags.python_paths, spec.partitions, spec.barrier
        return pickle.dumps(Header(plans, *shared, self.program(stage).profiler))

    def find(self, stage: StageId) -> StageSpec | None:
        """Returns a stage that runs, or whose shuffle is still known."""
        found = self.result_stages.get(stage)
        if found is not None:
            return found[0]
        cut = self.map_stages.get(stage)
        return None if cut is None else cut.stage

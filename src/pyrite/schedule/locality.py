"""Locality: combines the placement policies, which are asked in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from pyrite.ids import ExecutorId, NodeId
from pyrite.place.colocate import Colocate
from pyrite.place.inputkeys import InputKeys
from pyrite.place.keptblocks import KeptBlocks
from pyrite.place.liverows import LiveRows
from pyrite.place.policy import Policy, Preference, Preferences, Strength, View
from pyrite.place.preferredlocations import PreferredLocations
from pyrite.place.prefetchedinput import PrefetchedInput
from pyrite.place.reducerplaces import ReducerPlaces
from pyrite.plan.stages import StageSpec
from pyrite.schedule.collections import Collections
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.rules import Rules


def default_policies(rules: Rules) -> tuple[Policy, ...]:
    """Returns the policies in the order of their precedence; a task that none names has its home by
    its index."""
    by_keys = () if rules.laf is None else (InputKeys(rules.laf.wait_s),)
    return (
        Colocate(rules.locality_wait_s),
        LiveRows(rules.locality_wait_s),
        PrefetchedInput(rules.locality_wait_s),
        ReducerPlaces(),
        KeptBlocks(),
        *by_keys,
        PreferredLocations(),
    )


class Locality:
    """Combines the policies' preferences.

    The first policy that names executors to wait for decides for all tasks of a stage, so that a
    stage has a single locality wait. Of the policies that name nodes, the first that names a task's
    node decides its home.
    """

    def __init__(
        self, fleet: Fleet, collections: Collections, view: View, policies: Sequence[Policy]
    ) -> None:
        self.fleet = fleet
        self.collections = collections
        self.view = view
        self.policies = policies

    def prefer(self, stage: StageSpec, partitions: Sequence[int], slots: int) -> Preferences:
        """Returns where the tasks of a stage should run, given the number of slots."""
        answers = []
        for policy in self.policies:
            answer = policy.prefer(stage, partitions, self.view)
            if answer is not None and answer.groups:
                self.collections.start(stage, answer.homes)
                homes = self._slots_of(answer.homes)
                return Preferences(answer.executors, answer.wait_s, homes, groups=answer.groups)
            if answer is not None:
                answers.append(answer)
        waits = [each for each in answers if each.strength is Strength.WAIT and each.executors]
        ranged = next((each for each in answers if each.keys), Preference(Strength.SHARE))
        first = waits[0] if waits else Preference(Strength.WAIT, wait_s=ranged.wait_s)
        nodes = [each for each in answers if each.nodes]
        return Preferences(
            first.executors,
            first.wait_s,
            self._homes(nodes, partitions, slots),
            self._keys(ranged, answers),
            self.view.ranges(),
            ranged.strength is Strength.WAIT,
        )

    @staticmethod
    def _keys(ranged: Preference, answers: Sequence[Preference]) -> dict[int, int]:
        """Returns the keys of the tasks whose node no earlier policy names."""
        earlier = takewhile(lambda each: each is not ranged, answers)
        named = {index for each in earlier for index in each.nodes}
        return {index: key for index, key in ranged.keys.items() if index not in named}

    def _slots_of(self, homes: Mapping[int, ExecutorId]) -> dict[int, int]:
        found = {index: self.fleet.get(executor) for index, executor in homes.items()}
        return {index: each.slot for index, each in found.items() if each is not None}

    def _nodes_of(self, executors: Mapping[int, ExecutorId]) -> dict[int, NodeId]:
        found = {index: self.fleet.get(executor) for index, executor in executors.items()}
        return {index: each.node for index, each in found.items() if each is not None}

    def _homes(
        self, answers: Sequence[Preference], partitions: Iterable[int], slots: int
    ) -> dict[int, int]:
        """Returns the home slots of tasks that should not run where their index puts them."""
        if not answers:
            return {}
        slots_on = {node: [each.slot for each in self.fleet.on(node)] for node in self.fleet.counts}
        homes: dict[int, int] = {}
        dealt: dict[NodeId, int] = {}
        for index in partitions:
            answer = next((each for each in answers if index in each.nodes), None)
            slots_there = None if answer is None else slots_on.get(answer.nodes[index])
            if answer is None or not slots_there:
                continue
            # Round-robin over the node's executors.
            node = answer.nodes[index]
            position = dealt.get(node, 0)
            dealt[node] = position + 1
            if answer.strength is Strength.SHARE or index % max(1, slots) not in slots_there:
                homes[index] = slots_there[position % len(slots_there)]
        return homes

    def fixed_places(self, stage: StageSpec, partitions: Sequence[int]) -> dict[int, NodeId]:
        """Returns the nodes of reducers that must run where their kept partitions are, whatever
        they read."""
        together = Colocate(0.0).prefer(stage, partitions, self.view)
        if together is not None:
            self.collections.start(stage, together.homes)
            first = {index: each[0] for index, each in together.executors.items()}
            return self._nodes_of({**together.homes, **first})
        blocks = KeptBlocks().prefer(stage, partitions, self.view)
        live = LiveRows(0.0).prefer(stage, partitions, self.view)
        places: dict[int, NodeId] = {} if blocks is None else dict(blocks.nodes)
        for index, executors in {} if live is None else live.executors.items():
            executor = self.fleet.get(executors[0])
            assert executor is not None
            places[index] = executor.node
        return {index: node for index, node in places.items() if node in self.fleet.counts}

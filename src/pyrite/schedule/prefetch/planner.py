"""The planner: places reducers before they start, by the forecast of their input."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.place.accumulate import Gathered, accumulate
from pyrite.place.predict import error_of, is_enough
from pyrite.place.reducers import Balance, ReducerNode, place, weigh
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule.commands import ReducersPlaced, ShuffleLeftAlone, SizesForeseen
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.locality import Locality
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.admission import Admission
from pyrite.schedule.prefetch.eviction import PrefetchEviction
from pyrite.schedule.prefetch.forecasts import Forecasts
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.prefetcher import Prefetcher, least_order
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.turn import Turn

# With more nodes, each holds so little of a reducer's input that placement hardly matters.
MOST_HOSTS = 1000
# With more nodes, there is no prefetching: every new output checks pairs of nodes.
MOST_FETCHING = 200
# With a user's partitioner, the first map outputs predict the others less well.
CUSTOM_SHARE = 0.25
# Reducers are placed again if that makes the most loaded node lighter by this factor.
WRONG = 1.25
# Or if that saves this fraction of the bytes on the network, without what was fetched already.
LEAST_SAVED = 0.2
NOT_PLACED = Gathered(NodeId(""), 0)


class ReducePlanner:
    """Plans stages before they start, and records afterwards how good the plans were."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        stages: Stages,
        outputs: Outputs,
        locality: Locality,
        forecasts: Forecasts,
        plans: Plans,
        eviction: PrefetchEviction,
        admission: Admission,
        prefetcher: Prefetcher,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.stages = stages
        self.outputs = outputs
        self.locality = locality
        self.forecasts = forecasts
        self.plans = plans
        self.eviction = eviction
        self.admission = admission
        self.prefetcher = prefetcher

    def output_appeared(self, stage: StageSpec, outputs: ShuffleOutputs, ref: BlockRef) -> None:
        """Handles a new map output: there may be enough outputs for a forecast, or for a fetch
        order."""
        if not self._prefetches:
            return
        if not outputs.foreseen:
            is_first = outputs.absent == len(outputs.refs) - 1
            outputs.foreseen = self._is_enough(stage, outputs)
            if is_first or outputs.foreseen:
                for run in self.stages.waiting_for(outputs.shuffle):
                    if run.tasks is not None:
                        continue
                    if outputs.foreseen and self._is_proactive(run):
                        self._look_again(run, outputs.shuffle)
                    if outputs.foreseen or self._is_proactive(run) or self._has_places(run):
                        self._plan(run, [outputs.shuffle])
        if self.plans.fetch(outputs.shuffle):
            # After the last output, whatever remains is worth an order.
            sources = {place.node for place in outputs.came} if outputs.complete else {ref.node}
            for node in sorted(sources):
                self.plans.want(node, None)

    @property
    def _prefetches(self) -> bool:
        """Whether this cluster prefetches at all."""
        return self.rules.prefetch and 2 <= len(self.fleet.counts) <= MOST_FETCHING

    def _is_enough(self, stage: StageSpec, outputs: ShuffleOutputs) -> bool:
        """Whether enough maps are done to predict the others: a share of all, and one per node."""
        share = self.rules.observed_share
        if stage.routing == "custom" and stage.samples is None:
            share = max(share, CUSTOM_SHARE)
        maps = len(outputs.refs)
        seen = maps - outputs.absent
        return is_enough(seen, maps, share) and seen >= min(maps, len(self.fleet.counts))

    def _has_places(self, run: StageRun) -> bool:
        """Whether all reducers have places that do not depend on sizes."""
        partitions = self.stages.unfinished(run)
        return len(self.locality.fixed_places(run.spec, partitions)) == len(partitions)

    def _is_proactive(self, run: StageRun) -> bool:
        """Whether the reducers have places before the maps start, as those of maps with keys do
        (EclipseMR, II-D)."""
        if self.rules.laf is None:
            return False
        return any(each.shape.has_keys for each in run.spec.parents.values())

    def _look_again(self, run: StageRun, shuffle: ShuffleId) -> None:
        """Takes a forecast of several outputs in place of that of the first one, and moves reducers
        whose places were far from what it says."""
        plan = run.plan
        if plan is None or plan.forecasts.pop(shuffle, None) is None or not plan.places:
            return
        forecast = self.forecasts.forecast(run.spec.parents[shuffle], shuffle)
        if forecast is not None:
            plan.forecasts[shuffle] = forecast
            plan.weigh()
            self._place_again_if_wrong(run, plan)

    def _plan(self, run: StageRun, shuffles: Collection[ShuffleId]) -> None:
        """Places a stage's reducers by forecasts of these shuffles and of all that are complete.

        Reducers that have places move only if that improves the total.
        """
        few_or_many = not 2 <= len(self.fleet.counts) <= MOST_HOSTS
        if few_or_many or run.spec.barrier or not run.spec.shape.shuffles:
            return
        hosts = self._reducer_hosts()
        plan = run.plan
        if plan is None:
            plan = ReducePlan(self.forecasts.reads(run.spec, self.stages.unfinished(run)))
        fresh = ReducePlan(plan.reads)
        for shuffle in run.spec.shape.shuffles:
            is_wanted = shuffle in shuffles or self.outputs.is_complete(shuffle)
            before = plan.forecasts.get(shuffle)
            if is_wanted and before is None:
                forecast = self.forecasts.forecast(run.spec.parents[shuffle], shuffle)
                if forecast is not None:
                    fresh.forecasts[shuffle] = forecast
        if not fresh.forecasts:
            return
        plan.forecasts.update(fresh.forecasts)
        run.plan = plan
        if (
            sum(each.size_bytes for each in plan.reducers().values())
            < self.rules.small_shuffle_bytes
        ):
            return
        self._settle(run, plan, fresh if plan.places else plan, hosts)

    def _settle(
        self, run: StageRun, plan: ReducePlan, fresh: ReducePlan, hosts: list[ReducerNode]
    ) -> None:
        reducers = fresh.reducers()
        if plan.places:
            probe("a stage is placed anew with a further shuffle")
            before = ReducePlan(plan.reads)
            before.forecasts = {
                shuffle: each
                for shuffle, each in plan.forecasts.items()
                if shuffle not in fresh.forecasts
            }
            gathered = [
                Gathered(plan.places[index], each.size_bytes)
                if index in plan.places
                else NOT_PLACED
                for index, each in before.reducers().items()
            ]
            nodes = accumulate(hosts, list(reducers.values()), gathered)
        elif self._is_proactive(run) and not self._is_foreseen(run, fresh):
            nodes = evenly(hosts, len(reducers))
        else:
            nodes = place(hosts, list(reducers.values()))
        places = dict(zip(reducers, nodes, strict=True))
        places.update(self.locality.fixed_places(run.spec, list(reducers)))
        self._take_places(run, plan, hosts, places)

    def _is_foreseen(self, run: StageRun, plan: ReducePlan) -> bool:
        """Whether enough is known of what the reducers read to place them by it."""
        return all(self.outputs.of(run.spec.parents[each]).foreseen for each in plan.forecasts)

    def _take_places(
        self, run: StageRun, plan: ReducePlan, hosts: list[ReducerNode], places: dict[int, NodeId]
    ) -> None:
        host_nodes = {host.node for host in hosts}
        places = {index: node for index, node in places.items() if node in host_nodes}
        moved = sum(plan.places.get(index, node) != node for index, node in places.items())
        plan.settle(places, self.fleet.counts, least_order(self.rules))
        self.eviction.drop_idle(plan)
        reducers = plan.reducers()
        everything = [reducers[index] for index in places]
        self.turn.add(
            ReducersPlaced(
                run.spec.id,
                *weigh(hosts, everything, list(places.values())),
                tuple(plan.forecasts),
                tuple(each.how for each in plan.forecasts.values()),
                moved,
            )
        )
        if self.rules.prefetch and len(hosts) <= MOST_FETCHING:
            self.plans.add(run)
            self.admission.admit()

    def place_orphans(self, run: StageRun) -> None:
        """Places reducers again whose node is lost, if their stage has not started."""
        plan, hosts = run.plan, self._reducer_hosts()
        if run.tasks is not None or plan is None or len(hosts) < 2:
            return
        reducers = plan.reducers()
        orphans = {index: each for index, each in reducers.items() if index not in plan.places}
        if orphans:
            probe("reducers whose node has gone get other places")
            given: dict[NodeId, int] = {}
            for index, node in plan.places.items():
                given[node] = given.get(node, 0) + reducers[index].size_bytes
            nodes = place(hosts, list(orphans.values()), given=given)
            places = dict(zip(orphans, nodes, strict=True))
            places.update(self.locality.fixed_places(run.spec, list(orphans)))
            self._take_places(run, plan, hosts, plan.places | places)

    def start(self, run: StageRun) -> None:
        """Completes the plan of a stage that starts: places its reducers, or checks their
        places."""
        if run.plan is not None and run.plan.places:
            self._check_forecasts(run, run.plan)
        else:
            # All nodes of an earlier plan may be lost.
            self.prefetcher.forget(run)
            self._plan(run, ())
            self._record_left_alone(run)
        if run in self.plans:
            self.plans.want(None, None)

    def in_order(self, run: StageRun, partitions: list[int]) -> list[int]:
        """Returns the partitions of a stage that starts in the order in which they should run."""
        if run.plan is None or not run.plan.places or run.spec.barrier:
            return partitions
        return run.plan.in_order(partitions)

    def _record_left_alone(self, run: StageRun) -> None:
        """Records in the story that a shuffle is too small for placement and prefetching."""
        if run.plan is not None and not run.plan.places:
            read_bytes = sum(each.size_bytes for each in run.plan.reducers().values())
            small_bytes = self.rules.small_shuffle_bytes
            self.turn.add(ShuffleLeftAlone(run.spec.id, read_bytes, small_bytes))

    def _check_forecasts(self, run: StageRun, plan: ReducePlan) -> None:
        """Records the accuracy of the forecasts, and replaces them by the true sizes."""
        for shuffle, forecast in plan.forecasts.items():
            if forecast.how == "known":
                continue
            known = self.forecasts.forecast(run.spec.parents[shuffle], shuffle)
            if known is None or known.how != "known":
                continue
            predicted, true = forecast.sizes, known.sizes
            self.turn.add(
                SizesForeseen(
                    shuffle,
                    forecast.how,
                    forecast.seen,
                    known.seen,
                    *error_of(predicted, true),
                    tuple(predicted),
                    tuple(true),
                )
            )
            plan.forecasts[shuffle] = known
        plan.weigh()
        self._place_again_if_wrong(run, plan)

    def _place_again_if_wrong(self, run: StageRun, plan: ReducePlan) -> None:
        """Places reducers again where the forecasts were far off."""
        hosts = self._reducer_hosts()
        reducers = plan.reducers()
        if not hosts or any(index not in plan.places for index in reducers):
            return
        sizes = list(reducers.values())
        before = [plan.places[index] for index in reducers]
        if not {*before} <= {host.node for host in hosts}:
            # The node's executors are being replaced.
            return
        after = dict(zip(reducers, place(hosts, sizes), strict=True))
        after.update(self.locality.fixed_places(run.spec, list(reducers)))
        best = weigh(hosts, sizes, list(after.values()))
        found = weigh(hosts, sizes, before)
        if found.heaviest_bytes > WRONG * best.heaviest_bytes:
            probe("reducers are placed anew since their sizes were foreseen wrongly")
            self._take_places(run, plan, hosts, after)
        elif self._saves_bytes(plan, found, best, after):
            probe("reducers are placed anew since their input is elsewhere")
            self._take_places(run, plan, hosts, after)

    def _saves_bytes(
        self, plan: ReducePlan, found: Balance, best: Balance, after: dict[int, NodeId]
    ) -> bool:
        """Whether fewer bytes are still to travel with the other places, of which nothing is
        fetched that moves."""
        fetched = plan.fetched_bytes()
        stays = sum(size for index, size in fetched.items() if plan.places[index] == after[index])
        left_here = max(0.0, found.network_bytes - sum(fetched.values()))
        left_there = max(0.0, best.network_bytes - stays)
        is_even = best.heaviest_bytes <= WRONG * found.heaviest_bytes
        saved = left_here - left_there
        return is_even and saved > LEAST_SAVED * found.network_bytes

    def _reducer_hosts(self) -> list[ReducerNode]:
        return [ReducerNode(node, count) for node, count in self.fleet.counts.items()]


def evenly(hosts: Sequence[ReducerNode], count: int) -> list[NodeId]:
    """The nodes of reducers whose keys lie evenly on the circle, in the order of their keys."""
    servers = [host.node for host in hosts for _ in range(host.executors)]
    return [servers[index * len(servers) // count] for index in range(count)]

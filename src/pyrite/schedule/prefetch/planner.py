"""The planner: reducers get places before they start, by what their input will be."""

from __future__ import annotations

from collections.abc import Collection

from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.place.accumulate import Gathered, accumulate
from pyrite.place.predict import error_of, is_enough
from pyrite.place.reducers import ReducerNode, place, weigh
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

# Above so many nodes each holds so little of a reducer's input that its place hardly matters.
MOST_HOSTS = 1000
# Who fetches from whom is looked at pair by pair, whenever an output appears.
MOST_FETCHING = 200
# The first map outputs say less of the others where a user's function deals out the rows.
CUSTOM_SHARE = 0.25
# Places are given up if those by the truth would make the heaviest node so much lighter.
WRONG = 1.25
NOT_PLACED = Gathered(NodeId(""), 0)


class ReducePlanner:
    """Plans for stages ahead of their start, and says afterwards how good the plans were."""

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
        """A map output is there: maybe enough to foresee the others, or to fetch."""
        if not self._fetches:
            return
        if not outputs.foreseen:
            is_first = outputs.absent == len(outputs.refs) - 1
            outputs.foreseen = self._is_enough(stage, outputs)
            if is_first or outputs.foreseen:
                for run in self.stages.waiting_for(outputs.shuffle):
                    if run.tasks is None and (outputs.foreseen or self._has_places(run)):
                        self._plan(run, [outputs.shuffle])
        if self.plans.fetch(outputs.shuffle):
            # With the last of them all that is left is worth an order.
            sources = {place.node for place in outputs.came} if outputs.complete else {ref.node}
            for node in sorted(sources):
                self.plans.want(node, None)

    @property
    def _fetches(self) -> bool:
        """Whether anything is prefetched on this cluster."""
        return self.rules.prefetch and 2 <= len(self.fleet.counts) <= MOST_FETCHING

    def _is_enough(self, stage: StageSpec, outputs: ShuffleOutputs) -> bool:
        """Whether so many maps are done that the others can be predicted: a share of all, and as
        many as there are nodes."""
        share = self.rules.observed_share
        if stage.routing == "custom" and stage.samples is None:
            share = max(share, CUSTOM_SHARE)
        maps = len(outputs.refs)
        seen = maps - outputs.absent
        return is_enough(seen, maps, share) and seen >= min(maps, len(self.fleet.counts))

    def _has_places(self, run: StageRun) -> bool:
        """Whether all reducers would go where they go whatever their sizes are."""
        partitions = self.stages.unfinished(run)
        return len(self.locality.fixed_places(run.spec, partitions)) == len(partitions)

    def _plan(self, run: StageRun, shuffles: Collection[ShuffleId]) -> None:
        """Places the reducers of a stage by what is predicted of these shuffles, and known of all
        that are complete; one that has places gets others only if that is better in all."""
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
        else:
            nodes = place(hosts, list(reducers.values()))
        places = dict(zip(reducers, nodes, strict=True))
        places.update(self.locality.fixed_places(run.spec, list(reducers)))
        self._take_places(run, plan, hosts, places)

    def _take_places(
        self, run: StageRun, plan: ReducePlan, hosts: list[ReducerNode], places: dict[int, NodeId]
    ) -> None:
        on = {host.node for host in hosts}
        places = {index: node for index, node in places.items() if node in on}
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
        """Reducers whose node has gone get other ones, as long as their stage waits."""
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
        """The stage starts: reducers that have no places get them by what is known now."""
        if run.plan is not None and run.plan.places:
            self._judge(run, run.plan)
        else:
            # It may have had places, and all of their nodes have gone.
            self.prefetcher.forget(run)
            self._plan(run, ())
            self._tell_left_alone(run)
        if run in self.plans:
            self.plans.want(None, None)

    def _tell_left_alone(self, run: StageRun) -> None:
        """The story hears of a shuffle that is too small for places, and for prefetching."""
        if run.plan is not None and not run.plan.places:
            read_bytes = sum(each.size_bytes for each in run.plan.reducers().values())
            small_bytes = self.rules.small_shuffle_bytes
            self.turn.add(ShuffleLeftAlone(run.spec.id, read_bytes, small_bytes))

    def _judge(self, run: StageRun, plan: ReducePlan) -> None:
        """Tells how true the forecasts were, and goes on with the truth."""
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
        self._correct(run, plan)

    def _correct(self, run: StageRun, plan: ReducePlan) -> None:
        """Places reducers anew where the forecasts were far from true."""
        hosts = self._reducer_hosts()
        reducers = plan.reducers()
        if not hosts or any(index not in plan.places for index in reducers):
            return
        sizes = list(reducers.values())
        before = [plan.places[index] for index in reducers]
        if not {*before} <= {host.node for host in hosts}:
            # A node whose executors have ended has more of them soon.
            return
        after = dict(zip(reducers, place(hosts, sizes), strict=True))
        after.update(self.locality.fixed_places(run.spec, list(reducers)))
        best = weigh(hosts, sizes, list(after.values()))
        if weigh(hosts, sizes, before).heaviest_bytes > WRONG * best.heaviest_bytes:
            probe("reducers are placed anew since their sizes were foreseen wrongly")
            self._take_places(run, plan, hosts, after)

    def _reducer_hosts(self) -> list[ReducerNode]:
        return [ReducerNode(node, count) for node, count in self.fleet.counts.items()]

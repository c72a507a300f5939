"""Places for reducers before they start: by what their input will be, while maps still run."""

from __future__ import annotations

from collections.abc import Collection

from pyrite.ids import BlockRef, JobId, NodeId, ShuffleId
from pyrite.place.accumulate import Gathered, accumulate
from pyrite.place.predict import error_of, is_enough
from pyrite.place.reducers import Host, place, weigh
from pyrite.plan.stages import StageSpec
from pyrite.rare import rare
from pyrite.schedule.ahead import Ahead
from pyrite.schedule.commands import ReducersPlaced, ShuffleLeftAlone, SizesForeseen
from pyrite.schedule.nearness import Nearness
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.reducing import Reducing
from pyrite.schedule.runs import StageRun

# Above so many nodes each holds so little of a reducer's input that its place hardly matters.
MOST_HOSTS = 1000
# Who fetches from whom is looked at pair by pair, whenever an output appears.
MOST_FETCHING = 200
# The first map outputs say less of the others where a user's function deals out the rows.
CUSTOM_SHARE = 0.25
# Places are given up if those by the truth would make the heaviest node so much lighter.
WRONG = 1.25
NOT_PLACED = Gathered(NodeId(""), 0)


class Foreseeing(Nearness):
    """Plans for stages ahead of their start, and says afterwards how good the plans were."""

    def _unfinished(self, run: StageRun) -> list[int]:
        if run.spec.writes is None:
            return list(self.jobs[JobId(run.job)].unfinished)
        return self.outputs.of(run.spec).missing()

    def _output_appeared(
        self, stage: StageSpec, outputs: ShuffleOutputs, index: int, ref: BlockRef
    ) -> None:
        """A map output is there: maybe enough to foresee the others, or to fetch."""
        self._want_backup(outputs, index, ref)
        if not self._fetches:
            return
        if not outputs.foreseen:
            is_first = outputs.absent == len(outputs.refs) - 1
            outputs.foreseen = self._is_enough(stage, outputs)
            if is_first or outputs.foreseen:
                for run in self._waiting_for(outputs.shuffle):
                    if run.tasks is None and (outputs.foreseen or self._has_places(run)):
                        self._plan_ahead(run, [outputs.shuffle])
        if self._is_fetched(outputs.shuffle):
            # With the last of them all that is left is worth an order.
            sources = {place.node for place in outputs.came} if outputs.complete else {ref.node}
            for node in sorted(sources):
                self._want_fetches(node, None)

    def _is_fetched(self, shuffle: ShuffleId) -> bool:
        """Whether its outputs are fetched for some stage."""
        planned = (run.ahead for run in self.parcels.planned.values())
        return any(ahead is not None and shuffle in ahead.forecasts for ahead in planned)

    @property
    def _fetches(self) -> bool:
        """Whether anything is fetched ahead on this cluster."""
        return self.rules.prefetch and 2 <= len(self.executors_on) <= MOST_FETCHING

    def _is_wanted_early(self, shuffle: ShuffleId) -> bool:
        """Whether parts of its outputs could be fetched before the first of them is complete."""
        if not self._fetches:
            return False
        for run in self._waiting_for(shuffle):
            if run.tasks is None and not run.spec.barrier:
                if run.ahead is not None and run.ahead.places:
                    return True
                if run.has_places is None:
                    # Looked up once: it is about all reducers, and is asked for each map.
                    run.has_places = self._has_places(run)
                if run.has_places:
                    return True
        return False

    def _output_grows(self, stage: StageSpec, outputs: ShuffleOutputs, ref: BlockRef) -> None:
        """An installment is there, to fetch where it is known who will read it."""
        shuffle = outputs.shuffle
        for run in self._waiting_for(shuffle):
            ahead = run.ahead
            if ahead is None or not ahead.places:
                if run.tasks is None and run.has_places:
                    self._plan_ahead(run, [shuffle])
            elif shuffle not in ahead.forecasts:
                # Too little is known of it to move the reducers for its sake.
                rare("a shuffle is fetched for reducers that were placed by another")
                forecast = Reducing(self.outputs, self.kept).forecast(stage, shuffle)
                if forecast is not None:
                    ahead.forecasts[shuffle] = forecast
                    ahead.weigh()
                    self._admit_units()
        self._want_fetches(ref.node, None)

    def _is_enough(self, stage: StageSpec, outputs: ShuffleOutputs) -> bool:
        """Whether so many maps are done that the others can be foreseen: a share of all, and as
        many as there are nodes."""
        share = self.rules.observed_share
        if stage.routing == "custom" and stage.samples is None:
            share = max(share, CUSTOM_SHARE)
        maps = len(outputs.refs)
        seen = maps - outputs.absent
        return is_enough(seen, maps, share) and seen >= min(maps, len(self.executors_on))

    def _has_places(self, run: StageRun) -> bool:
        """Whether all reducers would go where they go whatever their sizes are."""
        partitions = self._unfinished(run)
        return len(self._known_places(run.spec, partitions)) == len(partitions)

    def _plan_ahead(self, run: StageRun, shuffles: Collection[ShuffleId]) -> None:
        """Places the reducers of a stage by what is foreseen of these shuffles, and known of all
        that are complete; one that has places gets others only if that is better in all."""
        few_or_many = not 2 <= len(self.executors_on) <= MOST_HOSTS
        if few_or_many or run.spec.barrier or not run.spec.shape.shuffles:
            return
        hosts = self._reducer_hosts()
        reducing = Reducing(self.outputs, self.kept)
        ahead = run.ahead or Ahead(reducing.reads(run.spec, self._unfinished(run)))
        fresh = Ahead(ahead.reads)
        for shuffle in run.spec.shape.shuffles:
            is_wanted = shuffle in shuffles or self.outputs.is_complete(shuffle)
            before = ahead.forecasts.get(shuffle)
            if is_wanted and (before is None or before.how == "begun"):
                forecast = reducing.forecast(run.spec.parents[shuffle], shuffle)
                if forecast is not None:
                    fresh.forecasts[shuffle] = forecast
        if not fresh.forecasts:
            return
        ahead.forecasts.update(fresh.forecasts)
        run.ahead = ahead
        if (
            sum(each.size_bytes for each in ahead.reducers().values())
            < self.rules.small_shuffle_bytes
        ):
            return
        self._settle(run, ahead, fresh if ahead.places else ahead, hosts)

    def _settle(self, run: StageRun, ahead: Ahead, fresh: Ahead, hosts: list[Host]) -> None:
        reducers = fresh.reducers()
        if ahead.places:
            rare("a stage is placed anew with a further shuffle")
            before = Ahead(ahead.reads)
            before.forecasts = {
                shuffle: each
                for shuffle, each in ahead.forecasts.items()
                if shuffle not in fresh.forecasts
            }
            gathered = [
                Gathered(ahead.places[index], each.size_bytes)
                if index in ahead.places
                else NOT_PLACED
                for index, each in before.reducers().items()
            ]
            nodes = accumulate(hosts, list(reducers.values()), gathered)
        else:
            nodes = place(hosts, list(reducers.values()))
        places = dict(zip(reducers, nodes, strict=True))
        places.update(self._known_places(run.spec, reducers))
        self._take_places(run, ahead, hosts, places)

    def _take_places(
        self, run: StageRun, ahead: Ahead, hosts: list[Host], places: dict[int, NodeId]
    ) -> None:
        on = {host.node for host in hosts}
        places = {index: node for index, node in places.items() if node in on}
        moved = sum(ahead.places.get(index, node) != node for index, node in places.items())
        ahead.settle(places, self.executors_on, self._least_order())
        self._drop_idle(ahead)
        reducers = ahead.reducers()
        everything = [reducers[index] for index in places]
        self.commands.append(
            ReducersPlaced(
                run.spec.id,
                *weigh(hosts, everything, list(places.values())),
                tuple(ahead.forecasts),
                tuple(each.how for each in ahead.forecasts.values()),
                moved,
            )
        )
        if self.rules.prefetch and len(hosts) <= MOST_FETCHING:
            self.parcels.planned[run.spec.id] = run
            self._admit_units()

    def _place_orphans(self, run: StageRun) -> None:
        """Reducers whose node has gone get other ones, as long as their stage waits."""
        ahead, hosts = run.ahead, self._reducer_hosts()
        if run.tasks is not None or ahead is None or len(hosts) < 2:
            return
        reducers = ahead.reducers()
        orphans = {index: each for index, each in reducers.items() if index not in ahead.places}
        if orphans:
            rare("reducers whose node has gone get other places")
            given: dict[NodeId, int] = {}
            for index, node in ahead.places.items():
                given[node] = given.get(node, 0) + reducers[index].size_bytes
            nodes = place(hosts, list(orphans.values()), given=given)
            places = dict(zip(orphans, nodes, strict=True))
            places.update(self._known_places(run.spec, orphans))
            self._take_places(run, ahead, hosts, ahead.places | places)

    def _place_reducers(self, run: StageRun) -> None:
        """The stage starts: reducers that have no places get them by what is known now."""
        if run.ahead is not None and run.ahead.places:
            self._judge(run, run.ahead)
        else:
            # It may have had places, and all of their nodes have gone.
            self._forget_ahead(run)
            self._plan_ahead(run, ())
            self._tell_left_alone(run)
        if run.spec.id in self.parcels.planned:
            self._want_fetches(None, None)

    def _tell_left_alone(self, run: StageRun) -> None:
        """The story hears of a shuffle that is too small for places, and for fetching ahead."""
        if run.ahead is not None and not run.ahead.places:
            read_bytes = sum(each.size_bytes for each in run.ahead.reducers().values())
            small_bytes = self.rules.small_shuffle_bytes
            self.commands.append(ShuffleLeftAlone(run.spec.id, read_bytes, small_bytes))

    def _judge(self, run: StageRun, ahead: Ahead) -> None:
        """Tells how true the forecasts were, and goes on with the truth."""
        reducing = Reducing(self.outputs, self.kept)
        for shuffle, forecast in ahead.forecasts.items():
            if forecast.how == "known":
                continue
            known = reducing.forecast(run.spec.parents[shuffle], shuffle)
            if known is None or known.how != "known":
                continue
            predicted, true = forecast.sizes, known.sizes
            self.commands.append(
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
            ahead.forecasts[shuffle] = known
        ahead.weigh()
        self._correct(run, ahead)

    def _correct(self, run: StageRun, ahead: Ahead) -> None:
        """Places reducers anew where the forecasts were far from true."""
        hosts = self._reducer_hosts()
        reducers = ahead.reducers()
        if not hosts or any(index not in ahead.places for index in reducers):
            return
        sizes = list(reducers.values())
        before = [ahead.places[index] for index in reducers]
        if not {*before} <= {host.node for host in hosts}:
            # A node whose executors have ended has more of them soon.
            return
        after = dict(zip(reducers, place(hosts, sizes), strict=True))
        after.update(self._known_places(run.spec, reducers))
        best = weigh(hosts, sizes, list(after.values()))
        if weigh(hosts, sizes, before).heaviest_bytes > WRONG * best.heaviest_bytes:
            rare("reducers are placed anew since their sizes were foreseen wrongly")
            self._take_places(run, ahead, hosts, after)

    def _reducer_hosts(self) -> list[Host]:
        return [Host(node, count) for node, count in self.executors_on.items()]

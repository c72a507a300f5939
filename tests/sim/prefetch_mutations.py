"""Deliberate bugs in what is fetched ahead, and in how it is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mutating import KEPT_ONLY, mutation

from pyrite.blocks.codec import CorruptBlock, decode_frames
from pyrite.blocks.fetched import unpack_directory
from pyrite.blocks.ledger import Ledger
from pyrite.blocks.parts import find_part
from pyrite.cluster.sim import fetches
from pyrite.schedule.prefetch.eviction import PrefetchEviction
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.prefetch.unit import Unit
from pyrite.shuffle.read import ShuffleRows

# What is ordered

_parts_of = ReducePlan.parts_of


@mutation(ReducePlan, "parts_of")
def parts_are_ordered_backwards(self: ReducePlan, indices: Any) -> Any:
    return {shuffle: parts[::-1] for shuffle, parts in _parts_of(self, indices).items()}


@mutation(ReducePlan, "lose_node")
def a_lost_node_keeps_its_plans(self: ReducePlan, node: Any) -> None:
    pass


@mutation(Prefetcher, "in_flight_left")
def any_number_of_bytes_travel_at_once(self: Any, source: Any, target: Any) -> int:
    return 1 << 30


@mutation(Unit, "has_fetched", within=1000)
def what_is_made_again_is_fetched_again(
    self: Unit, node: Any, shuffle: Any, number: int, parts: Any
) -> bool:
    return False


@mutation(PrefetchedSegments, "land")
def what_has_arrived_is_still_on_its_way(self: PrefetchedSegments, fetched: Any) -> None:
    self._busy.pop((fetched.source, fetched.node), None)


# What is told to tasks


@mutation(Unit, "at")
def prefetched_segments_of_other_nodes_are_told(
    self: Unit, node: Any, shuffle: Any, parts: Any
) -> Iterator[Any]:
    return (each for each in self.segments if each.is_here and each.shuffle == shuffle)


@mutation(Unit, "at")
def prefetched_segments_are_told_before_they_are_there(
    self: Unit, node: Any, shuffle: Any, parts: Any
) -> Iterator[Any]:
    return self._meant_for(node, shuffle)


_use = Ledger.use


@mutation(Ledger, "use")
def the_readers_of_prefetched_segments_are_not_counted(self: Ledger, name: str) -> None:
    if name not in self.segments or not self.segments[name].fetched:
        _use(self, name)


# What goes

_drop = PrefetchEviction.drop


@mutation(PrefetchEviction, "drop")
def what_is_not_wanted_stays_when_it_arrives(self: Any, fetched: Any) -> None:
    if fetched.is_here:
        _drop(self, fetched)


@mutation(PrefetchEviction, "drop")
def what_is_stopped_on_its_way_is_forgotten_at_once(self: Any, fetched: Any) -> None:
    self.segments.forget(fetched)
    self.storage.drop(self.ledger.end_fetched(fetched.segment))


@mutation(Prefetcher, "forget")
def a_stage_that_ends_keeps_its_prefetched_segments(self: Any, run: Any) -> None:
    self.plans.remove(run)


@mutation(ReducePlan, "finish")
def a_round_is_never_over(self: ReducePlan, index: int) -> None:
    unit = self.unit_of.get(index)
    if unit is not None:
        unit.unfinished.pop(index, None)


@mutation(PrefetchEviction, "drop_idle", within=1000)
def what_is_meant_for_nobody_stays(self: Any, plan: Any) -> None:
    pass


# What is read

_write_fetched = fetches.write_fetched


@mutation(fetches, "write_fetched")
def a_prefetched_segment_has_the_parts_of_others(command: Any, reader: Any, path: str) -> None:
    _write_fetched(command._replace(refs=command.refs[::-1]), reader, path)


@mutation(ShuffleRows, "_open_prefetched")
def a_prefetched_segment_that_is_gone_fails_the_task(self: ShuffleRows) -> dict[int, memoryview]:
    found: dict[int, memoryview] = {}
    for segment in self.prefetched:
        fetched = self.reader.whole(segment)
        for entry in unpack_directory(fetched):
            found[entry.map] = fetched[entry.offset : entry.offset + entry.length]
    return found


# An output must be lost, be made again with other frames, and what was fetched of it be spoilt.
@mutation(ShuffleRows, "frames", within=KEPT_ONLY)
def a_spoilt_prefetched_segment_is_left_in_the_middle(self: ShuffleRows) -> Iterator[Any]:
    prefetched = self._open_prefetched()
    for number, ref in enumerate(self.outputs):
        done = 0
        if number in prefetched:
            try:
                view = find_part(prefetched[number], self.part)
                for batch in () if view is None else decode_frames(view, writable=True):
                    yield batch
                    done += 1
                continue
            except CorruptBlock:
                pass
        alone = ShuffleRows(self.shuffle, [ref], self.part, self.reader)
        yield from islice(_frames(alone), done, None)


_frames = ShuffleRows.frames

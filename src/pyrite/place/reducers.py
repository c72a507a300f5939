"""Places reducers on hosts before any of them starts (SCache, 3.2.3). Pure.

The heaviest reducers are assigned first, each to the least loaded host; then reducers swap hosts to
be where most of their input lies, as far as the load of the heaviest host allows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from typing import NamedTuple

from pyrite.ids import NodeId

# A swap may raise a host's load above the heaviest by at most this fraction, and that only for a
# reducer whose whole input lies on one host.
MOST_DEGRADATION = 0.1
# A reducer is swapped with at most so many others, each the best of so many candidates: this bounds
# the time of a swap where hosts have thousands of reducers.
MOST_PARTNERS = 8
COMPARED = 8

NOWHERE: Mapping[NodeId, int] = {}


class ReducerNode(NamedTuple):
    """A node that runs reducers, in proportion to its executors."""

    node: NodeId
    executors: int = 1


class Reducer(NamedTuple):
    """The input of one reducer: its size, and the bytes held by nodes.

    Bytes that no node holds count as spread evenly over the hosts.
    """

    size_bytes: int
    held_bytes: Mapping[NodeId, int] = NOWHERE


class Balance(NamedTuple):
    """The quality of a placement: bytes per executor on the heaviest host and on average, and bytes
    that cross the network."""

    heaviest_bytes: float
    mean_bytes: float
    network_bytes: float


def place(
    hosts: Sequence[ReducerNode],
    reducers: Sequence[Reducer],
    *,
    swaps: bool = True,
    given: Mapping[NodeId, int] = NOWHERE,
) -> list[NodeId]:
    """Returns each reducer's node, by algorithm 1; without swaps by size alone.

    `given` has the bytes that nodes have to read already.
    """
    dealing = Dealing(hosts, reducers, given)
    dealing.deal()
    if swaps:
        dealing.swap_by_locality()
    return dealing.places()


def weigh(
    hosts: Sequence[ReducerNode], reducers: Sequence[Reducer], places: Sequence[NodeId]
) -> Balance:
    """Returns the quality of a placement."""
    executors = {host.node: host.executors for host in hosts if host.executors}
    loads = dict.fromkeys(executors, 0)
    network = 0.0
    for reducer, node in zip(reducers, places, strict=True):
        loads[node] += reducer.size_bytes
        spread = reducer.size_bytes - sum(reducer.held_bytes.values())
        here = reducer.held_bytes.get(node, 0) + max(0, spread) / len(executors)
        network += max(0, reducer.size_bytes - here)
    heaviest = max(load / executors[node] for node, load in loads.items())
    return Balance(heaviest, sum(loads.values()) / sum(executors.values()), network)


def degradation(share: float, hosts: int) -> float:
    """Returns the fraction by which a host may exceed the heaviest, for a reducer of which one host
    holds this share: 0 if its input is spread evenly (`nor` in algorithm 1)."""
    if hosts < 2:
        return 0.0
    even = 1 / hosts
    return min(1.0, max(0.0, (share - even) / (1 - even))) * MOST_DEGRADATION


class Dealing:
    """One run of algorithm 1. Reducers are identified by rank here: 0 is the heaviest."""

    def __init__(
        self, hosts: Sequence[ReducerNode], reducers: Sequence[Reducer], given: Mapping[NodeId, int]
    ) -> None:
        self.hosts = [host for host in hosts if host.executors > 0]
        if not self.hosts and reducers:
            raise ValueError(
                f"no host has executors for {len(reducers)} reducers: wait for one to join"
            )
        self.host_indices = {host.node: index for index, host in enumerate(self.hosts)}
        self.order = sorted(range(len(reducers)), key=lambda index: -reducers[index].size_bytes)
        self.reducers = [reducers[index] for index in self.order]
        self.sizes = [reducer.size_bytes for reducer in self.reducers]
        # Negated, since bisection needs an ascending list.
        self.negative_sizes = [-size for size in self.sizes]
        self.host_of: list[int] = []
        self.loads = [given.get(host.node, 0) for host in self.hosts]
        # The ranks on each host, ascending, that swaps may still move: those not sealed.
        self.movable: list[list[int]] = [[] for _ in self.hosts]

    def places(self) -> list[NodeId]:
        nodes = [NodeId("")] * len(self.order)
        for index, host in zip(self.order, self.host_of, strict=True):
            nodes[index] = self.hosts[host].node
        return nodes

    def deal(self) -> None:
        """The first round: assigns each reducer to the host that is the least loaded with it."""
        # A heap for each number of executors: within one, the host with the least load is also the
        # least loaded after adding one more. The counts spread empty reducers evenly, too.
        heaps: dict[int, list[tuple[int, int, int]]] = {}
        for index, host in enumerate(self.hosts):
            heaps.setdefault(host.executors, []).append((self.loads[index], 0, index))
        for heap in heaps.values():
            heapify(heap)
        for rank, size in enumerate(self.sizes):
            executors = min(heaps, key=lambda each: _load_with(heaps[each][0], size, each))
            load, count, host_index = heaps[executors][0]
            heapreplace(heaps[executors], (load + size, count + 1, host_index))
            self.host_of.append(host_index)
            self.loads[host_index] += size
            self.movable[host_index].append(rank)

    def swap_by_locality(self) -> None:
        """The second round: moves reducers, the heaviest first, to the host that holds most of
        their input."""
        if len(self.hosts) < 2:
            return
        heaviest = max(
            load / host.executors for load, host in zip(self.loads, self.hosts, strict=True)
        )
        for rank, reducer in enumerate(self.reducers):
            if not reducer.held_bytes:
                continue
            target, share = self._largest_holder(reducer)
            if target == self.host_of[rank]:
                self._seal(rank)
            elif target is not None:
                ceiling = (1 + degradation(share, len(self.hosts))) * heaviest
                self._swap(rank, target, ceiling)

    def _largest_holder(self, reducer: Reducer) -> tuple[int | None, float]:
        """Returns the host with the largest part of a reducer's input, and that part's share."""
        holder: int | None = None
        most = known = 0
        for node, held in reducer.held_bytes.items():
            known += held
            if held >= most and held and (index := self.host_indices.get(node)) is not None:
                if holder is None or held > most or index < holder:
                    holder = index
                most = held
        # The prediction may be less than what exists already.
        size = max(reducer.size_bytes, known, 1)
        return holder, (most + (size - known) / len(self.hosts)) / size

    def _swap(self, rank: int, target: int, ceiling: float) -> None:
        source = self.host_of[rank]
        partners = self._partners(rank, target, ceiling)
        if partners is None:
            return
        self._seal(rank)
        self._move(rank, target)
        for partner in partners:
            self._seal(partner)
            self._move(partner, source)
            insort(self.movable[source], partner)

    def _partners(self, rank: int, target: int, ceiling: float) -> list[int] | None:
        """Chooses reducers of the target to swap with; an empty list if it has room anyway, None if
        no swap fits.

        Together they are as large as both hosts' limits demand and allow, and lose less locality
        than the reducer gains: the paper demands the former only, and may lose more than it gains.
        """
        source, size = self.host_of[rank], self.sizes[rank]
        gain = self._local_bytes(rank, target) - self._local_bytes(rank, source)
        least = self.loads[target] + size - self._limit(target, ceiling)
        most = self._limit(source, ceiling) - self.loads[source] + size
        partners: list[int] = []
        while gain > 0 and least > 0:
            if len(partners) == MOST_PARTNERS:
                return None
            partner = self._cheapest(target, source, most, partners)
            if partner is None:
                return None
            partners.append(partner)
            gain -= self._local_bytes(partner, target) - self._local_bytes(partner, source)
            least -= self.sizes[partner]
            most -= self.sizes[partner]
        return partners if gain > 0 else None

    def _cheapest(self, host: int, other: int, most: float, taken: list[int]) -> int | None:
        """Of the largest reducers that fit, returns the one that loses the least locality per byte
        by moving to the other host."""
        here, there = self.hosts[host].node, self.hosts[other].node
        ranks = self.movable[host]
        first = bisect_left(ranks, bisect_left(self.negative_sizes, -most))
        best, least = None, 0.0
        for rank in ranks[first : first + COMPARED + len(taken)]:
            size = self.sizes[rank]
            if size and rank not in taken:
                held = self.reducers[rank].held_bytes
                loss = (held.get(here, 0) - held.get(there, 0)) / size
                if best is None or loss < least:
                    best, least = rank, loss
        return best

    def _limit(self, host: int, ceiling: float) -> float:
        # A host that an earlier, more local reducer made heavier may stay so.
        return max(ceiling * self.hosts[host].executors, self.loads[host])

    def _local_bytes(self, rank: int, host: int) -> int:
        return self.reducers[rank].held_bytes.get(self.hosts[host].node, 0)

    def _seal(self, rank: int) -> None:
        ranks = self.movable[self.host_of[rank]]
        del ranks[bisect_left(ranks, rank)]

    def _move(self, rank: int, target: int) -> None:
        self.loads[self.host_of[rank]] -= self.sizes[rank]
        self.loads[target] += self.sizes[rank]
        self.host_of[rank] = target


def _load_with(top: tuple[int, int, int], size: int, executors: int) -> tuple[float, float, int]:
    """Returns the sort key of a host with a reducer of this size added."""
    load, count, index = top
    return (load + size) / executors, (count + 1) / executors, index

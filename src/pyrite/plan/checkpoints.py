"""Which RDDs to checkpoint so that no recovery takes longer than a bound (Stark, III-D). Pure.

An RDD has a delay, how long its recovery takes once its parents are there, and a cost, the bytes
that a checkpoint of it writes. A path that is longer than the bound must be cut: the cheapest set
of RDDs that cuts all such paths is a minimum cut of the graph in which each RDD is an edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R")
# Rounding must not make a path too long that is just as long as the bound.
SLACK = 1e-9


class Cost(NamedTuple):
    """How long an RDD takes to compute from its parents, and the bytes of a checkpoint of it; None
    where it is not kept, and so can't be written."""

    delay_s: float
    bytes: int | None


class Paths(NamedTuple):
    """The longest path that ends with an RDD, and the longest from it to an end, itself
    included."""

    before_s: Mapping[Any, float]
    behind_s: Mapping[Any, float]


def choose(
    costs: Mapping[R, Cost],
    parents: Mapping[R, Sequence[R]],
    bound_s: float,
    relax: float = 1.0,
) -> list[R]:
    """Chooses the RDDs to checkpoint, in the order of `costs`.

    `parents` names the parents that must be computed again too: none of an RDD that starts at a
    checkpoint or at a source. Where nothing that is kept could cut a violating path, it stays.

    >>> chain = {"a": Cost(6, 9), "b": Cost(3, 1), "c": Cost(6, 5)}
    >>> choose(chain, {"b": ["a"], "c": ["b"]}, bound_s=10)
    ['b']
    """
    rest: Mapping[R, Cost] = costs
    while rest:
        ways = {rdd: [each for each in parents.get(rdd, ()) if each in rest] for rdd in rest}
        chosen = cut(rest, ways, bound_s, relax)
        if chosen:
            return [rdd for rdd in costs if rdd in chosen]
        # Nothing helps an end that can't be written, but what leads there can still be cut.
        have_child = {parent for near in ways.values() for parent in near}
        ends = {rdd for rdd in rest if rest[rdd].bytes is None and rdd not in have_child}
        rest = {rdd: cost for rdd, cost in rest.items() if rdd not in ends} if ends else {}
    return []


def cut(
    costs: Mapping[R, Cost], parents: Mapping[R, Sequence[R]], bound_s: float, relax: float
) -> set[R]:
    """Cuts all violating paths that can be cut."""
    paths = measure(costs, parents)
    violating = {
        rdd: cost
        for rdd, cost in costs.items()
        if paths.before_s[rdd] + paths.behind_s[rdd] - cost.delay_s > bound_s + SLACK
    }
    able = {rdd for rdd in violating if is_cut(costs[rdd], paths.behind_s[rdd], bound_s)}
    graph = None
    while graph is None and able & violating.keys():
        made = SplitGraph(violating, parents, able)
        uncut = made.uncuttable()
        graph = None if uncut else made
        violating = {rdd: cost for rdd, cost in violating.items() if rdd not in uncut}
    if graph is None:
        return set()
    chosen = graph.nearest_cut(1.0)
    if relax > 1.0:
        relaxed = graph.nearest_cut(relax)
        if total(costs, relaxed) <= relax * total(costs, chosen):
            chosen = relaxed
    return chosen


def edge(
    costs: Mapping[R, Cost],
    parents: Mapping[R, Sequence[R]],
    bound_s: float,
    used: Collection[R] = (),
) -> list[R]:
    """The paper's baseline: where a path is too long, checkpoints all RDDs that nothing was made of
    yet, or the last kept ones before them. Something that is written was made of `used` ones."""
    if longest_path_s(costs, parents) <= bound_s + SLACK:
        return []
    have_child = {parent for rdd in costs for parent in parents.get(rdd, ())}.union(used)
    pending = [rdd for rdd in costs if rdd not in have_child]
    seen = set(pending)
    chosen: set[R] = set()
    for rdd in pending:
        if costs[rdd].bytes is not None:
            chosen.add(rdd)
            continue
        for parent in parents.get(rdd, ()):
            if parent not in seen:
                seen.add(parent)
                pending.append(parent)
    return [rdd for rdd in costs if rdd in chosen]


def longest_path_s(costs: Mapping[R, Cost], parents: Mapping[R, Sequence[R]]) -> float:
    """Returns how long the longest recovery takes."""
    return max(measure(costs, parents).before_s.values(), default=0.0)


def is_cut(cost: Cost, behind_s: float, bound_s: float) -> bool:
    """Whether a checkpoint of the RDD can be written, and leaves the rest of the way within the
    bound: what is behind it, without itself."""
    return cost.bytes is not None and behind_s - cost.delay_s <= bound_s + SLACK


def total(costs: Mapping[R, Cost], chosen: set[R]) -> int:
    return sum(costs[rdd].bytes or 0 for rdd in chosen)


def measure(costs: Mapping[R, Cost], parents: Mapping[R, Sequence[R]]) -> Paths:
    """Returns the longest paths to and from each RDD."""
    order = list(ancestors_first(costs, parents))
    before: dict[R, float] = {}
    for rdd in order:
        longest = max((before[each] for each in parents.get(rdd, ())), default=0.0)
        before[rdd] = costs[rdd].delay_s + longest
    behind = {rdd: cost.delay_s for rdd, cost in costs.items()}
    for rdd in reversed(order):
        for each in parents.get(rdd, ()):
            behind[each] = max(behind[each], costs[each].delay_s + behind[rdd])
    return Paths(before, behind)


def ancestors_first(ends: Iterable[R], parents: Mapping[R, Sequence[R]]) -> Iterator[R]:
    """Returns these and all that they are computed from, each once."""
    seen: set[R] = set()
    for start in ends:
        pending = [(start, False)]
        while pending:
            rdd, is_done = pending.pop()
            if is_done:
                yield rdd
            elif rdd not in seen:
                seen.add(rdd)
                pending.append((rdd, True))
                pending += [(each, False) for each in parents.get(rdd, ()) if each not in seen]


class SplitGraph:
    """The RDDs of violating paths: each an edge from its in node to its out node, whose capacity is
    its cost; what can't be cut, and what leads from one to the next, has no limit.

    Nodes are numbers and capacities whole, so that runs agree.
    """

    def __init__(
        self,
        violating: Mapping[R, Cost],
        parents: Mapping[R, Sequence[R]],
        able: set[R],
    ) -> None:
        from networkx import DiGraph
        from networkx.algorithms.flow import preflow_push

        self.rdds = list(violating)
        self.able = able
        numbers = {rdd: 2 * place for place, rdd in enumerate(self.rdds)}
        self.source, self.sink = 2 * len(self.rdds), 2 * len(self.rdds) + 1
        # More than all together, in place of infinity, which networkx treats apart.
        self.unlimited = 1 + sum(cost.bytes or 0 for cost in violating.values())
        graph = DiGraph()
        graph.add_nodes_from((self.source, self.sink))
        has_child = {each for rdd in self.rdds for each in parents.get(rdd, ())}
        for rdd, number in numbers.items():
            capacity = violating[rdd].bytes if rdd in able else None
            self._add(graph, number, number + 1, capacity)
            near = [each for each in parents.get(rdd, ()) if each in numbers]
            for each in near:
                self._add(graph, numbers[each] + 1, number)
            if not near:
                self._add(graph, self.source, number)
            if rdd not in has_child:
                self._add(graph, number + 1, self.sink)
        self.graph = graph
        self.flow = preflow_push(graph, self.source, self.sink)

    def _add(self, graph: Any, start: int, end: int, capacity: int | None = None) -> None:
        graph.add_edge(start, end, capacity=self.unlimited if capacity is None else capacity)

    def uncuttable(self) -> set[Any]:
        """Returns the RDDs of paths of which nothing can be cut."""
        if self.flow.graph["flow_value"] < self.unlimited:
            return set()
        ahead = self._free(self.source, self.graph.succ)
        behind = self._free(self.sink, self.graph.pred)
        return {self.rdds[node // 2] for node in ahead & behind if node < self.source}

    def _free(self, start: int, near: Any) -> set[int]:
        """Returns the nodes that are reached over edges without a limit."""
        found = {start}
        pending = [start]
        while pending:
            node = pending.pop()
            for other, edge in near[node].items():
                if other not in found and edge["capacity"] >= self.unlimited:
                    found.add(other)
                    pending.append(other)
        return found

    def nearest_cut(self, relax: float) -> set[Any]:
        """Returns the cut that is nearest to the sink.

        The nodes that can still reach the sink in the residual graph are on its side; the RDDs that
        lead there are the cut. (The first saturated edges on the way back from the sink are not
        always a minimum cut: flow may have gone another way.) Relaxed by f, an RDD counts as
        saturated already where its capacity is at most f times its flow.
        """
        found: set[Any] = set()
        pending = [self.sink]
        seen = {self.sink}
        while pending:
            node = pending.pop()
            for before in self._reaching(node, relax):
                if before not in seen:
                    seen.add(before)
                    pending.append(before)
        for place, rdd in enumerate(self.rdds):
            if 2 * place + 1 in seen and 2 * place not in seen:
                found.add(rdd)
        return found

    def _reaching(self, node: int, relax: float) -> Iterator[int]:
        """Returns the nodes from which more can flow to a node."""
        for before, residual in self.flow.pred[node].items():
            flow, capacity = residual["flow"], residual["capacity"]
            is_rdd = before < self.source and before % 2 == 0 and node == before + 1
            is_relaxed = is_rdd and self.rdds[before // 2] in self.able and capacity <= relax * flow
            if flow < capacity and not is_relaxed:
                yield before

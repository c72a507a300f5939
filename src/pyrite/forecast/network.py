"""Shared links, disks and cores, and transfers over several of them.

A transfer between nodes loads the sender's out-link and the receiver's in-link at the same time,
and ends when the slower one is done: transfers share each link evenly, and it is never idle while
one waits for it. Max-min fairness over all links would change every rate whenever a transfer starts
or ends; this model costs a heap operation per link, and keeps what matters: the total time of each
link, so that overloaded receivers and senders show.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from math import inf

from pyrite.cluster.sim.timeline import Timeline
from pyrite.ids import NodeId

# Work with less time left counts as done: sums of floats are not exact.
INSTANT_S = 1e-9
# A fetch from more nodes than this loads the out-links of a sample of them.
EXACT_SOURCES = 100
SAMPLED_SOURCES = 16

Done = Callable[[], None]


class SharedWork:
    """One piece of work on a shared resource."""

    __slots__ = ("active", "done", "share")

    def __init__(self, share: Share, done: Done) -> None:
        self.share = share
        self.done = done
        self.active = True

    def stop(self) -> None:
        """Drops the rest of the work; `done` is not called."""
        if self.active:
            self.active = False
            self.share.leave()


class Share:
    """A resource that its users share evenly; `rate_each(n)` is the rate of each of n users."""

    __slots__ = ("_count", "_number", "_progress", "_rate_each", "_since_s", "_timeline", "_uses",
                 "_wake_s")  # fmt: skip

    def __init__(self, timeline: Timeline, rate_each: Callable[[int], float]) -> None:
        self._timeline = timeline
        self._rate_each = rate_each
        # The work done for each user since the resource was last idle.
        self._progress = 0.0
        self._since_s = 0.0
        self._uses: list[tuple[float, int, SharedWork]] = []
        self._number = 0
        self._count = 0
        self._wake_s = inf

    @property
    def users(self) -> int:
        return self._count

    def start(self, work: float, done: Done) -> SharedWork:
        """Starts a piece of work; calls `done` when it is complete."""
        self._advance()
        use = SharedWork(self, done)
        self._number += 1
        self._count += 1
        heapq.heappush(self._uses, (self._progress + work, self._number, use))
        self._plan()
        return use

    def leave(self) -> None:
        """Called when work is stopped: the others share its rate."""
        self._advance()
        self._count -= 1
        self._plan()

    def _advance(self) -> None:
        now_s = self._timeline.now_s
        if self._count:
            self._progress += (now_s - self._since_s) * self._rate_each(self._count)
        self._since_s = now_s

    def _plan(self) -> None:
        uses = self._uses
        while uses and not uses[0][2].active:
            heapq.heappop(uses)
        if not uses:
            self._progress = 0.0
            return
        left = max(0.0, uses[0][0] - self._progress)
        at_s = self._timeline.now_s + left / self._rate_each(self._count)
        # A wake that is too early checks again; only one that would be too late is replaced.
        if at_s < self._wake_s:
            self._wake_s = at_s
            self._timeline.at(at_s, self._wake, at_s)

    def _wake(self, planned_s: float) -> None:
        if planned_s != self._wake_s:
            return
        self._wake_s = inf
        self._advance()
        uses = self._uses
        reached = self._progress + INSTANT_S * self._rate_each(max(1, self._count))
        through: list[SharedWork] = []
        while uses and (uses[0][0] <= reached or not uses[0][2].active):
            use = heapq.heappop(uses)[2]
            if use.active:
                use.active = False
                through.append(use)
        self._count -= len(through)
        self._plan()
        for use in through:
            use.done()


def link(timeline: Timeline, bytes_per_s: float) -> Share:
    """A shared link whose work is in bytes, with a total rate."""
    return Share(timeline, lambda users: bytes_per_s / users)


class Transfer:
    """A transfer over several resources: done when all of them are."""

    __slots__ = ("_done", "_uses", "_waiting")

    def __init__(self, parts: Sequence[tuple[Share, float]], done: Done) -> None:
        self._done = done
        self._waiting = len(parts)
        self._uses = [share.start(work, self._pass) for share, work in parts]

    def _pass(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._done()

    def stop(self) -> None:
        """Stops the transfer; `done` is not called."""
        for use in self._uses:
            use.stop()


class Sources:
    """The bytes on each node; a fetch takes a fraction of each."""

    __slots__ = ("_turn", "by_node", "pairs", "total")

    def __init__(self, by_node: dict[NodeId, float]) -> None:
        self.by_node = by_node
        self.pairs = list(by_node.items())
        self.total = sum(by_node.values())
        self._turn = 0

    def without(self, taken: Mapping[NodeId, float]) -> Sources:
        """The rest when these bytes have been fetched already."""
        left = {node: max(0.0, size - taken.get(node, 0.0)) for node, size in self.by_node.items()}
        # Sums of floats are not exact.
        rest = Sources({node: size for node, size in left.items() if size > 1e-9 * self.total})
        self._turn += 1
        rest._turn = self._turn
        return rest

    def chosen(self) -> tuple[list[tuple[NodeId, float]], float]:
        """The nodes that a fetch loads, and the factor for their bytes.

        With very many nodes a fetch loads only a sample, with the bytes of all; the sample changes
        with every fetch, so that over many fetches each node sends its own share.
        """
        if len(self.pairs) <= EXACT_SOURCES:
            return self.pairs, 1.0
        step = len(self.pairs) // SAMPLED_SOURCES
        self._turn += 1
        sample = self.pairs[self._turn % step :: step]
        return sample, self.total / (sum(size for _, size in sample) or 1.0)


class Network:
    """Every node's in-link and out-link."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._in: dict[NodeId, Share] = {}
        self._out: dict[NodeId, Share] = {}
        self.sent_bytes = 0.0

    def join(self, node: NodeId, bytes_per_s: float) -> None:
        """Connects a node."""
        self._in[node] = link(self._timeline, bytes_per_s)
        self._out[node] = link(self._timeline, bytes_per_s)

    def send(self, source: NodeId, target: NodeId, size_bytes: float, done: Done) -> Transfer:
        """Transfers bytes from one node to another."""
        return Transfer(self.parts(target, Sources({source: size_bytes})), done)

    def parts(
        self, target: NodeId, sources: Sources, part: float = 1.0
    ) -> list[tuple[Share, float]]:
        """The loads of a fetch of this fraction of all sources: one in-link, many out-links."""
        remote = (sources.total - sources.by_node.get(target, 0.0)) * part
        if remote <= 0:
            return []
        self.sent_bytes += remote
        chosen, factor = sources.chosen()
        part *= factor
        out = self._out
        loads = [(out[node], size * part) for node, size in chosen if node != target]
        loads.append((self._in[target], remote))
        return loads

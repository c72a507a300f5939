"""A scheduler to talk with that has three nodes, whose map outputs have parts of given sizes."""

from __future__ import annotations

from conversation import Talk, of_type

from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId
from pyrite.place.sizes import encode
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

NODES = [NodeId(f"node-{number}") for number in range(3)]
MIB = 1 << 20


class Nodes(Talk):
    """Three nodes with an executor each; map outputs lie where their tasks ran."""

    def __init__(self, pool_bytes: int = 1 << 30, **rules: object) -> None:
        super().__init__(executors=1, pool_bytes=pool_bytes, **rules)
        for number in (1, 2):
            self.tell(ev.NodeJoined(NODES[number], pool_bytes))
            self.tell(ev.ExecutorJoined(ExecutorId(number), NODES[number]))

    def make(self, *sizes: int, attempt: int | None = None) -> list[do.Command]:
        """Lets the task that was launched first succeed, with a map output of these parts."""
        attempt = next(iter(self.running)) if attempt is None else attempt
        launch = self.running.pop(AttemptId(attempt))
        output = BlockRef(
            NODES[launch.executor], f"e{launch.executor}-{attempt}", 0, sum(sizes), "disk"
        )
        return self.tell(
            ev.TaskSucceeded(
                AttemptId(attempt), (ev.TaskOutput(output=output, sizes=encode(sizes)),)
            )
        )

    def finish(self, attempt: int | None = None) -> list[do.Command]:
        attempt = next(iter(self.running)) if attempt is None else attempt
        self.running.pop(AttemptId(attempt))
        return self.tell(ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(b"r"),)))

    def orders(self) -> list[do.FetchParts]:
        return of_type(self.log, do.FetchParts)

    def arrive(self, *orders: do.FetchParts) -> list[do.Command]:
        return [each for order in orders for each in self.tell(ev.PartsFetched(order.fetch))]

    def arrive_all(self) -> None:
        """Lets all that is ordered, and all that is ordered then, arrive."""
        arrived: set[int] = set()
        while fresh := [each for each in self.orders() if each.fetch not in arrived]:
            arrived.update(each.fetch for each in fresh)
            self.arrive(*fresh)

    def prefetched(self) -> list[str]:
        return [fetched.segment.name for fetched in self.scheduler.segments._by_fetch.values()]

"""A ring in one process, from one seed: members as they are, with a played network and disks."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from pyrite.ring.ballot import Ballot
from pyrite.ring.election import Role
from pyrite.ring.member import RingProcess
from pyrite.ring.messages import ClientRequest, RingPeer
from pyrite.ring.turn import AnswerClient, CopyBlock, DropBlock, RingAction, SaveItems, SendTo
from pyrite.ring.views import NO_WISH, RingMember, RingView

TICK_S = 0.1
TIMEOUT_S = 1.5


class Stored(NamedTuple):
    """A block on a played disk; its name says what its bytes should be."""

    data: bytes

    def is_good(self, name: str) -> bool:
        return self.data == content(name)


def content(name: str) -> bytes:
    return f"bytes of {name}".encode()


@dataclass
class PlayedDisk:
    """What survives a crash."""

    items: dict[str, Any] = field(default_factory=dict)
    blocks: dict[str, Stored] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)
    is_full: bool = False
    incarnation: int = 0
    renamed: int = 0


class Violation(AssertionError):
    """The ring has broken a promise."""


class PlayedMember:
    """One member's process and disk; the process comes and goes."""

    def __init__(self, world: RingWorld, address: str) -> None:
        self.world = world
        self.address = address
        self.disk = PlayedDisk()
        self.process: RingProcess | None = None
        self.is_gone = False
        self.life = 0
        self.orders: list[SaveItems] = []

    @property
    def id(self) -> str:
        return f"{self.address}.{self.disk.renamed}"

    def start(self, *, founds: bool = False) -> None:
        self.life += 1
        disk = self.disk
        if disk.spoilt:
            # What it promised may be among what it lost: it must not vote under its old name.
            disk.renamed += 1
            disk.items = {}
            disk.spoilt = set()
        disk.incarnation += 1
        me = RingMember(self.id, disk.incarnation, self.address, NO_WISH)
        disk.blocks = {name: each for name, each in disk.blocks.items() if each.is_good(name)}
        sizes = {name: len(each.data) for name, each in disk.blocks.items()}
        self.process = RingProcess(me, dict(disk.items), sizes)
        self.orders = []
        if founds:
            self.act(self.process.found(self.world.now_s))
        self.world.after(0.0, self.tick, self.life)

    def crash(self) -> None:
        """Loses all but the disk; the order under way is done in part."""
        if self.orders:
            order = self.orders[0]
            done = self.world.dice.randrange(len(order.items) + 1)
            self.apply(order.items[:done])
        self.process = None
        self.life += 1

    def tick(self, life: int) -> None:
        if self.process is None or life != self.life:
            return
        now_s = self.world.now_s
        if self.process.standing.view is None:
            self.act(self.process.join(now_s, list(self.world.members)))
        if self.process is not None:
            self.act(self.process.tick(now_s))
        self.world.after(TICK_S * self.world.dice.uniform(0.9, 1.1), self.tick, life)

    def hear(self, peer: RingPeer, message: Any) -> None:
        if self.process is not None:
            self.act(self.process.on_message(peer, message, self.world.now_s))

    def request(self, ticket: Any, request: ClientRequest) -> None:
        if self.process is not None:
            self.act(self.process.on_request(ticket, request, self.world.now_s))

    def act(self, actions: list[RingAction]) -> None:
        self.world.look(self)
        dies_at = self.world.sudden_death(len(actions))
        for index, action in enumerate(actions):
            if index == dies_at:
                self.crash()
            if self.process is None:
                return
            match action:
                case SendTo(address, message):
                    peer = RingPeer(self.process.standing.me.id, self.address)
                    target = self.world.members.get(address)
                    if target is not None:
                        self.world.carry(self.address, address, target.hear, peer, message)
                case AnswerClient(ticket, reply):
                    client, answer = ticket
                    self.world.carry(self.address, client, answer, reply)
                case SaveItems():
                    self.orders.append(action)
                    if len(self.orders) == 1:
                        self.world.after(self.world.disk_s(), self.save, self.life)
                case CopyBlock(name, id, address, view):
                    self.send_block(name, id, address, view)
                case DropBlock(name):
                    self.disk.blocks.pop(name, None)

    def save(self, life: int) -> None:
        if life != self.life or self.process is None:
            return
        order = self.orders.pop(0)
        if not self.disk.is_full:
            self.apply(order.items)
        if self.orders:
            self.world.after(self.world.disk_s(), self.save, life)
        self.act(self.process.on_saved(order.order, not self.disk.is_full, self.world.now_s))

    def apply(self, items: list[tuple[str, Any]]) -> None:
        for name, value in items:
            self.disk.spoilt.discard(name)
            if value is None:
                self.disk.items.pop(name, None)
            else:
                self.disk.items[name] = value

    def send_block(self, name: str, id: str, address: str, view: int) -> None:
        life = self.life

        def told(is_there: bool | None) -> None:
            if life == self.life and self.process is not None:
                now_s = self.world.now_s
                self.act(self.process.on_block_copied(name, id, is_there is True, now_s))

        stored = self.disk.blocks.get(name)
        if stored is None or not stored.is_good(name):
            told(False)
            assert self.process is not None
            self.act(self.process.on_block_lost(name, self.world.now_s))
            return
        self.world.ask_block(self.address, address, told, view, name, stored.data)

    def put_block(self, answer: Callable[[Any], None], view: int, name: str, data: bytes) -> None:
        """Takes a block as the server does: asks before it is written, and again after."""
        if self.process is None:
            return
        if not self.process.repair.takes(view, name):
            answer(False)
            return
        life = self.life

        def written() -> None:
            if life != self.life or self.process is None:
                return
            if self.disk.is_full:
                answer("full")
            elif not self.process.repair.takes(view, name):
                answer(False)
            else:
                self.disk.blocks[name] = Stored(data)
                self.process.repair.stored(name, len(data))
                answer(True)

        self.world.after(self.world.disk_s(), written)

    def get_block(self, answer: Callable[[Any], None], name: str) -> None:
        if self.process is None:
            return
        stored = self.disk.blocks.get(name)
        answer(None if stored is None else stored.data)
        if stored is not None and not stored.is_good(name):
            self.act(self.process.on_block_lost(name, self.world.now_s))

    def drop_block(self, answer: Callable[[Any], None], name: str) -> None:
        if self.process is not None:
            self.act(self.process.on_block_unneeded(name, self.world.now_s))
            answer(True)


class RingWorld:
    """Time, chance, the network, and the members."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.now_s = 0.0
        self.members: dict[str, PlayedMember] = {}
        self.loss = self.dice.choice([0.0, 0.0, 0.01, 0.05])
        self.doubling = self.dice.choice([0.0, 0.02, 0.1])
        self.lateness_s = self.dice.choice([0.0, 0.5, 3.0])
        self.sides: dict[str, int] = {}
        self.sudden = 0.0
        self.coordinators: dict[tuple[int, int], str] = {}
        self.views: dict[int, RingView] = {}
        self._plan: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def after(self, delay_s: float, do: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._plan, (self.now_s + delay_s, self._count, do, args))

    def run(self, until_s: float, done: Callable[[], bool] = lambda: False) -> None:
        while self._plan and self._plan[0][0] <= until_s and not done():
            self.now_s, _, do, args = heapq.heappop(self._plan)
            do(*args)
        if not done():
            self.now_s = max(self.now_s, until_s)

    def sudden_death(self, count: int) -> int | None:
        """Before which of so many actions a member crashes, if it does."""
        if count < 3 or self.dice.random() >= self.sudden:
            return None
        return self.dice.randrange(count)

    def disk_s(self) -> float:
        return self.dice.uniform(0.0005, 0.01)

    def carry(self, source: str, target: str, deliver: Callable[..., None], *args: Any) -> None:
        """Takes a message from one to the other: late, twice, or not at all."""
        if source == target:
            self.after(0.0001, deliver, *args)
            return
        copies = 1 + (self.dice.random() < self.doubling)
        for _ in range(copies):
            if self.dice.random() < self.loss:
                continue
            delay_s = self.dice.uniform(0.0005, 0.003)
            if self.dice.random() < 0.05:
                delay_s += self.dice.random() * self.lateness_s
            self.after(delay_s, self._deliver, source, target, deliver, args)

    def _deliver(
        self, source: str, target: str, deliver: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        if self.sides.get(source, 0) == self.sides.get(target, 0):
            deliver(*args)

    def ask_block(
        self,
        source: str,
        target: str,
        told: Callable[[Any], None],
        view: int,
        name: str,
        data: bytes,
    ) -> None:
        """Sends a block; `told` hears once whether it was taken, None if nobody answered."""
        once = Once(told)
        member = self.members[target]

        def answer(reply: Any) -> None:
            self.carry(target, source, once, reply)

        self.carry(source, target, member.put_block, answer, view, name, data)
        self.after(TIMEOUT_S, once, None)

    def look(self, member: PlayedMember) -> None:
        """Checks what must hold at any time: one coordinator a term, and one chain of views."""
        process = member.process
        if process is None or process.standing.ballot is None:
            return
        ballot: Ballot = process.standing.ballot
        known = self.views.setdefault(ballot.view.number, ballot.view)
        if known != ballot.view:
            raise Violation(f"two views have the number {ballot.view.number}")
        if process.election.role is Role.COORDINATOR:
            term = ballot.view.number, process.election.round
            if self.coordinators.setdefault(term, process.standing.me.id) != process.standing.me.id:
                raise Violation(f"two coordinators in the term {term}")

    def living(self) -> list[PlayedMember]:
        return [each for each in self.members.values() if each.process is not None]

    def is_whole(self) -> bool:
        """Whether all living members are in one view, which has all its copies."""
        living = self.living()
        numbers = {each.process.standing.number for each in living if each.process}
        if len(numbers) != 1 or not living:
            return False
        view = living[0].process.standing.view if living[0].process else None
        admitted = [each for each in living if each.process and each.process.standing.is_admitted]
        return (
            view is not None
            and len(admitted) == len(living) == len(view.members)
            and all(each.process is not None and each.process.is_whole for each in living)
        )


class Once:
    """Passes on the first of several answers."""

    def __init__(self, told: Callable[[Any], None]) -> None:
        self.told = told
        self.is_done = False

    def __call__(self, reply: Any) -> None:
        if not self.is_done:
            self.is_done = True
            self.told(reply)

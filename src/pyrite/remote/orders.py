"""Orders that a node's threads carry out: for several places at once, and for each in their order.

What is ordered is decided elsewhere. Whatever an order makes lies there whole, or nothing of it
does.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote.errors import Address, PeerLost

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient

CLOSE_S = 5.0
_MAKE = os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL


class Order(Protocol):
    """What shall be done, and with which other node; without an address on the own one."""

    @property
    def id(self) -> int: ...

    @property
    def address(self) -> Address | None: ...


AnOrder = TypeVar("AnOrder", bound=Order)


class NotDone(Exception):
    """Why nothing lies where an order wants it."""


class Orders(Generic[AnOrder]):
    """Orders by the places that they have to do with, and the threads that carry them out.

    `done` hears of each from some thread: None when all of it is done, else why nothing is.
    """

    # What its threads are called, and how many there are at most.
    name: str
    most_threads: int

    def __init__(
        self,
        folders: Folders,
        secret: bytes | None,
        done: Callable[[int, str | None], None],
        forgotten: Container[str] = (),
    ) -> None:
        self.folders = folders
        self.secret = secret
        self.done = done
        # Names that were dropped; who drops one removes its file after it is in here.
        self.forgotten = forgotten
        # The orders of each place that has some or is being served, and the places whose turn it
        # is: those that have some and that nobody serves.
        self.waiting: dict[Address | None, deque[AnOrder]] = {}
        self.ready: deque[Address | None] = deque()
        self.changed = threading.Condition()
        self.threads: list[threading.Thread] = []
        self.clients: list[BlockClient] = []
        self.closed = False

    def new_hand(self) -> Hand[AnOrder]:
        """Who carries out the orders that one thread takes."""
        raise NotImplementedError

    def take(self, order: AnOrder) -> None:
        """Has it done when the orders before it for its place are; returns at once."""
        with self.changed:
            if order.address not in self.waiting:
                self.waiting[order.address] = deque()
                self.ready.append(order.address)
            self.waiting[order.address].append(order)
            self.changed.notify()
            if len(self.threads) < min(len(self.waiting), self.most_threads):
                thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self.threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Ends; nothing more is said of orders that are not done, nor left of what they made."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for client in self.clients:
            client.hang_up()
        # A disk that hangs must not hold up who closes.
        end_s = time.monotonic() + CLOSE_S
        for thread in self.threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def meet(self, client: BlockClient) -> None:
        """A hand's client, which breaks off when this is closed."""
        with self.changed:
            self.clients.append(client)
            if self.closed:
                # Who closed may have looked for clients before there was this one.
                raise NotDone(f"the {self.name} was closed")

    def _run(self) -> None:
        hand = self.new_hand()
        while (order := self._next()) is not None:
            reason = self._try(hand, order)
            if self.closed:
                break
            self.done(order.id, reason)
            self._pass_on(order.address)
        hand.close()

    def _next(self) -> AnOrder | None:
        with self.changed:
            self.changed.wait_for(lambda: self.ready or self.closed)
            return None if self.closed else self.waiting[self.ready.popleft()].popleft()

    def _pass_on(self, address: Address | None) -> None:
        """Whoever is free serves the place next, after the others whose turn it is."""
        with self.changed:
            if self.waiting[address]:
                self.ready.append(address)
                self.changed.notify()
            else:
                del self.waiting[address]

    def _try(self, hand: Hand[AnOrder], order: AnOrder) -> str | None:
        """Why the order can't be done, if it can't."""
        try:
            hand.carry_out(order)
        except PeerLost as error:
            self._give_up(order.address, str(error))
            return str(error)
        except Exception as error:
            # Whatever one order brings about, the others are done.
            return str(error) or repr(error)
        return None

    def _give_up(self, address: Address | None, reason: str) -> None:
        """Who waits for a node that is lost would hold up the others, each for a timeout."""
        with self.changed:
            if self.closed:
                return
            in_vain = list(self.waiting[address])
            self.waiting[address].clear()
        for order in in_vain:
            self.done(order.id, reason)


class Hand(Generic[AnOrder]):
    """Carries out one order after another, for one thread."""

    # What its client keeps to receive blocks into.
    kept_bytes: int | None = None

    def __init__(self, orders: Orders[AnOrder]) -> None:
        self.orders = orders
        self.folders = orders.folders
        self.client: BlockClient | None = None

    def carry_out(self, order: AnOrder) -> None:
        """Raises where nothing of it is done after all."""
        raise NotImplementedError

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def check_open(self) -> None:
        """Raises where nobody waits for anything any more."""
        if self.orders.closed:
            raise NotDone(f"the {self.orders.name} was closed")

    def know_client(self) -> BlockClient:
        """The client that asks other nodes."""
        from pyrite.remote.client import BlockClient

        if self.orders.secret is None:
            raise NotDone("this application has no secret that other nodes would ask for")
        if self.client is None:
            self.client = BlockClient(self.orders.secret)
            if self.kept_bytes is not None:
                self.client.buffers.kept_bytes = self.kept_bytes
            self.orders.meet(self.client)
        return self.client

    def check_wanted(self, segment: str) -> None:
        """Raises where the segment that is to be made was dropped."""
        if segment in self.orders.forgotten:
            raise NotDone(f"segment {segment} was dropped before it was made")

    @contextlib.contextmanager
    def making(self, segment: str, medium: Medium) -> Iterator[int]:
        """A new file for a segment, which goes again where it does not become whole, or is
        dropped meanwhile."""
        path = self.folders.path(segment, medium)
        try:
            target = os.open(path, _MAKE, 0o600)
        except FileExistsError:
            raise NotDone(f"a segment {segment} was made by somebody else") from None
        except OSError as error:
            raise self.no_room(medium, error) from None
        try:
            try:
                yield target
                is_there = os.fstat(target).st_nlink > 0
            finally:
                os.close(target)
            # Looked up when it is made: whoever drops it from now on finds it and removes it.
            if not is_there or segment in self.orders.forgotten:
                raise self.dropped(segment)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise

    def dropped(self, segment: str) -> NotDone:
        return NotDone(f"segment {segment} was dropped while it was made")

    def no_room(self, medium: Medium, error: OSError) -> NotDone:
        folder = self.folders.memory if medium == "memory" else self.folders.disk
        return NotDone(f"{folder} did not take it: {error.strerror}")

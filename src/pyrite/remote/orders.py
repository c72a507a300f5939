"""Orders that a node's threads carry out: several places in parallel, each place in sequence.

The scheduler decides what is ordered. An order leaves a whole segment or nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote.errors import Address, PeerLost

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient

CLOSE_S = 5.0
_MAKE = os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL


class Order(Protocol):
    """A task of a block server, and the other node's address; None for the own node."""

    @property
    def id(self) -> int: ...

    @property
    def address(self) -> Address | None: ...


AnOrder = TypeVar("AnOrder", bound=Order)


class NotDone(Exception):
    """The reason why an order failed."""


class Orders(Generic[AnOrder]):
    """Queues of orders, one per place, and the threads that carry them out.

    Some thread calls `done` for each order: with None if it succeeded, else with the reason.
    """

    # The name of its threads, and their maximum number.
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
        # Dropped names; a segment's name is added here before its file is removed.
        self.forgotten = forgotten
        # The queue of each place that has orders or is being served, and the places that have
        # orders and are not being served.
        self.waiting: dict[Address | None, deque[AnOrder]] = {}
        self.ready: deque[Address | None] = deque()
        self.changed = threading.Condition()
        self.threads: list[threading.Thread] = []
        self.clients: list[BlockClient] = []
        self.closed = False

    def new_hand(self) -> Hand[AnOrder]:
        """Makes the worker of one thread."""
        raise NotImplementedError

    def take(self, order: AnOrder) -> None:
        """Queues an order behind the others of its place; returns at once."""
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
        """Ends the threads; pending orders leave nothing behind and are not reported."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for client in self.clients:
            client.hang_up()
        # A hung disk must not hold up the caller.
        end_s = time.monotonic() + CLOSE_S
        for thread in self.threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def meet(self, client: BlockClient) -> None:
        """Registers a worker's client, to be interrupted on close."""
        with self.changed:
            self.clients.append(client)
            if self.closed:
                # `close` may have gone through the clients before this one was added.
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
        """Queues the place behind the others, if it has more orders."""
        with self.changed:
            if self.waiting[address]:
                self.ready.append(address)
                self.changed.notify()
            else:
                del self.waiting[address]

    def _try(self, hand: Hand[AnOrder], order: AnOrder) -> str | None:
        """Carries out an order; returns the reason if it fails."""
        try:
            hand.carry_out(order)
        except PeerLost as error:
            self._give_up(order.address, str(error))
            return str(error)
        except Exception as error:
            # The failure of one order must not stop the others.
            return str(error) or repr(error)
        return None

    def _give_up(self, address: Address | None, reason: str) -> None:
        """Fails all orders for a lost node: each would hold up the others for a timeout."""
        with self.changed:
            if self.closed:
                return
            failed = list(self.waiting[address])
            self.waiting[address].clear()
        for order in failed:
            self.done(order.id, reason)


class Hand(Generic[AnOrder]):
    """The worker of one thread: carries out one order after another."""

    # The memory that its client keeps to receive blocks into.
    kept_bytes: int | None = None

    def __init__(self, orders: Orders[AnOrder]) -> None:
        self.orders = orders
        self.folders = orders.folders
        self.client: BlockClient | None = None

    def carry_out(self, order: AnOrder) -> None:
        """Carries out an order; raises if it fails, and leaves nothing behind then."""
        raise NotImplementedError

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def check_open(self) -> None:
        """Raises if the orders were closed."""
        if self.orders.closed:
            raise NotDone(f"the {self.orders.name} was closed")

    def know_client(self) -> BlockClient:
        """Returns the client of other nodes' block servers; makes it at first."""
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
        """Raises if the segment was dropped before it is made."""
        if segment in self.orders.forgotten:
            raise NotDone(f"segment {segment} was dropped before it was made")

    def making(self, segment: str, medium: Medium) -> AbstractContextManager[int]:
        """Creates a segment's file; removes it if it is not completed, or dropped meanwhile."""
        path = self.folders.path(segment, medium)
        try:
            target = os.open(path, _MAKE, 0o600)
        except FileExistsError:
            raise NotDone(f"a segment {segment} was made by somebody else") from None
        except OSError as error:
            raise self.no_room(medium, error) from None
        return self.filling(segment, target, partial(_remove, path))

    @contextlib.contextmanager
    def filling(self, segment: str, target: int, undo: Callable[[], None]) -> Iterator[int]:
        """Closes the file of a new segment; undoes the segment if it is not completed, or dropped
        meanwhile."""
        try:
            try:
                yield target
                is_there = os.fstat(target).st_nlink > 0
            finally:
                os.close(target)
            # Checked once it is complete: a later drop finds the segment and removes it.
            if not is_there or segment in self.orders.forgotten:
                raise self._dropped(segment)
        except BaseException:
            undo()
            raise

    def check_kept(self, segment: str) -> None:
        """Raises if the segment was dropped while it is made."""
        if segment in self.orders.forgotten:
            raise self._dropped(segment)

    @staticmethod
    def _dropped(segment: str) -> NotDone:
        return NotDone(f"segment {segment} was dropped while it was made")

    def no_room(self, medium: Medium, error: OSError) -> NotDone:
        folder = self.folders.memory if medium == "memory" else self.folders.disk
        return NotDone(f"{folder} did not take it: {error.strerror}")


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)

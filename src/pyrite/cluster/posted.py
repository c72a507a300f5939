"""Events that threads of the driver post to the loop."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from operator import methodcaller
from typing import Any

from pyrite.schedule.events import Event


class Waking(weakref.ref[Any]):
    """A weak reference that wakes the loop when its object is freed."""

    __slots__ = ("wake",)

    wake: Callable[[bytes], object]


class Departure(weakref.ref[Any]):
    """A weak reference with the event or call that is due when its object is freed."""

    __slots__ = ("call", "event", "number", "waking")

    event: Event | None
    call: Callable[[], None] | None
    number: int
    waking: Waking | None


class Posted:
    """A queue of events from any thread of the driver, and of objects that were freed.

    Ctrl-C could interrupt a finalizer written in Python, and its event would be lost. So both steps
    are calls in C: one appends the departure to the queue, one wakes the loop.
    """

    def __init__(self, wake: Callable[[bytes], object] | None = None) -> None:
        # A function written in C that takes a byte.
        self.wake = wake
        self.items: deque[Event | Departure] = deque()
        self.numbers = itertools.count()
        # A weak reference that is itself freed is not called back, so all of them are held here.
        self.departures: dict[int, Departure] = {}
        self.closed = False

    def post(self, event: Event) -> None:
        self.items.append(event)
        self.wake_loop()

    def wake_loop(self) -> None:
        if self.wake is not None:
            # With a full buffer the loop wakes anyway; with a closed one there is no loop.
            with suppress(OSError, ValueError):
                self.wake(b"w")

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        """Posts the event when the object is freed, or when the returned function is called."""
        number = self._watch(owner, event, None)
        return lambda: self._post_early(number)

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        """Has the loop's thread call it when the object is freed."""
        self._watch(owner, None, call)

    def _watch(self, owner: Any, event: Event | None, call: Callable[[], None] | None) -> int:
        if self.closed:
            return next(self.numbers)
        waking = None
        if self.wake is not None:
            waking = Waking(owner, methodcaller("wake", b"w"))
            waking.wake = self.wake
        # Python calls the newest reference of an object first: this one before `waking`.
        departure = Departure(owner, self.items.append)
        departure.event, departure.call, departure.waking = event, call, waking
        number = departure.number = next(self.numbers)
        if not self.closed:
            self.departures[number] = departure
        return number

    def _post_early(self, number: int) -> None:
        departure = self.departures.pop(number, None)
        if departure is not None and departure.event is not None:
            self.post(departure.event)

    def has_event(self) -> bool:
        """Whether an event is queued; makes the calls that are queued before it."""
        while self.items:
            first = self.items[0]
            if not isinstance(first, Departure) or first.call is None:
                return True
            self.items.popleft()
            self.departures.pop(first.number, None)
            first.call()
        return False

    def take(self) -> Event:
        """Removes and returns the first event."""
        first = self.items.popleft()
        if not isinstance(first, Departure):
            return first
        self.departures.pop(first.number, None)
        assert first.event is not None
        return first.event

    def close(self) -> None:
        """Ignores objects that are freed from now on: the loop has ended."""
        self.closed = True
        self.departures.clear()

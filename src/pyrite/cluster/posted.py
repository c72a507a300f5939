"""What threads of the driver tell the loop."""

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
    """Wakes the loop when an object goes."""

    __slots__ = ("wake",)

    wake: Callable[[bytes], object]


class Departure(weakref.ref[Any]):
    """What is to be told, or done by the loop's thread, when an object goes."""

    __slots__ = ("call", "event", "number", "waking")

    event: Event | None
    call: Callable[[], None] | None
    number: int
    waking: Waking | None


class Posted:
    """Events from any thread of the driver in order, and what follows from objects that go.

    A finalizer in Python could be broken off by Ctrl-C, and what it should tell would be lost. So
    both steps here are calls in C: one lays the departure behind the events, one wakes the loop.
    """

    def __init__(self, wake: Callable[[bytes], object] | None = None) -> None:
        # Written in C, and called with a byte.
        self.wake = wake
        self.items: deque[Event | Departure] = deque()
        self.numbers = itertools.count()
        # A reference that nobody holds is not called.
        self.departures: dict[int, Departure] = {}
        self.closed = False

    def post(self, event: Event) -> None:
        self.items.append(event)
        self.wake_loop()

    def wake_loop(self) -> None:
        if self.wake is not None:
            # A full buffer wakes the loop too, and a closed one has no loop to wake.
            with suppress(OSError, ValueError):
                self.wake(b"w")

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        """Posts the event when the object goes, or when what is given is called."""
        number = self._watch(owner, event, None)
        return lambda: self._post_early(number)

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        """Has the loop's thread call it when the object goes."""
        self._watch(owner, None, call)

    def _watch(self, owner: Any, event: Event | None, call: Callable[[], None] | None) -> int:
        if self.closed:
            return next(self.numbers)
        waking = None
        if self.wake is not None:
            waking = Waking(owner, methodcaller("wake", b"w"))
            waking.wake = self.wake
        # Of an object's references the last one that was made is called first.
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
        """Whether there is one; calls what comes before it."""
        while self.items:
            first = self.items[0]
            if not isinstance(first, Departure) or first.call is None:
                return True
            self.items.popleft()
            self.departures.pop(first.number, None)
            first.call()
        return False

    def take(self) -> Event:
        """The first event."""
        first = self.items.popleft()
        if not isinstance(first, Departure):
            return first
        self.departures.pop(first.number, None)
        assert first.event is not None
        return first.event

    def close(self) -> None:
        """Nobody reads any more: who goes from here on tells nobody."""
        self.closed = True
        self.departures.clear()

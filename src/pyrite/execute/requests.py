"""A running task's requests to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyrite.blocks.stream import Granted
from pyrite.blocks.writer import Want
from pyrite.ids import NodeId

Message = tuple[Any, ...]


class Channel(Protocol):
    """An executor's connection to the driver."""

    def send(self, message: Message) -> None: ...

    def receive(self, interruptible: bool = False) -> Message: ...

    def poll(self) -> Message | None:
        """Returns a message that has arrived, if there is one."""


class DriverRequests:
    """Requests of the running task, and the answers that have arrived.

    Other messages that arrive in between are handled as between tasks.
    """

    def __init__(self, channel: Channel, handle: Callable[[Message], None]) -> None:
        self._channel = channel
        self._handle = handle
        self._open: set[tuple[str, object]] = set()
        self._answers: dict[tuple[str, object], Any] = {}

    def ask(self, want: Want) -> None:
        """Requests room, without waiting for it."""
        self._send("space", want.segment, want)

    def answer(self, want: Want, wait: bool) -> Granted | None:
        key = "space", want.segment
        if not wait:
            while key not in self._answers and (message := self._channel.poll()) is not None:
                self._handle(message)
            if key not in self._answers:
                return None
        return Granted(self._wait_for(*key))

    def lease(self, want: Want) -> NodeId | None:
        """Requests room and waits for it."""
        self.ask(want)
        place: NodeId | None = self._wait_for("space", want.segment)
        return place

    def meet(self, attempt: int, message: str) -> list[str]:
        """Waits at a barrier for the other tasks; returns all their messages."""
        self._send("barrier", attempt, (attempt, message))
        return list(self._wait_for("barrier", attempt))

    def accept(self, kind: str, about: object, answer: Any) -> bool:
        """Takes an answer; False where its question was given up."""
        key = kind, about
        if key not in self._open:
            return False
        self._open.remove(key)
        self._answers[key] = answer
        return True

    def give_up(self) -> None:
        """Forgets what a task that has ended has asked."""
        self._open.clear()
        self._answers.clear()

    def _send(self, kind: str, about: object, fields: Message) -> None:
        self._open.add((kind, about))
        self._channel.send((kind, *fields))

    def _wait_for(self, kind: str, about: object) -> Any:
        key = kind, about
        while key not in self._answers:
            self._handle(self._channel.receive(interruptible=True))
        return self._answers.pop(key)

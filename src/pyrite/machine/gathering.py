"""What the loops of comprehensions gather while they are traced."""

from __future__ import annotations

from pyrite.machine.bytecode import NotTraced
from pyrite.machine.emit import Label, Line
from pyrite.machine.values import GatheredItems, Value, storable


class Gathering:
    """The open loops of a call, the innermost last: a round gives one item, or leaves it out."""

    def __init__(self) -> None:
        self._open: list[GatheredItems] = []

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def begin(self, gathered: GatheredItems) -> None:
        self._open.append(gathered)

    def end(self) -> None:
        self._open.pop()

    def take(self, target: GatheredItems | None, value: Value, meetings: list[int]) -> None:
        """Takes the item of a round of the innermost loop; where branches decide on it, the round
        must end where they meet."""
        inner = self._open[-1]
        ends = all(each == inner.place for each in meetings[inner.branches :])
        if inner.value is not None or not ends or target not in (None, inner):
            raise NotTraced("a comprehension with several items a round")
        inner.value = storable(value)

    def taken(self) -> Value | None:
        """The item that a way through a branch has given its round."""
        if not self._open:
            return None
        value, self._open[-1].value = self._open[-1].value, None
        return value

    def leave_out(
        self,
        jumped: Value | None,
        other: Value | None,
        jumped_lines: list[Line | Label],
        other_lines: list[Line | Label],
    ) -> None:
        """Ends the round of the way that has no item."""
        if jumped is not None and other is not None:
            raise NotTraced("a comprehension with several items a round")
        inner = self._open[-1]
        inner.value = other if jumped is None else jumped
        without = jumped_lines if jumped is None else other_lines
        without.append(Line("JUMP", 0, inner.skip, 0))

"""When an agent that does not hear from its driver must end: it has been given up."""

from __future__ import annotations


class Fence:
    """Decides from the time and the driver's words; without a limit silence means nothing."""

    def __init__(self, alone_s: float | None, now_s: float) -> None:
        self.alone_s = alone_s
        self.heard_s = now_s

    def hear(self, now_s: float) -> None:
        """The driver has said something."""
        self.heard_s = now_s

    def is_over(self, now_s: float) -> bool:
        """Whether the driver has been silent for so long that it goes on without this node."""
        return self.alone_s is not None and now_s - self.heard_s > self.alone_s

    def look_s(self) -> float | None:
        """How long to wait at most before looking again."""
        return None if self.alone_s is None else self.alone_s / 4

"""What goes wrong with a ring as a whole."""

from __future__ import annotations

from pyrite.errors import ClusterError

NO_MAJORITY = "no majority of the ring's members answers: it is read only until they are back"


class RingUnavailable(ClusterError, OSError):
    """No majority of a ring's members answers, or not all copies of a path can be reached."""

    def __init__(self, message: str, *, maybe_done: bool = False) -> None:
        super().__init__(message)
        # Whether what was asked for may have happened all the same, or may still happen.
        self.maybe_done = maybe_done

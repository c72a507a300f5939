"""Limits the rate at which a server sends, for experiments with slow networks."""

from __future__ import annotations

# How long the bucket fills during a pause.
BURST_S = 0.01
# The least that is worth waking up for, and what one connection sends in its turn.
SPELL_S = 0.005
SPELL_BYTES = 16 << 10


class TokenBucket:
    """Counts the bytes that may be sent by now; a rate of 0 is no limit."""

    def __init__(self, bytes_per_s: int) -> None:
        self.bytes_per_s = bytes_per_s
        self.spell_bytes = max(SPELL_S * bytes_per_s, SPELL_BYTES)
        self.burst_bytes = max(BURST_S * bytes_per_s, self.spell_bytes)
        self.left_bytes = self.burst_bytes
        self.filled_s: float | None = None
        # True from when it is empty until there is enough for a turn.
        self.is_dry = False

    def fill(self, now_s: float) -> None:
        """Adds the bytes for the time since the last call."""
        if self.filled_s is not None:
            gained = (now_s - self.filled_s) * self.bytes_per_s
            self.left_bytes = min(self.burst_bytes, self.left_bytes + gained)
        self.filled_s = now_s
        if self.left_bytes >= self.spell_bytes:
            self.is_dry = False

    def grant(self, wanted: int) -> int:
        """Returns how many of these bytes may be sent now."""
        if not self.bytes_per_s:
            return wanted
        return 0 if self.is_dry else min(wanted, int(self.spell_bytes))

    def spend(self, count: int) -> None:
        """Counts sent bytes; more than were left become a debt."""
        if self.bytes_per_s:
            self.left_bytes -= count
            self.is_dry = self.is_dry or self.left_bytes <= 0

    def wait_s(self) -> float:
        """How long until there is enough for a turn."""
        return max(0.0, (self.spell_bytes - self.left_bytes) / self.bytes_per_s)

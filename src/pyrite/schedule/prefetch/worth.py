"""Whether fetching ahead saves more than it costs, by what past fetches have reported."""

from __future__ import annotations

# A link's rate is that of so many bytes: a single order may come in a burst.
SAMPLE_BYTES = 4 << 20
# After each sample, earlier ones count less by this factor: links and cores may be busier now.
FORGET = 0.95
# Fetching must save at least so many times what it takes.
LEAST_GAIN = 2


class FetchWorth:
    """Compares the time that reducers are spared, by the best rate of links, with the processor
    time that fetching takes from tasks.

    Where the network is as fast as memory, fetching is mostly copying: it saves no time unless
    cores are idle. The best rate counts, since a busy machine makes any link look slow.
    """

    def __init__(self) -> None:
        self.link_bytes_per_s = 0.0
        self._bytes = 0.0
        self._link_s = 0.0
        self._all_bytes = 0.0
        self._taken_s = 0.0

    def learn(self, size_bytes: int, link_s: float, taken_s: float) -> None:
        """Counts a fetch; one without a time was not measured."""
        if not link_s:
            return
        self._bytes += size_bytes
        self._link_s += link_s
        self._all_bytes += size_bytes
        self._taken_s += taken_s
        if self._bytes >= SAMPLE_BYTES:
            rate = self._bytes / self._link_s
            self.link_bytes_per_s = max(rate, FORGET * self.link_bytes_per_s)
            self._bytes = self._link_s = 0.0
            self._all_bytes *= FORGET
            self._taken_s *= FORGET

    @property
    def taken_s_per_byte(self) -> float:
        return self._taken_s / self._all_bytes if self._all_bytes else 0.0

    @property
    def is_worth(self) -> bool:
        if not self.link_bytes_per_s:
            return True
        return 1.0 / self.link_bytes_per_s > LEAST_GAIN * self.taken_s_per_byte

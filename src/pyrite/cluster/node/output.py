"""What an executor prints: read from a pipe, bounded, passed on line by line."""

from __future__ import annotations

import contextlib
import os
from collections import deque

CHUNK_BYTES = 1 << 16
# What an executor may print in a second, and at once; the rest is left out, and it is said.
RATE_BYTES_PER_S = 256 << 10
BURST_BYTES = 1 << 20
LONGEST_LINE_BYTES = 8 << 10
# How much of the end of its output a death report shows.
LAST_LINES = 10
LAST_LINE_CHARS = 300


class OutputPipe:
    """The reading end of an executor's standard output and errors."""

    def __init__(self, fd: int, now_s: float) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.allowed_bytes = float(BURST_BYTES)
        self.filled_s = now_s
        self.unfinished = b""
        self.left_out = 0
        # Whether the executor has closed all of its ends.
        self.ended = False
        self.last: deque[bytes] = deque(maxlen=LAST_LINES)

    def read(self, now_s: float, to_end: bool = False) -> list[str]:
        """Returns the lines that have arrived, as far as there is room for them; at the end of a
        task also a line that has not ended."""
        data = bytearray(self.unfinished)
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self.fd, CHUNK_BYTES):
                data += more
                if len(more) < CHUNK_BYTES:
                    break
            else:
                self.ended = True
        *lines, self.unfinished = bytes(data).split(b"\n")
        if self.unfinished and (to_end or len(self.unfinished) > LONGEST_LINE_BYTES):
            lines.append(self.unfinished)
            self.unfinished = b""
        return self._bounded(lines, now_s)

    def _bounded(self, lines: list[bytes], now_s: float) -> list[str]:
        grown = self.allowed_bytes + (now_s - self.filled_s) * RATE_BYTES_PER_S
        self.allowed_bytes = min(float(BURST_BYTES), grown)
        self.filled_s = now_s
        shown: list[str] = []
        for line in lines:
            self.last.append(line)
            if len(line) > self.allowed_bytes:
                self.left_out += 1
                continue
            self.allowed_bytes -= len(line) + 1
            if self.left_out:
                shown.append(self._told_left_out())
            shown.append(line.decode(errors="backslashreplace"))
        return shown

    def _told_left_out(self) -> str:
        count, self.left_out = self.left_out, 0
        return f"... {count} lines left out: tasks may print {RATE_BYTES_PER_S >> 10} KB a second"

    def close(self, now_s: float) -> list[str]:
        """Returns the rest."""
        lines = self.read(now_s, to_end=True)
        if self.left_out:
            lines.append(self._told_left_out())
        os.close(self.fd)
        return lines

    def tail(self) -> str:
        """The last lines, for a death report."""
        texts = (line.decode(errors="backslashreplace") for line in self.last)
        return "\n".join(text[:LAST_LINE_CHARS] for text in texts)

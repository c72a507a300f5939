"""The lines of files, as texts or as the blocks that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain


class LineRows:
    """Lines that can be read one by one, by C code alone; the rest of them can be had as blocks."""

    def __init__(
        self,
        blocks: Iterator[bytes],
        split: Callable[[bytes], list[str]],
        clean: Callable[[bytes], bytes],
    ) -> None:
        """`split` returns the lines of a block, and `clean` the block as valid UTF-8 with line
        feeds alone between the same lines."""
        self._blocks = blocks
        self._split = split
        self._clean = clean
        self._lines: Iterator[str] = iter(())
        self._rows = chain.from_iterable(self._opened())

    def _opened(self) -> Iterator[Iterator[str]]:
        for block in self._blocks:
            self._lines = iter(self._split(block))
            yield self._lines

    def __iter__(self) -> Iterator[str]:
        # Not this object: whoever iterates shall not run Python for each line.
        return self._rows

    def __next__(self) -> str:
        return next(self._rows)

    def rest(self) -> Iterator[bytes]:
        """The lines that were not read yet; they can't be had as rows any more."""
        opened = "".join(f"{line}\n" for line in self._lines).encode()
        return chain((opened,) if opened else (), filter(None, map(self._clean, self._blocks)))


def lines_of(block: bytes) -> list[str]:
    """The lines of a block; one that ends with a line feed has none behind it."""
    lines = block.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return lines

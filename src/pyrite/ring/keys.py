"""The keys of the ring: 64 bits, in a circle."""

from __future__ import annotations

from hashlib import blake2b

BITS = 64
SPACE = 1 << BITS


def key_of(text: str) -> int:
    """The key of a path or of a block's name.

    >>> key_of("/logs/monday") == key_of("/logs/monday") < SPACE
    True
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=BITS // 8).digest()
    return int.from_bytes(digest, "big")


def block_name(file: str, index: int, copies: int | None = None) -> str:
    """The name of a file's block; one with fewer copies than others says so itself."""
    return f"{file}.{index}" if copies is None else f"{file}.{index}.{copies}"


def copies_of(name: str) -> int | None:
    """How many members hold a block of this name; None: as many as hold everything else.

    >>> copies_of(block_name("f", 7)), copies_of(block_name("f", 7, copies=1))
    (None, 1)
    """
    parts = name.split(".")
    return int(parts[2]) if len(parts) > 2 else None


def distance(start: int, end: int) -> int:
    """How far it is from one key to another, clockwise."""
    return (end - start) % SPACE


def spans(start: int, end: int) -> list[tuple[int, int]]:
    """The keys after `start` up to `end` as half-open stretches that do not wrap.

    >>> spans(2, 5), spans(SPACE - 2, 1)
    ([(3, 6)], [(0, 2), (18446744073709551615, 18446744073709551616)])
    """
    low, high = start + 1, end + 1
    if start < end:
        return [(low, high)]
    pieces = [(0, high), (low, SPACE)]
    return [piece for piece in pieces if piece[0] < piece[1]]

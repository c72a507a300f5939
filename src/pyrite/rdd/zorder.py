"""Keys of points that keep near points near: Z order."""

from __future__ import annotations

from pyrite.errors import BadValue

Box = tuple[float, float, float, float]


def zOrder(x: float, y: float, box: Box, bits: int = 16) -> int:
    """Interleaves the bits of a point's cell in a box of (least x, least y, most x, most y).

    Each side has 2 ** bits cells. Points outside the box are refused.

    >>> [zOrder(x, y, (0, 0, 4, 4), bits=2) for x, y in [(0, 0), (1, 0), (0, 1), (4, 4)]]
    [0, 1, 2, 15]
    """
    least_x, least_y, most_x, most_y = box
    if not (least_x < most_x and least_y < most_y):
        raise BadValue(f"zOrder: the box {box!r} is empty; give least x, least y, most x, most y")
    if not (least_x <= x <= most_x and least_y <= y <= most_y):
        raise BadValue(f"zOrder: the point ({x!r}, {y!r}) is outside the box {box!r}")
    if not 1 <= bits <= 32:
        raise BadValue(f"zOrder: bits are from 1 to 32, not {bits!r}")
    cells = 1 << bits
    # The upper edges belong to the last cells.
    column = min(int((x - least_x) / (most_x - least_x) * cells), cells - 1)
    row = min(int((y - least_y) / (most_y - least_y) * cells), cells - 1)
    return _spread(column) | _spread(row) << 1


def _spread(number: int) -> int:
    """Moves bit i of a number below 2 ** 32 to bit 2i."""
    number = (number | number << 16) & 0x0000FFFF0000FFFF
    number = (number | number << 8) & 0x00FF00FF00FF00FF
    number = (number | number << 4) & 0x0F0F0F0F0F0F0F0F
    number = (number | number << 2) & 0x3333333333333333
    return (number | number << 1) & 0x5555555555555555

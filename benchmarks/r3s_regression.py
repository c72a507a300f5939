"""Logistic regression over a cached set of 1 MB matrices that are parsed from a text.

The text has lines of one length, so that a partition is a stretch of bytes that every engine reads
and parses alike. Parsing takes numpy's own reader, the fastest there is: what is not kept is then
as cheap to make again as it can be.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import DataFolder

DIMENSIONS = 10
COLUMNS = DIMENSIONS + 1
# 16 of these, encoded, fill a segment of 16 MiB.
ROWS = 11_800
MATRIX_BYTES = ROWS * COLUMNS * 8
DIGITS = 6
# A sign, a zero, a point, the digits, a blank.
FIELD_BYTES = 4 + DIGITS
TEXT_BYTES = ROWS * COLUMNS * FIELD_BYTES
Matrix = NDArray[np.float64]


def text_of(index: int) -> bytes:
    """The lines of one partition: a label, 1 or -1, and coordinates between -1 and 1."""
    random = np.random.default_rng(index)
    unit = 10**DIGITS
    values = random.integers(1 - unit, unit, (ROWS, COLUMNS))
    hidden = np.linspace(-1, 1, DIMENSIONS)
    noise = random.normal(0, 0.2, ROWS)
    labels = np.sign(values[:, 1:] @ hidden / unit + noise).astype(np.int64)
    values[:, 0] = np.where(labels, labels, 1) * unit
    field = np.full((ROWS, COLUMNS, FIELD_BYTES), ord(" "), np.uint8)
    field[..., 0] = np.where(values < 0, ord("-"), ord("+"))
    rest = np.abs(values)
    field[..., 2] = ord(".")
    for place in range(2 + DIGITS, 2, -1):
        field[..., place] = ord("0") + rest % 10
        rest //= 10
    field[..., 1] = ord("0") + rest
    field[:, -1, -1] = ord("\n")
    return field.tobytes()


def text_file(data: DataFolder, partitions: int) -> str:
    """The text of all partitions."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            for index in range(partitions):
                file.write(text_of(index))

    return data.file(f"regression-{partitions}x{ROWS}.txt", write)


def parser_of(path: str, made: Any) -> Callable[[int], Matrix]:
    """Makes a partition from its text; the accumulator counts those that are made."""

    def parse(index: int) -> Matrix:
        made.add(1)
        with open(path, "rb") as file:
            file.seek(index * TEXT_BYTES)
            lines = file.read(TEXT_BYTES).decode().splitlines()
        return np.loadtxt(lines)

    return parse


def gradient_at(weights: Matrix) -> Callable[[Matrix], Matrix]:
    """The gradient of a partition's loss."""

    def gradient_of(matrix: Matrix) -> Matrix:
        labels, coordinates = matrix[:, 0], matrix[:, 1:]
        factors = (1 / (1 + np.exp(-labels * (coordinates @ weights))) - 1) * labels
        gradient: Matrix = factors @ coordinates
        return gradient

    return gradient_of

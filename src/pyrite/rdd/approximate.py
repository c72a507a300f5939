"""Answers that are allowed to be a little wrong."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

from pyrite.hashing import portable_hash

_MASK = 0xFFFFFFFFFFFFFFFF
_FEWEST_BITS = 4
_BATCH_ROWS = 65_536


class BoundedFloat(float):
    """A number with the bounds between which the true one lies, and how surely it does.

    >>> about = BoundedFloat(100.0, 0.95, 95.0, 105.0)
    >>> about, about.low, about.high, about.confidence
    (100.0, 95.0, 105.0, 0.95)
    """

    confidence: float
    low: float
    high: float

    def __new__(cls, mean: float, confidence: float, low: float, high: float) -> "BoundedFloat":
        number = super().__new__(cls, mean)
        number.confidence = confidence
        number.low = low
        number.high = high
        return number

    def __getnewargs__(self) -> tuple[float, float, float, float]:  # type: ignore[override]
        return (float(self), self.confidence, self.low, self.high)


class DistinctSketch:
    """An estimate of how many different rows were added, in little memory.

    It keeps the hashes themselves while they are few, so that small answers are exact, and then
    the registers of HyperLogLog (Flajolet et al. 2007), read with the estimator of Ertl, "New
    cardinality estimation algorithms for HyperLogLog sketches" (2017), algorithm 6, which needs
    no correction for bias.
    """

    def __init__(self, relative_sd: float = 0.05) -> None:
        check_relative_sd(relative_sd)
        # The standard error is 1.04 / sqrt(2 ** bits); PySpark asks for a little more.
        bits = math.ceil(2 * math.log2(1.054 / relative_sd))
        self.bits = max(_FEWEST_BITS, bits)
        # A hash in a set takes about 64 times the byte of a register.
        self.most_hashes = max(1024, (1 << self.bits) >> 6)
        self.hashes: set[int] = set()
        self.registers: bytearray | None = None

    def add_all(self, rows: Iterable[Any]) -> "DistinctSketch":
        """Count these rows in."""
        remaining = iter(rows)
        while batch := set(map(portable_hash, islice(remaining, _BATCH_ROWS))):
            self._add_hashes({_mixed(value) for value in batch})
        return self

    def merge(self, other: "DistinctSketch") -> "DistinctSketch":
        """Count in what another sketch of the same accuracy has seen."""
        assert self.bits == other.bits, "sketches of different accuracy can't be merged"
        if other.registers is None:
            self._add_hashes(other.hashes)
        else:
            mine = self._dense()
            self.registers = bytearray(map(max, mine, other.registers))
        return self

    def estimate(self) -> int:
        """About how many different rows there were."""
        if self.registers is None:
            return len(self.hashes)
        size = 1 << self.bits
        most = 64 - self.bits
        counts = [self.registers.count(rank) for rank in range(most + 2)]
        total = size * _tau(1.0 - counts[most + 1] / size)
        for rank in range(most, 0, -1):
            total = 0.5 * (total + counts[rank])
        total += size * _sigma(counts[0] / size)
        return round(size * size / (2 * math.log(2) * total))

    def _add_hashes(self, hashes: set[int]) -> None:
        if self.registers is None:
            self.hashes |= hashes
            if len(self.hashes) > self.most_hashes:
                self._dense()
        else:
            _raise_registers(self.registers, self.bits, hashes)

    def _dense(self) -> bytearray:
        if self.registers is None:
            self.registers = bytearray(1 << self.bits)
            _raise_registers(self.registers, self.bits, self.hashes)
            self.hashes = set()
        return self.registers


def check_relative_sd(relative_sd: float) -> None:
    """Refuse an accuracy beyond what 32 bits of registers give, as PySpark does."""
    if relative_sd < 0.000017:
        raise ValueError("relativeSD should be greater than 0.000017")


def _raise_registers(registers: bytearray, bits: int, hashes: set[int]) -> None:
    rest_bits = 64 - bits
    rest_mask = (1 << rest_bits) - 1
    for value in hashes:
        rank = rest_bits - (value & rest_mask).bit_length() + 1
        index = value >> rest_bits
        if rank > registers[index]:
            registers[index] = rank


def _mixed(value: int) -> int:
    """Spread a hash over 64 bits (the finaliser of SplitMix64): integers hash to themselves."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _sigma(x: float) -> float:
    """Ertl's correction for empty registers."""
    if x == 1.0:
        return math.inf
    weight, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * weight
        weight += weight
    return total


def _tau(x: float) -> float:
    """Ertl's correction for full registers."""
    if x in (0.0, 1.0):
        return 0.0
    weight, total, before = 1.0, 1.0 - x, -1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        weight *= 0.5
        total -= (1.0 - x) ** 2 * weight
    return total / 3.0

"""How many rows each reducer reads, by samples alone (SCache, equation 1)."""

from __future__ import annotations

from collections.abc import Sequence

from pyrite.place.predict import Sample, sampled


def rows_by_samples(samples: Sequence[Sample], reducers: int) -> list[int]:
    return [each.size_bytes for each in sampled(samples, {}, reducers)]

"""Numbers that statistics and histograms do not expect."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
from tests.pyspark.odd_values import INF, NAN
from tests.pyspark.tables import add_programs

NUMBERS = {
    "nothing": list,
    "one": lambda: [7],
    "equal": lambda: [2.5, 2.5, 2.5],
    "nans": lambda: [1.0, NAN, 2.0],
    "only_nans": lambda: [NAN, NAN],
    "infinities": lambda: [INF, 1.0, -INF],
    "zeros": lambda: [0.0, -0.0],
    "huge": lambda: [10**400, 1],
    "decimals": lambda: [Decimal("0.1"), Decimal("0.2")],
    "fractions": lambda: [Fraction(1, 3), Fraction(1, 2)],
    "complex": lambda: [1j, 2],
    "texts": lambda: ["1", "2"],
    "nones": lambda: [None, 1],
    "arrays": lambda: [np.array([1.0, 2.0]), np.array([3.0, 5.0])],
    "mixed": lambda: [1, 2.5, True, Fraction(1, 2)],
}
BUCKETS = {
    "one": 1,
    "three": 3,
    "bounds": [0, 1, 2.5, 10],
    "uneven": (0.5, 0.75, 100),
    "unsorted": [3, 1],
    "equal_bounds": [1, 1],
    "one_bound": [1],
    "no_bounds": [],
    "text_bounds": ["a", "b", "z"],
    "nan_bounds": [0, NAN],
    "open_bounds": [-INF, 0, INF],
}


def numbers(sc, rows):
    return sc.parallelize(rows, 2)


def plain(number):
    """PySpark's statistics are numpy's where numpy is installed."""
    return number.item() if isinstance(number, np.generic) else number


def shown(counter):
    found = [counter.count(), counter.mean(), counter.sum(), counter.min(), counter.max()]
    return list(map(plain, found))


USES = {
    "sum": lambda sc, folder, rows: numbers(sc, rows).sum(),
    "mean": lambda sc, folder, rows: numbers(sc, rows).mean(),
    "sampleStdev": lambda sc, folder, rows: plain(numbers(sc, rows).sampleStdev()),
    "stats": lambda sc, folder, rows: shown(numbers(sc, rows).stats()),
    "stats_in_words": lambda sc, folder, rows: str(numbers(sc, rows).stats()),
    "max": lambda sc, folder, rows: numbers(sc, rows).max(),
    "countApprox": lambda sc, folder, rows: numbers(sc, rows).countApprox(600_000),
    "histogram": lambda sc, folder, rows: numbers(sc, rows).histogram(2),
}
HISTOGRAMS = {
    f"histogram_of_{name}": lambda sc, folder, rows, buckets=buckets: numbers(sc, rows).histogram(
        buckets
    )
    for name, buckets in BUCKETS.items()
}
FEW = ("nans", "infinities", "texts", "mixed")

add_programs("odd_numbers", USES, NUMBERS)
add_programs("odd_numbers", HISTOGRAMS, {name: NUMBERS[name] for name in FEW})

"""Numbers read from text are Python's, to the last bit."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrite.bounded.aggregate import Aggregator
from pyrite.bounded.space import Space
from pyrite.bounded.traced import combine_chain
from pyrite.machine.chain import Chain, Tracing
from pyrite.rdd.fuse import run_steps

LAST: Aggregator[Any, Any] = Aggregator(lambda value: value, lambda _, value: value, max)


def decimals(random: Random) -> list[str]:
    made = [
        "0",
        "-0",
        "-0.0",
        ".5",
        "5.",
        "007",
        "+1.5",
        " 2.5\t",
        "1e5",
        "1E-5",
        "9e307",
        "4e-324",
    ]
    for _ in range(6000):
        digits = "".join(random.choices("0123456789", k=random.randrange(1, 25)))
        point = random.randrange(len(digits) + 1)
        text = random.choice(["", "-", "+"]) + digits[:point] + "." + digits[point:]
        exponent = f"e{random.randrange(-330, 330)}" if random.random() < 0.2 else ""
        made.append(text + exponent)
    return made


def ints(random: Random) -> list[str]:
    return [
        str(random.randrange(-(10**size), 10**size)) for size in range(1, 25) for _ in range(99)
    ]


@pytest.mark.parametrize(("kind", "make"), [(float, decimals), (int, ints)])
def test_they_are_read_as_python_reads_them(kind: Any, make: Any, tmp_path: Path) -> None:
    texts = list(dict.fromkeys(make(Random(3))))
    steps = [("map", lambda text: (text, kind(text)))]
    chain = Chain(iter(texts), steps, run_steps, Tracing("EAGER"), True)
    found = list(combine_chain(chain, LAST, Space(1 << 40, str(tmp_path))))
    assert repr(found) == repr([(text, kind(text)) for text in texts])
    assert chain.tracing.said[0].endswith("in C")

"""Lines of files run in C as they would one by one, whatever their bytes are."""

from operator import add
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrite.bounded.aggregate import Aggregator
from pyrite.bounded.space import Space
from pyrite.bounded.traced import combine_chain
from pyrite.io.splits import Split
from pyrite.io.text import line_rows
from pyrite.machine import take
from pyrite.machine.chain import Chain, Mode, Step, Tracing
from pyrite.rdd.fuse import run_steps

PIECES = [b"word", b" ", b" ", b"\n", b"\n", b"\r\n", b"\r", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80"]
PIECES += [b"\xf0\x9f\x98\x80", b"\xe2\x80\x83", b"\0", b"12", b"\x0c", b"\xc3"]
SUMS: Aggregator[Any, Any] = Aggregator(lambda value: value, add, add)
STEPS: dict[str, list[Step]] = {
    "words": [("flatMap", str.split), ("map", lambda word: (word, 1))],
    "lengths": [("map", lambda line: (line[:3].strip(), len(line)))],
    "upper": [("map", lambda line: (line.upper(), 1))],
}


def whole(path: Path) -> Split:
    return Split(str(path), 0, path.stat().st_size, True)


def combined(path: Path, steps: list[Step], mode: Mode, memory_bytes: int = 1 << 40) -> list[Any]:
    chain = Chain(line_rows([whole(path)] * 2), steps, run_steps, Tracing(mode), True)  # type: ignore[arg-type]
    space = Space(memory_bytes, str(path.parent))
    found = list(combine_chain(chain, SUMS, space))
    space.close()
    return found


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("seed", range(25))
def test_any_bytes_give_the_same(seed: int, steps: str, tmp_path: Path) -> None:
    random = Random(seed)
    path = tmp_path / "lines"
    path.write_bytes(b"".join(random.choices(PIECES, k=random.choice([0, 1, 5, 400, 60_000]))))
    wanted = combined(path, STEPS[steps], "FALSE")
    for mode in ("EAGER", "DOUBTING", "TRUE"):
        assert combined(path, STEPS[steps], mode) == wanted  # type: ignore[arg-type]


def test_counted_lines_are_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\nb\r\nc" * 9_000)
    for mode in ("EAGER", "DOUBTING", "TRUE"):
        chain = Chain(
            line_rows([whole(path)]),  # type: ignore[arg-type]
            [("filter", lambda line: not line.startswith("b"))],
            run_steps,
            Tracing(mode),  # type: ignore[arg-type]
            True,
        )
        taken = take.count_rows(chain)
        assert taken is not None and taken.result == sum(
            not line.startswith("b") for line in line_rows([whole(path)])
        )
        assert chain.tracing.said[0].endswith("in C")


def test_lines_that_were_read_are_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(50_000)))
    rows = line_rows([whole(path)])
    first = [next(rows) for _ in range(7)]
    rest = b"".join(rows.rest()).decode().split()
    assert [*first, *rest] == [str(number) for number in range(50_000)]

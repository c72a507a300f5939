"""The examples of the exchange give what plain Python gives, and its page's program runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = ROOT / "examples" / "data" / "text.txt"


def output(*command: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_words_are_counted() -> None:
    counts = Counter(re.findall(r"[^\W\d_]+", TEXT.read_text().lower()))
    top = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:7]
    expected = [f"{count:6d} {word}" for word, count in top]
    assert output("examples/exchange_words.py", str(TEXT), "7") == expected


def test_frames_are_summed() -> None:
    pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    sums = dict.fromkeys(range(10), 0)
    for index in range(6):
        random = numpy.random.default_rng(index)
        prices = random.integers(1, 100, 500)
        for shop, price in zip(random.integers(0, 10, 500), prices, strict=True):
            sums[int(shop)] += int(price)
    expected = [f"shop {shop}: {total}" for shop, total in sums.items()]
    assert output("examples/exchange_frames.py", "500") == expected


def test_the_program_on_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "exchange.md").read_text()
    [program] = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    [shown] = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    path = tmp_path / "page.py"
    path.write_text(program)
    assert output(str(path)) == shown.splitlines()


def test_the_page_names_what_there_is() -> None:
    page = (ROOT / "docs" / "exchange.md").read_text()
    commands = re.findall(r"\b(?:scripts|examples|src)/[\w./]*\w", page)
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page)
    assert commands
    assert [each for each in commands if not (ROOT / each).exists()] == []
    assert [each for each in links if not (ROOT / "docs" / each).exists()] == []

"""Python's development mode finds nothing left open, in the driver or in its processes."""

from __future__ import annotations

import pytest
from programs import run_program

PROGRAM = """
from pyrite import SparkContext
with SparkContext({master!r}) as sc:
    pairs = sc.parallelize(range(10), 4).map(lambda x: (x % 3, 1))
    assert pairs.reduceByKey(lambda a, b: a + b).count() == 3
"""


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,64m,1x8m]"])
def test_nothing_is_said(monkeypatch: pytest.MonkeyPatch, master: str) -> None:
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    done = run_program(PROGRAM.format(master=master))
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_said_of_an_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    done = run_program(
        "from pyrite.exchange import Exchange\n"
        "with Exchange(memory='8m') as exchange:\n"
        "    exchange.register(maps=1, reducers=1).put(0, [b'there'])\n"
    )
    assert (done.returncode, done.stderr) == (0, "")

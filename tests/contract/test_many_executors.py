"""More executors than sockets have room for, and than files may be open."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest
from marks import wait_until
from programs import run_program

from pyrite import SparkContext

Start = Callable[..., SparkContext]

LIMITED = """
import resource, pyrite
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
held = [open("/dev/null") for _ in range({held})]
sc = pyrite.SparkContext("{master}")
print(sc.range(80, numSlices=80).count(), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.alone
def test_six_hundred(start: Start) -> None:
    """The fork server's answers alone fill a socket several times."""
    sc = start("local[600]", spark__executor__memory="16m")
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 600, "600 executors")
    assert sc.range(1200, numSlices=1200).sum() == sum(range(1200))


def test_a_soft_limit_of_open_files_is_raised() -> None:
    program = LIMITED.format(soft=64, hard=600, held=0, master="local[40]")
    done = run_program(program)
    assert done.stdout == "80 (600, 600)\n", done.stderr


def test_a_soft_limit_that_suffices_is_left_alone() -> None:
    program = LIMITED.format(soft=600, hard=700, held=0, master="local[4]")
    done = run_program(program)
    assert done.stdout == "80 (600, 700)\n", done.stderr


def test_a_hard_limit_of_open_files_is_named() -> None:
    done = run_program(LIMITED.format(soft=64, hard=128, held=0, master="local[40]"))
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("pyrite.errors.UserError: 40 executors need ")
    assert "RLIMIT_NOFILE, soft 64 and hard 128" in last and "ulimit -n" in last


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 3000, reason="too few files may be open"
)
def test_descriptors_with_large_numbers() -> None:
    """As those of a program that holds many files are."""
    program = LIMITED.format(soft=2500, hard=3000, held=1500, master="local-cluster[1,2,64m]")
    done = run_program(program)
    assert done.stdout == "80 (2500, 3000)\n", done.stderr

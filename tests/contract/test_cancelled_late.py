"""Where a cancelled task goes on for a moment: in imports, and where exceptions get lost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from marks import Marks

from pyrite import SparkContext

Start = Callable[..., SparkContext]

# As numpy is: a package whose modules refer to it, and which is not complete before its end.
PACKAGE = """
import time
from pathlib import Path
from slow_package import inner

Path({started!r}).touch()
time.sleep(0.7)
complete = True
"""
INNER = """
import slow_package

def is_complete():
    return slow_package.complete
"""


def test_a_module_is_loaded_to_its_end(start: Start, marks: Marks, tmp_path: Path) -> None:
    package = tmp_path / "slow_package"
    package.mkdir()
    started = Path(marks.folder, "importing@1")
    (package / "__init__.py").write_text(PACKAGE.format(started=str(started)))
    (package / "inner.py").write_text(INNER)
    sc = start("local[1]")
    folder = str(tmp_path)

    def is_complete(_: int) -> bool:
        import sys

        if folder not in sys.path:
            sys.path.append(folder)
        from slow_package import inner

        return bool(inner.is_complete())

    before = sc.parallelize([1], 1).map(lambda _: os.getpid()).collect()
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(sc.parallelize([1], 1).map(is_complete).collect)
        marks.wait("importing")
        sc.cancelAllJobs()
        assert job.exception() is not None
    assert sc.parallelize([1], 1).map(is_complete).collect() == [True]
    # The same process: it was cancelled, not killed.
    assert sc.parallelize([1], 1).map(lambda _: os.getpid()).collect() == before


def test_a_cancel_within_a_destructor_is_not_lost(start: Start, marks: Marks) -> None:
    sc = start("local[1]", pyrite__cancel__grace="60s")
    pid = sc.parallelize([1], 1).map(lambda _: os.getpid()).collect()

    class Slow:
        def __del__(self) -> None:
            marks.add("in the destructor")
            marks.wait("cancelled")
            # The signal comes a little later than the job's end.
            time.sleep(0.1)

    def never_ends(_: int) -> None:
        Slow()
        while True:
            time.sleep(0.01)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(sc.parallelize([1], 1).foreach, never_ends)
        marks.wait("in the destructor")
        sc.cancelAllJobs()
        assert job.exception() is not None
        marks.add("cancelled")
    # The same process: it was cancelled, not killed.
    assert sc.parallelize([1], 1).map(lambda _: os.getpid()).collect() == pid

"""Progress bars are chosen for where they are shown, and never warn."""

import os
import re
import subprocess
import sys

import pytest

from pyrite.driver.log.lines import ProgressLine

NOTEBOOK = """
import importlib.util, sys, types
class ZMQInteractiveShell:
    config = {"IPKernelApp": {}}
IPython = types.ModuleType("IPython")
IPython.get_ipython = ZMQInteractiveShell
sys.modules["IPython"] = IPython
sys.modules["ipykernel.zmqshell"] = types.ModuleType("ipykernel.zmqshell")
# Whatever is installed here: a notebook without widgets.
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ipywidgets" else find(name, *rest)
sys.modules["ipywidgets"] = None
"""

LONG_JOB = """
from pyrite import SparkContext
from pyrite.driver.log import bars
bars.MOMENT_S = bars.REFRESH_S = 0
with SparkContext("local[1]") as sc:
    drawn = []
    draw = bars.Bars._draw
    def see(self, stage):
        draw(self, stage)
        drawn.append(stage.id)
    bars.Bars._draw = see
    while not drawn:
        sc.parallelize(range(10), 10).map(lambda x: sum(range(10_000))).count()
print("drawn")
"""


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_notebook_without_widgets_shows_text_and_no_warning() -> None:
    done = run(NOTEBOOK + LONG_JOB)
    assert done.stdout == "drawn\n"
    assert "Warning" not in done.stderr and "Traceback" not in done.stderr
    assert "tasks" in done.stderr


@pytest.mark.parametrize("ending", ["sys.stderr = None", "sys.stderr.close()"])
def test_without_a_stream_there_are_no_bars(ending: str) -> None:
    done = run(
        f"import sys; {ending}\n"
        "from pyrite import SparkContext\n"
        "with SparkContext('local[1]') as sc: print(sc.parallelize([1, 2]).count())"
    )
    assert (done.returncode, done.stdout) == (0, "2\n")


NO_WAITS = """
from pyrite.driver.log import lines
lines.FIRST_S = lines.LINE_S = 0
"""


def test_lines_where_another_terminal_shows_them() -> None:
    done = run(NO_WAITS + LONG_JOB, PYRITE_PROGRESS="lines")
    assert done.stdout == "drawn\n"
    said = done.stderr.splitlines()
    assert said and all(
        re.fullmatch(r"\[pyrite\] stage \d+: .+: \d+/10 tasks, \d+ running", line) for line in said
    )


def test_lines_are_far_between(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    line = ProgressLine(20, "stage 1: count")
    for now[0] in (100.5, 102.0, 102.2, 106.9, 107.1):
        line.n += 1
        line.set_postfix_str("2 running")
        line.refresh()
    line.close()
    assert capsys.readouterr().err == (
        "[pyrite] stage 1: count: 2/20 tasks, 2 running\n"
        "[pyrite] stage 1: count: 5/20 tasks, 2 running\n"
    )

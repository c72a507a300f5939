"""Recordings, simulated clusters and random lineages with the row machine from the first row on,
and with rows given back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider", "-m", "not long"]
RUNS = {
    "recordings": [*PYTEST, "tests/pyspark/test_recorded.py"],
    "seeds": ["simulate", "--from", "0", "--seeds", "60", "--workers", "1"],
    "lineages": [*PYTEST, "tests/property"],
}


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", ["eager", "doubting"])
@pytest.mark.parametrize("module", RUNS.values(), ids=RUNS)
def test_answers_are_right_in_each_mode(mode: str, module: list[str]) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    paths = [str(ROOT / each) for each in ("src", "tests/lineages", "tests/sim")]
    environment |= {"PYRITE_TEST_MACHINE": mode, "PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]

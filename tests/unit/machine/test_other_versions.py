"""The machine with the other versions of Python that it knows, where there are any."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import pyrite
from pyrite.machine.bytecode import KNOWN_VERSIONS

HERE = Path(__file__).parent
OTHERS = [version for version in KNOWN_VERSIONS if version != sys.version_info[:2]]
SEARCHED = ["differential", "30000", "37"]
# Pytest's plugins are those of this version, and may need extensions.
TESTED = ["pytest", "-q", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider"]
TESTED += ["-W", "ignore", "-m", "not long", str(HERE)]


def interpreter(version: tuple[int, int]) -> str:
    """An interpreter of this version, or nothing."""
    name = f"python{version[0]}.{version[1]}"
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    kept = home.glob(f"versions/{version[0]}.{version[1]}.*/bin/{name}")
    for each in filter(None, [shutil.which(name), *map(str, sorted(kept))]):
        shown = subprocess.run([each, "--version"], capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            return each
    return ""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("module", [SEARCHED, TESTED], ids=["search", "tests"])
@pytest.mark.parametrize("version", OTHERS, ids=lambda each: ".".join(map(str, each)))
def test_another_version_agrees(version: tuple[int, int], module: list[str]) -> None:
    python = interpreter(version)
    if not python:
        pytest.skip(f"there is no Python {version[0]}.{version[1]}")
    source = Path(pyrite.__file__).parents[1]
    paths = [source, HERE, sysconfig.get_paths()["purelib"]]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    run = subprocess.run(
        [python, "-m", *module],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]

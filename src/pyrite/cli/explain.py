"""What the row machine makes of a program's functions, a line each."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from pyrite.machine.chain import IS_BUILT
from pyrite.story.read import StoryReader
from pyrite.story.records import TaskEnded


def explain(script: str, arguments: Sequence[str]) -> int:
    """Runs a program with every function offered to the machine; prints what became of them."""
    if not IS_BUILT:
        print("pyrite explain: the row machine was not built, so all runs in Python")
        return 0
    with tempfile.TemporaryDirectory(prefix="pyrite-explain-") as folder:
        settings = [
            os.environ.get("PYRITE_CONF", ""),
            "pyrite.machine=eager,spark.eventLog.enabled=true",
            f"spark.eventLog.dir={folder}",
        ]
        environment = {**os.environ, "PYRITE_CONF": ",".join(filter(None, settings))}
        command = [sys.executable, "-m", "pyrite", "run", script, *arguments]
        # What the program prints is not what was asked for.
        code = subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode
        for line in dict.fromkeys(_said(folder)):
            print(line)
    return code


def _said(folder: str) -> Iterator[str]:
    for path in sorted(glob.glob(os.path.join(folder, "*.story"))):
        with StoryReader(path) as reader:
            for record in reader.records():
                if isinstance(record, TaskEnded):
                    yield from record.traced

"""The machine under the sanitizers for addresses and undefined behaviour."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import pyrite.machine

SOURCE = Path(pyrite.machine.__file__).parent
HERE = Path(__file__).parent
FLAGS = ["-O1", "-g", "-fPIC", "-shared", "-ffp-contract=off", "-fno-sanitize-recover=all"]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_sanitizers_find_nothing(tmp_path: Path) -> None:
    package = tmp_path / "pyrite"
    package.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-r", str(SOURCE.parent), str(package)], check=True)
    made = package / "machine" / "_rows.abi3.so"
    include = sysconfig.get_paths()["include"]
    command = ["gcc", *FLAGS, "-fsanitize=address,undefined", f"-I{include}"]
    built = subprocess.run([*command, str(SOURCE / "_rows.c"), "-o", str(made), "-lm"], check=False)
    if built.returncode:
        pytest.skip("no compiler with sanitizers")
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE)]),
        "LD_PRELOAD": library,
        # The interpreter's own memory is its own affair.
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        "PYTHONHASHSEED": "0",
    }
    for program in (
        ["-c", "import differential; print(len(differential.search(40_000, 11)))"],
        [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(HERE / "test_record_table.py"),
            str(HERE / "test_packed_rows.py"),
            str(HERE / "test_text_table.py"),
            str(HERE / "test_groups.py"),
            str(HERE / "test_text_values.py"),
            str(HERE / "test_lookup.py"),
            str(HERE / "test_order.py"),
            str(HERE / "test_lines.py"),
            str(HERE / "test_other_threads.py"),
            "-k",
            "not no_memory",
        ],
    ):
        run = subprocess.run(
            [sys.executable, *program], env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]

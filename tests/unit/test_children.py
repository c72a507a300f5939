"""Python processes that a program under `pyrite run` starts find Pyrite as pyspark, as it does."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import pyrite
from pyrite import alias

SOURCE = str(Path(pyrite.__file__).parents[1])
PATIENCE_S = 60

Run = Callable[..., str]

# What a child says, and how a program asks one.
WHO = "import pyspark.rdd, pyspark; print(pyspark.rdd.RDD.__module__, pyspark.__name__)"
ASK = """
import subprocess, sys
def ask(text, *options):
    command = [sys.executable, *options, "-c", text]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip()
"""
PYRITES = "pyrite.rdd.rdd pyrite"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program with `pyrite run`, and gives what it prints."""

    def call(program: str, *options: str, **variables: str) -> str:
        path = tmp_path / "jobs" / "program.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, "-m", "pyrite", "run", *options, str(path)],
            env={**os.environ, "PYTHONPATH": SOURCE, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return call


def python(executable: str, program: str, *paths: str) -> str:
    """What another process says, which has these folders in PYTHONPATH."""
    done = subprocess.run(
        [executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """A folder with another pyspark."""
    folder = tmp_path / "installed"
    (folder / "pyspark").mkdir(parents=True)
    (folder / "pyspark" / "__init__.py").write_text("")
    (folder / "pyspark" / "rdd.py").write_text("class RDD: pass")
    return str(folder)


def test_a_child_of_the_program(run: Run) -> None:
    assert run(f"{ASK}print(ask({WHO!r}))") == f"{PYRITES}\n"


@pytest.mark.parametrize("options", [[], ["-c", f"spark.executorEnv.PYTHONPATH={SOURCE}"]])
def test_a_child_of_a_task(run: Run, options: list[str]) -> None:
    program = (
        f"{ASK}from pyspark import SparkContext\n"
        "with SparkContext('local[1]') as sc:\n"
        f"    print(sc.parallelize([{WHO!r}], 1).map(ask).collect())\n"
    )
    assert run(program, *options) == f"['{PYRITES}']\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_pool_of_processes_that_start_anew(run: Run, method: str) -> None:
    # An import that fails would have the pool start its processes again and again.
    program = (
        "import multiprocessing, os\n"
        "from pyspark.sql import SparkSession\n"
        "from pyspark.storagelevel import StorageLevel\n"
        "def double(x): return type(x).__module__, x, os.getpid()\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        [(name, level, pid)] = pool.map(double, [StorageLevel.DISK_ONLY])\n"
        "    print(name, level == StorageLevel.DISK_ONLY, pid != os.getpid())\n"
    )
    assert run(program) == "pyrite.storagelevel True True\n"


# Whatever a child imports first leads to the rest.
FIRST = {
    "import pyspark": "pyspark",
    "from pyspark import SparkContext": "SparkContext",
    "from pyspark.sql import SparkSession": "SparkSession",
    "import pyspark.errors as errors": "errors",
    "import py4j.protocol": "py4j.protocol",
    "from py4j.protocol import Py4JJavaError": "Py4JJavaError",
    "import pickle; level = pickle.loads(b'cpyspark.storagelevel\\nStorageLevel\\n.')": "level",
}


@pytest.mark.parametrize("statement", FIRST)
def test_modules_are_the_same_whichever_comes_first(statement: str) -> None:
    child = (
        f"{statement}\nimport importlib\nfrom pyrite import alias\n"
        f"print({FIRST[statement]}.__name__)\n"
        "for name, target in alias.MIRRORED.items():\n"
        "    assert importlib.import_module(name) is importlib.import_module(target), name\n"
    )
    names = {"pyspark": "pyrite", "errors": "pyrite.errors", "py4j.protocol": "pyrite.py4j"}
    names["level"] = "StorageLevel"
    done = python(sys.executable, child, alias.FOLDER, SOURCE)
    assert done == f"{names.get(FIRST[statement], FIRST[statement])}\n"


def test_names_that_are_missing_say_so_in_children_too(run: Run) -> None:
    told = run(f"{ASK}print(ask('from pyspark.ml import Pipeline'))")
    assert "pyspark.ml is MLlib, which Pyrite does not have" in told.splitlines()[-1]


def test_a_child_of_a_child_and_a_program_that_runs_another(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(f"{ASK}print(ask({WHO!r}))")
    program = (
        f"{ASK}import os\n"
        f"print(ask({f'{ASK}print(ask({WHO!r}))'!r}))\n"
        "subprocess.run([sys.executable, '-m', 'pyrite', 'run', 'inner.py'])\n"
        "path = os.environ['PYTHONPATH']\n"
        "show = [sys.executable, '-m', 'pyrite', 'run', 'path.py']\n"
        "open('path.py', 'w').write('import os; print(os.environ[\"PYTHONPATH\"])')\n"
        "print(subprocess.run(show, capture_output=True, text=True).stdout.strip() == path)\n"
    )
    assert run(program) == f"{PYRITES}\n{PYRITES}\nTrue\n"


@pytest.mark.parametrize("before", ["{installed}:/b", "/a::/b", ":"])
def test_what_pythonpath_held_stays_behind(run: Run, installed: str, before: str) -> None:
    given = before.format(installed=installed) + os.pathsep + SOURCE
    told = run(f"{ASK}import os; print(os.environ['PYTHONPATH'], ask({WHO!r}))", PYTHONPATH=given)
    assert told == f"{alias.FOLDER}{os.pathsep}{given} {PYRITES}\n"


def test_the_folder_of_the_program_comes_first(run: Run, tmp_path: Path) -> None:
    paths = [str(tmp_path / "jobs"), alias.FOLDER]
    assert run("import sys; print(sys.path[:2])") == f"{paths}\n"


def test_a_python_without_pyrite_keeps_its_own_pyspark(installed: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "other", with_pip=False)
    other = str(tmp_path / "other" / "bin" / "python")
    assert python(other, WHO, alias.FOLDER, installed) == "pyspark.rdd pyspark\n"
    assert python(other, WHO, alias.FOLDER).endswith("No module named 'pyspark'\n")
    # As with any PYTHONPATH, what Pyrite itself needs must be there.
    assert "No module named 'cloudpickle'" in python(other, WHO, alias.FOLDER, SOURCE)

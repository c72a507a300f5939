"""`pyrite run` and `pyrite submit` take what spark-submit takes."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyrite

SOURCE = str(Path(pyrite.__file__).parents[1])
Submit = Callable[..., subprocess.CompletedProcess[str]]

SHOW = """
import sys
from pyspark import SparkConf
def main():
    conf = SparkConf()
    print(sys.argv[1:], conf.get("spark.master"), conf.get("spark.mine"))
if __name__ == "__main__":
    main()
    sys.exit(7)
"""


@pytest.fixture
def submit(tmp_path: Path) -> Submit:
    """Runs a program in jobs/program.py from another folder."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "elsewhere").mkdir()

    def call(*options: str, program: str = SHOW, command: str = "submit", **variables: str) -> Any:
        (tmp_path / "jobs" / "program.py").write_text(program)
        return subprocess.run(
            [sys.executable, "-m", "pyrite", command, *options],
            cwd=tmp_path / "elsewhere",
            env={**os.environ, "PYTHONPATH": SOURCE, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


PROGRAM = "../jobs/program.py"


@pytest.mark.parametrize("command", ["run", "submit"])
def test_options_come_before_the_program_and_its_own_after_it(submit: Submit, command: str) -> None:
    options = ["--master", "local[3]", "--conf=spark.mine=1", "--driver-memory", "2g"]
    done = submit(*options, PROGRAM, "--master", "x", "-h", command=command)
    assert (done.stdout, done.stderr) == ("['--master', 'x', '-h'] local[3] 1\n", "")
    assert done.returncode == 7


def test_options_overrule_files_and_variables(submit: Submit, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.mine file\nspark.master local[2]\n")
    variables = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": "-c spark.mine=args x"}
    assert submit(PROGRAM, **variables).stdout == "[] local[2] args\n"
    assert submit("-c", "spark.mine=x", PROGRAM, **variables).stdout == "[] local[2] x\n"


def test_a_file_of_settings_takes_the_place_of_the_default_one(
    submit: Submit, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[2]\n")
    (tmp_path / "elsewhere" / "mine.conf").write_text("spark.mine=from mine.conf\n")
    done = submit("--properties-file", "mine.conf", PROGRAM, SPARK_CONF_DIR=str(tmp_path))
    assert done.stdout == "[] None from mine.conf\n"


def test_verbose_shows_the_settings(submit: Submit) -> None:
    done = submit("--verbose", "-c", "spark.mine=1", PROGRAM)
    assert "spark.mine=1" in done.stderr.splitlines()


def test_archives_are_unpacked_for_tasks(submit: Submit, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as packed:
        packed.writestr("word.txt", "hello")
    program = (
        "from pyspark import SparkContext, SparkFiles\n"
        "read = lambda name: open(SparkFiles.get(name)).read()\n"
        "print(SparkContext('local[1]').parallelize(['w/word.txt'], 1).map(read).collect())\n"
    )
    done = submit("--archives", f"{tmp_path}/words.zip#w", PROGRAM, program=program)
    assert (done.stdout, done.stderr) == ("['hello']\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mastr", "x"], "there is no option --mastr; did you mean --master?"),
        (
            ["--status", "x"],
            "--status is for clusters that run drivers; look at the program itself",
        ),
        (["--deploy-mode", "cluster"], "--deploy-mode cluster: the driver runs here"),
        (["--properties-file", "none"], "No such file or directory"),
        ([], "SCRIPT is missing"),
    ],
)
def test_what_can_not_be_taken_is_told_in_one_line(
    submit: Submit, options: list[str], message: str
) -> None:
    done = submit(*options, *([PROGRAM] if options else []))
    assert done.returncode == 2 and done.stdout == ""
    assert [line for line in done.stderr.splitlines() if message in line]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("", "program.py"),
        ("--class Main", "Main"),
        ("--class=Main --name mine", "mine"),
        ("--name mine --class Main", "mine"),
        ("--class Main -c spark.app.name=mine", "mine"),
    ],
)
def test_a_class_names_the_application_as_with_spark_submit(
    submit: Submit, options: str, name: str
) -> None:
    program = "from pyspark import SparkConf; print(SparkConf().get('spark.app.name'))"
    done = submit(*options.split(), PROGRAM, program=program)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{name}\n", "")


def test_packages_of_the_jvm_are_said_to_do_nothing(submit: Submit) -> None:
    done = submit("--packages", "a:b:1", PROGRAM)
    assert done.stderr.startswith("pyrite: --packages does nothing: there is no JVM")
    assert done.stdout == "[] None None\n"


@pytest.mark.parametrize("command", ["run", "submit"])
def test_its_version_needs_no_program(submit: Submit, command: str) -> None:
    told = submit("--version", command=command)
    assert (told.returncode, told.stdout) == (0, f"pyrite {pyrite.__version__}\n")

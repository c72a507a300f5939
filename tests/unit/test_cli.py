"""The command: programs run as under python with pyspark being Pyrite, the prompt, the lists."""

import importlib.util
import os
import pty
import select
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pyrite
from pyrite.cli import main
from pyrite.settings import TABLE

SOURCE = str(Path(pyrite.__file__).parents[1])
EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = EXAMPLES / "data"
PATIENCE_S = 60

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYRITE_")}
    return {
        **kept,
        "PYTHONPATH": SOURCE,
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "IPY_TEST_SIMPLE_PROMPT": "1",
        "TERM": "dumb",
    }


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the command in an empty folder."""

    def call(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pyrite", *arguments],
            cwd=tmp_path,
            env={**environment(tmp_path), **options},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return call


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Writes a program and gives its path."""

    def write(text: str) -> str:
        path = tmp_path / "jobs" / "program.py"
        path.parent.mkdir()
        path.write_text(text)
        return str(path)

    return write


# Programs


@pytest.mark.parametrize("given", ["jobs/program.py", "jobs/../linked.py", "file:{path}"])
def test_a_program_finds_what_spark_submit_would_give_it(
    run: Run, script: Callable[[str], str], tmp_path: Path, given: str
) -> None:
    """Which is what Python gives it if it is told the whole path of the file."""
    path = script(
        "import sys, beside\n"
        "print(sys.argv)\n"
        "print([__name__, __file__, __spec__, __package__, __doc__, sys.path[0]])\n"
        "print(sys.modules['__main__'].__dict__ is globals())\n"
    )
    (tmp_path / "jobs" / "beside.py").write_text("")
    (tmp_path / "linked.py").symlink_to(path)
    arguments = ["a b", "--master", "x", "--", "-h"]
    ours = run("submit", given.format(path=path), *arguments)
    pythons = subprocess.run(
        [sys.executable, path, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (ours.stdout, ours.stderr) == (pythons.stdout, "")
    assert path in ours.stdout


@pytest.mark.parametrize(
    "program",
    [
        "",
        "import sys; sys.exit(3)",
        "import sys; sys.exit(-1)",
        "import sys; sys.exit('a reason')",
        "raise SystemExit",
        "def f():\n    raise ValueError('wrong') from KeyError('cause')\nf()",
        "raise KeyboardInterrupt",
        "x = (",
        "import no_such_module",
        "import sys\nprint('seen')\nsys.stdout.close()",
        "import sys\nprint('seen')\nsys.stdout = None",
        "import sys\nprint('seen')\nsys.stdout = sys.stderr = None",
        "raise BrokenPipeError('a socket of the program')",
        "import sys\nsys.excepthook = lambda kind, _, trace: print(kind, trace.tb_lineno)\n1 / 0",
    ],
)
def test_endings_are_pythons(
    run: Run, script: Callable[[str], str], tmp_path: Path, program: str
) -> None:
    path = script(program)
    ours = run("run", path)
    pythons = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        pythons.returncode,
        pythons.stdout,
        pythons.stderr,
    )


def test_a_missing_program_is_named(run: Run) -> None:
    done = run("run", "nowhere.py")
    assert done.returncode == 2
    assert "nowhere.py" in done.stderr and "Traceback" not in done.stderr


def test_an_installed_pyspark_is_hidden(
    run: Run, script: Callable[[str], str], tmp_path: Path
) -> None:
    for folder in (tmp_path / "installed", tmp_path / "jobs"):
        (folder / "pyspark").mkdir(parents=True)
        (folder / "pyspark" / "__init__.py").write_text("raise SystemError('the other pyspark')")
    (tmp_path / "jobs" / "program.py").write_text(
        "import pyspark, pyrite, pyspark.rdd\nprint(pyspark is pyrite)"
    )
    path = os.pathsep.join([str(tmp_path / "installed"), SOURCE])
    assert run("run", "jobs/program.py", PYTHONPATH=path).stdout == "True\n"


def test_a_missing_part_of_spark_is_explained(run: Run, script: Callable[[str], str]) -> None:
    done = run("run", script("from pyspark.ml import Pipeline"))
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback") and "line 1, in <module>" in done.stderr
    assert "pyspark.ml is MLlib, which Pyrite does not have" in done.stderr.splitlines()[-1]


SHOW_SETTINGS = (
    "from pyspark.sql import SparkSession\n"
    "spark = SparkSession.builder.config('spark.mine', 'program').getOrCreate()\n"
    "sc, conf = spark.sparkContext, spark.sparkContext.getConf()\n"
    "print(sc.master, sc.appName, conf.get('spark.mine'), conf.get('spark.task.maxFailures'))\n"
)


def test_options_are_defaults_that_the_program_overrules(
    run: Run, script: Callable[[str], str]
) -> None:
    path = script(SHOW_SETTINGS)
    options = ["--master", "local[1]", "--name", "my name, given", "--conf", "spark.mine=option"]
    done = run("run", *options, "-c", "spark.task.maxFailures=7", path)
    assert (done.stdout, done.stderr) == ("local[1] my name, given program 7\n", "")


def test_options_overrule_the_environment(run: Run, script: Callable[[str], str]) -> None:
    given = "spark.master=local[2],spark.task.maxFailures=2"
    done = run("run", "--master", "local[1]", script(SHOW_SETTINGS), PYRITE_CONF=given)
    assert (done.stdout, done.stderr) == ("local[1] program.py program 2\n", "")


def test_python_files_are_importable_before_the_context_and_in_tasks(
    run: Run, script: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "single.py").write_text("def double(x): return 2 * x")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("inside/__init__.py", "def triple(x): return 3 * x")
    path = script(
        "import single, inside\n"
        "from pyspark import SparkContext\n"
        "def task(x):\n"
        "    import single, inside\n"
        "    return single.double(x) + inside.triple(x)\n"
        "print(SparkContext('local[2]').parallelize([1, 2], 2).map(task).collect())\n"
    )
    done = run("run", "--py-files", "packed.zip,lib/single.py", path)
    assert (done.stdout, done.stderr) == ("[5, 10]\n", "")


def test_classes_of_the_program_travel_both_ways(run: Run, script: Callable[[str], str]) -> None:
    path = script(
        "from dataclasses import dataclass\n"
        "from pyspark import SparkContext\n"
        "@dataclass\n"
        "class Point:\n"
        "    x: int\n"
        "points = SparkContext('local[2]').parallelize([1, 2], 2).map(Point).collect()\n"
        "print(points, all(isinstance(point, Point) for point in points))\n"
    )
    done = run("run", path)
    assert (done.stdout, done.stderr) == ("[Point(x=1), Point(x=2)] True\n", "")


@pytest.mark.parametrize("command", [["-m", "pyrite", "run"], []], ids=["pyrite run", "python"])
def test_ctrl_c_ends_a_program_and_its_executors(
    script: Callable[[str], str], tmp_path: Path, command: list[str]
) -> None:
    path = script(
        "import time\n"
        "from pyrite import SparkContext\n"
        "task = lambda _: (print('running', flush=True), time.sleep(3600))\n"
        "SparkContext('local[1]').range(1).foreach(task)\n"
    )
    with subprocess.Popen(
        [sys.executable, *command, path],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        # What tasks print goes to stderr.
        assert process.stderr.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        # Its output ends only when nobody can write to it any more, executors neither.
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    # The program's own line, and none of ours.
    assert errors.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 4, in <module>',
        "    SparkContext('local[1]').range(1).foreach(task)",
        "KeyboardInterrupt",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--conf", "spark.mine"], "--conf spark.mine: write it as NAME=VALUE"),
        (["--conf", "spark.a=x, spark.b=y"], "spark.a: 'x, spark.b=y' can't be given here"),
        (["--conf", "pyrite.pol.memory=1g"], "did you mean pyrite.pool.memory?"),
        (["--executor-memory", "lots"], "spark.executor.memory='lots': expected a size"),
        (["--py-files", "none.zip"], "--py-files: there is no file 'none.zip'"),
        (["--mast", "local"], "there is no option --mast; did you mean --master?"),
        (["--exectuor-memory=1g"], "no option --exectuor-memory; did you mean --executor-memory?"),
        (["--master", "lcal[2]"], "the master 'lcal[2]' is not one that Pyrite knows: use local"),
    ],
)
def test_wrong_options_are_named(
    run: Run, script: Callable[[str], str], options: list[str], message: str
) -> None:
    done = run("run", *options, script("print('ran')"))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["run"], "pyrite run: error: SCRIPT is missing: pyrite run wordcount.py book.txt"),
        (["run", "--master", "local"], "SCRIPT is missing: pyrite run wordcount.py book.txt"),
        (["sim"], "STORY is missing: pyrite sim app.story"),
        (["rum", "x.py"], "there is no command 'rum'; did you mean run?"),
        (["job.py", "a"], "did you mean: pyrite run job.py"),
        (["settings", "a", "b"], "b: there is no use for this here"),
        (["shell", "--pain"], "there is no option --pain; did you mean --plain?"),
    ],
)
def test_a_wrong_line_is_answered_with_a_right_one(
    line: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.rstrip().endswith("--help` tells more")


def test_a_setting_that_is_nearly_one_of_ours_is_doubted(
    run: Run, script: Callable[[str], str]
) -> None:
    program = script("import pyspark; pyspark.SparkContext('local[1]').stop()")
    done = run("run", "--conf", "spark.executer.memory=1g", program)
    assert done.returncode == 0
    assert "spark.executer.memory is no setting" in done.stderr
    assert "did you mean spark.executor.memory?" in done.stderr
    assert run("run", "--conf", "spark.executor.memoryOverhead=1g", program).stderr == ""


# The examples that ship with the project


def test_word_count(run: Run) -> None:
    done = run("run", str(EXAMPLES / "wordcount.py"), str(DATA / "text.txt"), "3")
    assert (done.stdout, done.stderr) == ("    11 it\n    10 and\n    10 the\n", "")


def test_pi(run: Run) -> None:
    done = run("run", "--master", "local[2]", str(EXAMPLES / "pi.py"), "2", "1000")
    assert (done.stdout, done.stderr) == ("pi is about 3.12000\n", "")


def test_pagerank(run: Run) -> None:
    done = run("run", str(EXAMPLES / "pagerank.py"), str(DATA / "links.txt"), "10")
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("1.6026 home", "0.5984 guide", 7)
    assert done.stderr == ""


def test_log_search(run: Run) -> None:
    done = run("run", str(EXAMPLES / "logsearch.py"), str(DATA / "app.log"))
    assert done.stdout.splitlines()[:2] == [
        "117 entries, 3 lines not understood",
        "25 of them serious",
    ]
    assert "timeout at 08:00:21 in mail: timeout after 306 ms, giving up\n" in done.stdout
    assert done.stderr == ""


def test_sort(run: Run, tmp_path: Path) -> None:
    lines = (DATA / "text.txt").read_text().split("\n")
    in_order = sorted(filter(None, lines), key=lambda line: (len(line), line))
    printed = run("run", str(EXAMPLES / "sort.py"), str(DATA / "text.txt"))
    assert (printed.stdout.splitlines(), printed.stderr) == (in_order, "")
    saved = run("run", str(EXAMPLES / "sort.py"), str(DATA / "text.txt"), str(tmp_path / "out"))
    parts = sorted((tmp_path / "out").glob("part-*"))
    assert "".join(part.read_text() for part in parts).splitlines() == in_order
    assert saved.stderr == ""


def test_kmeans(run: Run) -> None:
    done = run("run", str(EXAMPLES / "kmeans.py"))
    centres = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    assert centres == [(-0.009, 8.991), (0.049, 0.004), (7.965, 8.061), (9.020, -0.012)]
    assert done.stderr == ""


def test_every_example_has_a_test() -> None:
    tested = {"wordcount", "pi", "pagerank", "logsearch", "sort", "kmeans"}
    # Those of the exchange are run by its own tests.
    others = {"exchange_words", "exchange_frames"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested | others


# The prompt


class Terminal:
    """A command on a terminal of its own, where Ctrl-C is a key."""

    BOOT = (
        "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.executable, [sys.executable, '-m', 'pyrite', *sys.argv[1:]])"
    )

    def __init__(self, home: Path, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.BOOT, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=home,
            env=environment(home),
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, text: str) -> str:
        """Reads until the text has come; gives all up to it and forgets it."""
        while text not in self.shown:
            ready, _, _ = select.select([self.ours], [], [], PATIENCE_S)
            assert ready, f"{text!r} did not come after {self.shown!r}"
            self.shown += os.read(self.ours, 4096).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture(params=["plain", "IPython"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Terminal, str]]:
    plain = request.param == "plain"
    if not plain and importlib.util.find_spec("IPython") is None:
        pytest.skip("IPython is not installed")
    options = ["--plain"] if plain else []
    terminal = Terminal(tmp_path, "shell", "--master", "local[2]", *options)
    yield terminal, ">>> " if plain else "In ["
    terminal.close()


def test_the_prompt_has_a_context(shell: tuple[Terminal, str]) -> None:
    terminal, prompt = shell
    banner = terminal.wait_for(prompt)
    assert f"Pyrite {pyrite.__version__}" in banner
    assert "local[2] with 2 executors" in banner
    terminal.type("print('sum:', sc.range(5).sum(), spark.sparkContext is sc)\n")
    terminal.wait_for("sum: 10 True")
    terminal.wait_for(prompt)
    terminal.type("exit()\n")
    assert terminal.process.wait(PATIENCE_S) == 0


def test_what_is_typed_works_in_tasks(shell: tuple[Terminal, str]) -> None:
    terminal, prompt = shell
    terminal.wait_for(prompt)
    terminal.type("from pyspark import StorageLevel\n")
    terminal.wait_for(prompt)
    terminal.type("class Wrapped:\n    def __init__(self, x): self.x = x\n\n")
    terminal.wait_for(prompt)
    terminal.type("def wrap(x): return Wrapped(x + 1)\n\n")
    terminal.wait_for(prompt)
    terminal.type("wrapped = sc.parallelize([1, 2], 2).map(wrap).collect()\n")
    terminal.wait_for(prompt)
    terminal.type("print('found:', [type(w) is Wrapped and w.x for w in wrapped])\n")
    terminal.wait_for("found: [2, 3]")


def test_ctrl_c_cancels_the_job_and_keeps_the_prompt(shell: tuple[Terminal, str]) -> None:
    terminal, prompt = shell
    terminal.wait_for(prompt)
    terminal.type("import time\n")
    terminal.wait_for(prompt)
    terminal.type("task = lambda _: (print('run' + 'ning', flush=True), time.sleep(3600))\n")
    terminal.wait_for(prompt)
    terminal.type("sc.range(2).foreach(task)\n")
    terminal.wait_for("running")
    terminal.wait_for("running")
    terminal.type("\x03")
    shown = terminal.wait_for("KeyboardInterrupt")
    shown += terminal.wait_for(prompt)
    assert os.path.dirname(pyrite.__file__) not in shown
    assert "actions.py" not in shown and "interrupts.py" not in shown
    terminal.type("print('sum:', sc.range(5).sum(), len(sc.statusTracker().getActiveJobsIds()))\n")
    terminal.wait_for("sum: 10 0")


def test_the_plain_prompt_ends_with_the_code_given_and_keeps_a_history(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "shell", "--plain", "--master", "local[1]")
    try:
        terminal.wait_for(">>> ")
        terminal.type("exit(3)\n")
        assert terminal.process.wait(PATIENCE_S) == 3
        if importlib.util.find_spec("readline") is not None:
            assert "exit(3)" in (tmp_path / ".pyrite_history").read_text()
    finally:
        terminal.close()


def test_a_prompt_without_a_terminal_reads_its_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyrite", "shell", "--plain", "--name", "piped"],
        cwd=tmp_path,
        env=environment(tmp_path),
        input="print(sc.appName, sc.range(3).collect())\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "piped [0, 1, 2]\n" in done.stdout
    assert done.returncode == 0


# Lists and help


def test_the_version(run: Run) -> None:
    assert run("--version").stdout == f"pyrite {pyrite.__version__}\n"


def test_every_setting_is_listed_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    for setting in TABLE:
        assert f"{setting.name} (" in listed
        assert setting.meaning in listed
    assert "spark.task.maxFailures (int) default: 4 " in listed
    assert "spark.locality.wait.process (seconds) default: that of spark.locality.wait" in listed
    assert "spark.scheduler.mode (FIFO | FAIR) default: FIFO" in listed


def test_settings_can_be_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "Locality"]) == 0
    names = [line for line in capsys.readouterr().out.splitlines() if line[:1] == "s"]
    assert len(names) == 2 and all("spark.locality.wait" in name for name in names)
    assert main(["settings", "nonsense"]) == 1
    assert "'nonsense'" in capsys.readouterr().err
    assert main(["settings", "localty"]) == 1
    assert "did you mean locality?" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["run"], ["shell"], ["settings"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: pyrite", *command]))


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "pyrite run wordcount.py" in capsys.readouterr().err

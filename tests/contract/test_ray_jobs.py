"""`pyrite submit --ray` on a real Ray with a dashboard, on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from marks import wait_until
from raycluster import ENVIRONMENT

# Ray 2.59 and later want a token wherever a dashboard runs.
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2}
# Ray takes no jobs before its agent for them is up, which takes minutes on a busy machine.
AGENT_S = 420.0
pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]

# The port of the agent that runs jobs is always the same otherwise, and that of any Ray here.
HEAD = """
import socket, sys
from ray.cluster_utils import Cluster
with socket.create_server(("127.0.0.1", 0)) as sock:
    port = sock.getsockname()[1]
head = dict(
    num_cpus=2, include_dashboard=True, dashboard_host="127.0.0.1", dashboard_port=0,
    dashboard_agent_listen_port=port, node_ip_address="127.0.0.1", object_store_memory=80 << 20,
)
cluster = Cluster(initialize_head=True, head_node_args=head)
print("dashboard", cluster.webui_url, flush=True)
sys.stdin.read()
cluster.shutdown()
"""

PROGRAM = """
import sys, time
from pyrite import SparkContext, SparkFiles
import helper
sc = SparkContext(appName="sent")
print("master", sc.master)
found = sc.range(4, numSlices=2).map(lambda x: open(SparkFiles.get("data.txt")).read()).collect()
print("found", found, sys.argv[1:], helper.ANSWER, flush=True)
if "wait" in sys.argv:
    time.sleep(600)
sys.exit(7)
"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Ray that takes jobs."""
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    line = next(each for each in process.stdout if each.startswith("dashboard"))
    address = line.split()[1]
    empty = tmp_path_factory.mktemp("jobs") / "empty.py"
    empty.write_text("")
    try:
        wait_until(lambda: takes_jobs(address, empty), "Ray's agent for jobs", AGENT_S)
        yield address
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def takes_jobs(address: str, script: Path) -> bool:
    submit = (sys.executable, "-m", "pyrite", "submit", "--ray", address, "--detach", str(script))
    done = subprocess.run(
        submit, env=environment(), capture_output=True, text=True, timeout=AGENT_S, check=False
    )
    # Anything else would be wrong with what these test.
    assert done.returncode == 0 or "did not take the job" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("ANSWER = 42\n")
    (tmp_path / "data.txt").write_text("hello")
    script = tmp_path / "sent.py"
    script.write_text(PROGRAM)
    return script


def command(dashboard: str, script: Path, *arguments: str, detach: bool = False) -> list[str]:
    folder = script.parent
    return [
        *(sys.executable, "-m", "pyrite", "submit", "--ray", dashboard),
        *(["--detach"] if detach else []),
        *("--py-files", str(folder / "helper.py"), "--files", str(folder / "data.txt")),
        *("--executor-memory", "256m", "--conf", "pyrite.pool.memory=64m"),
        *(str(script), *arguments),
    ]


def environment() -> dict[str, str]:
    # Jobs run the python of the node's path, as in an environment that was activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, **ENVIRONMENT, **TOKEN, "PATH": path}


def test_output_and_exit_code_are_the_programs(dashboard: str, program: Path) -> None:
    done = subprocess.run(
        command(dashboard, program, "one", "two words"),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert "found ['hello', 'hello', 'hello', 'hello'] ['one', 'two words'] 42" in done.stdout, (
        done.stdout + done.stderr
    )
    assert "master ray" in done.stdout
    assert done.returncode == 7


SLOW = """
import time
from pyrite import SparkContext
from pyrite.driver.log import lines
lines.FIRST_S = 0
sc = SparkContext()
print("slept", sc.range(4, numSlices=4).map(lambda x: time.sleep(2)).count())
"""


def test_progress_is_shown_on_a_terminal(dashboard: str, program: Path) -> None:
    program.write_text(SLOW)
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        done = subprocess.run(
            command(dashboard, program),
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment(),
            text=True,
            check=False,
        )
        os.close(theirs)
        shown = terminal.read(1 << 16).decode()
    assert done.returncode == 0 and "slept 4" in done.stdout, shown
    assert "[pyrite] stage 0: " in shown and "/4 tasks, " in shown
    assert "[pyrite]" not in done.stdout


def test_ctrl_c_stops_it(dashboard: str, program: Path) -> None:
    process = subprocess.Popen(
        command(dashboard, program, "wait"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    assert process.stdout is not None
    assert any("found" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=120)
    assert process.returncode == 130 and "stopping" in shown


def test_detached_it_says_how_to_follow_it(dashboard: str, program: Path) -> None:
    done = subprocess.run(
        command(dashboard, program, detach=True),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    [job] = done.stdout.split()
    assert done.returncode == 0 and f"ray job logs --address http://{dashboard}" in done.stderr
    follow = [str(Path(sys.executable).parent / "ray"), "job", "logs", "--follow", job]
    told = subprocess.run(
        [*follow, "--address", f"http://{dashboard}"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert "found" in told.stdout + told.stderr


def test_a_missing_token_is_said(dashboard: str, program: Path) -> None:
    without = {**os.environ, **ENVIRONMENT, "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        command(dashboard, program), capture_output=True, text=True, env=without, check=False
    )
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "RAY_AUTH_TOKEN" in done.stderr


def test_nobody_takes_jobs(program: Path) -> None:
    done = subprocess.run(
        command("127.0.0.1:9", program), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("pyrite submit: nobody takes jobs at http://127.0.0.1:9")
    assert len(done.stderr.splitlines()) == 1


def test_two_files_of_one_name(dashboard: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "helper.py").write_text("")
    line = command(dashboard, program)
    line[line.index("--py-files") + 1] += f",{tmp_path / 'other' / 'helper.py'}"
    done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 1 and "have one name" in done.stderr

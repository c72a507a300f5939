"""The page as a process: of a running context, of a file, of a folder."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

import pyrite
from pyrite import SparkConf, SparkContext

pytest.importorskip("starlette", reason="the page needs pyrite[ui]")
pytest.importorskip("uvicorn", reason="the page needs pyrite[ui]")

HOSTILE = "<img src=x onerror=alert(1)></script>"


class Caller:
    """A client of a page, with its token."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname == "127.0.0.1"
        self.port = parts.port
        self.token = parse_qs(parts.query)["token"][0]

    def ask(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET"
    ) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"authorization": f"Bearer {self.token}"} if headers is None else headers
        try:
            connection.request(method, path, headers=given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, text = self.ask(f"/api/v1/{path}")
        assert status == 200, text
        return json.loads(text)


def conf(tmp_path: Path, **given: str) -> SparkConf:
    made = SparkConf().setMaster("local-cluster[2,1,512]").setAppName("of a page")
    made.set("spark.ui.showConsoleProgress", "false").set("spark.ui.port", "0")
    for name, value in given.items():
        made.set(name.replace("_", "."), value)
    return made


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story of a real run: a shuffle, a kept RDD, a skipped stage, and an error."""
    path = tmp_path_factory.mktemp("stories") / "run.story"
    with SparkContext(conf=conf(path).set("pyrite.story.file", str(path))) as sc:
        rows = sc.parallelize(range(1000), 4).map(lambda i: (i % 7, i)).setName(HOSTILE).persist()
        sums = rows.reduceByKey(lambda a, b: a + b, 3)
        assert sums.count() == 7
        assert sums.map(lambda pair: pair[1]).sum() == sum(range(1000))
        with pytest.raises(Exception, match="division"):
            rows.map(lambda pair: 1 / (pair[1] - 500)).count()
    return path


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[Caller, subprocess.Popen[str]]]]:
    """Starts `pyrite ui`, and ends it."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path) -> tuple[Caller, subprocess.Popen[str]]:
        command = [sys.executable, "-m", "pyrite", "ui", *map(str, arguments), "--port", "0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return Caller(process.stdout.readline().strip()), process

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_real_run_has_sparks_names_and_true_numbers(story: Path, serve: Any) -> None:
    caller, _ = serve(story)
    [app] = caller.json("applications")
    base = f"applications/{app['id']}"
    assert app["name"] == "of a page"
    failed, second, first = caller.json(f"{base}/jobs")
    assert [each["status"] for each in (first, second, failed)] == [
        "SUCCEEDED", "SUCCEEDED", "FAILED",
    ]  # fmt: skip
    assert (first["numTasks"], first["numCompletedTasks"]) == (7, 7)
    assert (second["numSkippedStages"], second["numSkippedTasks"]) == (1, 4)
    stages = {each["stageId"]: each for each in caller.json(f"{base}/stages")}
    writer = stages[first["stageIds"][0]]
    reader = stages[first["stageIds"][1]]
    assert writer["inputRecords"] == 1000
    assert writer["shuffleWriteBytes"] > 0
    assert reader["shuffleReadBytes"] > 0
    tasks = caller.json(f"{base}/stages/{writer['stageId']}/0/taskList?length=10")
    assert sorted(each["partitionId"] for each in tasks) == [0, 1, 2, 3]
    assert {each["status"] for each in tasks} == {"SUCCESS"}
    times = sorted(each["taskMetrics"]["executorRunTime"] for each in tasks)
    summary = caller.json(f"{base}/stages/{writer['stageId']}/0/taskSummary?quantiles=0,1")
    assert summary["executorRunTime"] == [times[0], times[-1]]
    assert sum(each["taskMetrics"]["inputMetrics"]["recordsRead"] for each in tasks) == 1000
    [kept] = caller.json(f"{base}/storage/rdd")
    assert (kept["name"], kept["numPartitions"], kept["numCachedPartitions"]) == (HOSTILE, 4, 4)
    assert len(caller.json(f"{base}/executors")) == 2
    [error] = caller.json(f"{base}/errors")
    assert error["error"] == "ZeroDivisionError"
    assert "test_page.py" in error["user_traceback"]
    assert "division by zero" not in json.dumps(error), "values are not in this story"
    picture = caller.json(f"{base}/rdds/{kept['id']}/lineage")
    assert picture["nodes"][0]["name"] == HOSTILE
    _, headers, text = caller.ask("/metrics")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'pyrite_jobs_total{{application="{app["id"]}",status="failed"}} 1' in text


def test_strangers_are_refused(story: Path, serve: Any) -> None:
    caller, _ = serve(story)
    right = {"authorization": f"Bearer {caller.token}"}
    for path in ("/", "/metrics", "/api/v1/applications", "/static/main.js", "/nothing"):
        assert caller.ask(path, {})[0] == 401
        assert caller.ask(path, {"authorization": "Bearer other"})[0] == 401
        assert caller.ask(path, {**right, "host": "evil.example"})[0] == 403
    assert caller.ask("/api/v1/applications", right, "POST")[0] == 405
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py"):
        assert caller.ask(path, right)[0] == 404


def test_the_page_allows_no_markup_and_no_other_host(story: Path, serve: Any) -> None:
    caller, _ = serve(story)
    status, headers, text = caller.ask(f"/?token={caller.token}", {})
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "SameSite=Strict" in headers["set-cookie"]
    assert "HttpOnly" in headers["set-cookie"]
    assert headers["x-content-type-options"] == "nosniff"
    cookie = headers["set-cookie"].split(";")[0]
    assert caller.ask("/static/main.js", {"cookie": cookie})[0] == 200
    scripts = list((Path(pyrite.__file__).parent / "ui/static").glob("*.js"))
    assert scripts
    for path in scripts:
        code = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert word not in code, path
        assert "https://" not in code
    assert "<script>" not in text


def test_a_folder_is_listed(story: Path, serve: Any) -> None:
    caller, _ = serve(story.parent)
    [app] = caller.json("applications")
    assert app["pyrite"]["path"] == str(story)
    assert caller.ask("/api/v1/applications/nobody/jobs")[0] == 404
    status, _, text = caller.ask(f"/api/v1/applications/{app['id']}/jobs?length=x")
    assert (status, "expected a number" in text) == (400, True)


def wait_until(holds: Callable[[], bool]) -> None:
    """Asks until it holds; pytest's own limit ends a wait that is in vain."""
    while not holds():
        time.sleep(0.05)


def test_a_running_context_has_a_page(tmp_path: Path) -> None:
    with SparkContext(conf=conf(tmp_path, spark_ui_enabled="true")) as sc:
        assert sc.uiWebUrl is not None
        caller = Caller(sc.uiWebUrl)
        assert sc.parallelize(range(10), 2).count() == 10
        base = f"applications/{sc.applicationId}"

        def job_is_shown() -> bool:
            return [each["status"] for each in caller.json(f"{base}/jobs")] == ["SUCCEEDED"]

        wait_until(job_is_shown)
        assert caller.json(f"{base}/state")["state"] == "running"
        assert sc._chronicle.page is not None
        page, folder = sc._chronicle.page.process, sc._chronicle.folder
        assert folder is not None and os.listdir(folder)
        assert caller.token not in " ".join(psutil.Process(page.pid).cmdline())
        assert sc._chronicle.page.url.split("=")[-1] not in str(sc.getConf().getAll())
    assert page.returncode is not None
    assert not os.path.exists(folder)


def test_without_a_page_there_is_no_address(tmp_path: Path) -> None:
    with SparkContext(conf=conf(tmp_path)) as sc:
        assert sc.uiWebUrl is None
        assert sc._chronicle.path is None


class ZMQInteractiveShell:
    """What a notebook's IPython is, by its name."""


def test_a_notebook_has_a_page_unless_it_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = pytest.importorskip("IPython", reason="pip install 'pyrite[shell]'")
    monkeypatch.setattr(python, "get_ipython", ZMQInteractiveShell)
    with SparkContext(conf=conf(tmp_path)) as sc:
        assert sc.uiWebUrl is not None
        [app] = Caller(sc.uiWebUrl).json("applications")
        assert app["id"] == sc.applicationId
        assert sc.uiWebUrl in sc._repr_html_()
    with SparkContext(conf=conf(tmp_path, spark_ui_enabled="false")) as sc:
        assert sc.uiWebUrl is None


def test_the_prompt_has_a_page() -> None:
    """Ctrl-D, here the end of the input, ends the page too."""
    command = [sys.executable, "-m", "pyrite", "shell", "--plain", "--master", "local[1]"]
    shell = subprocess.Popen(
        [*command, "--conf", "spark.ui.port=0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert shell.stdin is not None and shell.stdout is not None
    shell.stdin.write("print('page of', sc.uiWebUrl, sc.range(3).count())\n")
    shell.stdin.flush()
    line = next(each for each in shell.stdout if "page of" in each)
    _, _, url, rows = line[line.index("page of") :].split()
    assert rows == "3"
    caller = Caller(url)
    [app] = caller.json("applications")
    assert app["name"] == "pyrite shell"
    wait_until(lambda: len(caller.json(f"applications/{app['id']}/jobs")) == 1)
    shell.communicate(timeout=60)
    assert shell.returncode == 0
    with pytest.raises(OSError):
        caller.ask("/metrics")


def test_a_simulated_run_has_a_page(tmp_path: Path, serve: Any) -> None:
    path = tmp_path / "sim.story"
    made = conf(tmp_path, pyrite_story_file=str(path))
    made.setMaster("sim[seed=1,nodes=3,executors=2,faults=30]")
    with SparkContext(conf=made) as sc:
        pairs = sc.parallelize(range(200), 8).map(lambda x: (x % 7, x)).persist()
        for _ in range(12):
            assert pairs.reduceByKey(max, 4).count() == 7
    caller, _ = serve(path)
    [app] = caller.json("applications")
    base = f"applications/{app['id']}"
    jobs = caller.json(f"{base}/jobs")
    assert [each["status"] for each in jobs] == ["SUCCEEDED"] * 12
    assert caller.json(f"{base}/state")["state"] == "ended"
    lost = caller.json(f"{base}/overview")["executors"]["lost"]
    assert lost, "the faults of this seed are shown"
    stages = caller.json(f"{base}/stages")
    assert sum(each["executorRunTime"] for each in stages) > 0
    assert {"node-0", "node-1", "node-2"} <= {
        each["id"] for each in caller.json(f"{base}/pools")["nodes"]
    }


ENDLESS = """
import itertools
from pyrite import SparkConf, SparkContext


def endless(row):
    return sum(itertools.repeat(0))  # never ends, and never lets go


conf = SparkConf().setMaster("local[2]").set("spark.ui.enabled", "true").set("spark.ui.port", "0")
sc = SparkContext(conf=conf)
print(sc.uiWebUrl, flush=True)
sc.parallelize([1], 1).map(endless).count()
"""


def test_the_page_names_the_line_of_a_running_task() -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert driver.stdout is not None
    kin = []
    try:
        caller = Caller(driver.stdout.readline().strip())
        [app] = caller.json("applications")
        base = f"applications/{app['id']}"

        def stacks() -> str:
            return str(caller.json(f"{base}/stacks")["text"])

        wait_until(lambda: "in endless" in stacks())
        text = stacks()
        assert "<string>:7, in endless" in text
        assert "stage 0" in text and "partition 0" in text
        kin = psutil.Process(driver.pid).children(recursive=True)
    finally:
        driver.kill()
        driver.communicate()
    for each in kin:
        wait_until(lambda each=each: not each.is_running() or each.status() == psutil.STATUS_ZOMBIE)


DRIVER = """
import sys
from pyrite import SparkConf, SparkContext
conf = SparkConf().setMaster("local[1]").set("spark.ui.enabled", "true").set("spark.ui.port", "0")
sc = SparkContext(conf=conf)
print(sc._chronicle.page.process.pid, sc._chronicle.folder, flush=True)
sys.stdin.read()
"""


def test_a_page_ends_with_its_killed_driver() -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None and driver.stdin is not None
    page, folder = driver.stdout.readline().split()
    process = psutil.Process(int(page))
    driver.kill()
    driver.wait()
    driver.stdout.close()
    driver.stdin.close()
    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    wait_until(lambda: not os.path.exists(folder))


def run_ui(*arguments: str | Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "pyrite", "ui", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    return done.returncode, done.stderr


def test_bad_input_gets_one_line_with_a_cure(tmp_path: Path, story: Path, serve: Any) -> None:
    code, text = run_ui(tmp_path / "none.story")
    assert (code, text.count("\n")) == (1, 1)
    assert "No such file" in text and "pyrite run --story" in text
    (tmp_path / "text").write_text("hello")
    code, text = run_ui(tmp_path / "text")
    assert (code, text.count("\n")) == (1, 1)
    assert "is no story of Pyrite" in text
    caller, _ = serve(story)
    code, text = run_ui(story, "--port", str(caller.port))
    assert (code, text.count("\n")) == (1, 1)
    assert "can't be used" in text and "0 for any" in text
    code, text = run_ui(story, "--port", "99999")
    assert code == 2
    assert "expected 0 to 65535" in text


def test_damage_is_said_and_the_rest_is_shown(tmp_path: Path, story: Path, serve: Any) -> None:
    data = bytearray(story.read_bytes())
    data[-10] ^= 1
    bad = tmp_path / "bad.story"
    bad.write_bytes(data)
    caller, process = serve(bad)
    [app] = caller.json("applications")
    assert "is damaged at byte" in caller.json(f"applications/{app['id']}/state")["problem"]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors.count("\n") == 1
    assert "is damaged at byte" in errors

"""How long the page of a run of many tasks takes, in Debian's chromium.

A part of scripts/bench --suite story.
"""

import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.targets import Target

# The page and the largest stage, in seconds, and how many elements each may have.
MOST_S = 2.0
MOST_ELEMENTS = 20_000
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
READY = "main:not([aria-busy]) h1"
RUN = """
import sys
from pyrite import SparkContext

with SparkContext("local[2]", "many tasks") as sc:
    tasks = int(sys.argv[1])
    sc.parallelize(range(tasks), tasks).map(lambda x: x).count()
"""


@dataclass
class PageTimes:
    """What was measured of one page; the largest stage is the run's only one."""

    tasks: int
    read_s: float
    page_s: float
    page_elements: int
    stage_s: float
    stage_elements: int

    def targets(self) -> list[Target]:
        elements = "{} of {:,} tasks".format
        times = "{} of {:,} tasks, until it can be read".format
        return [
            Target(times("the first view", self.tasks), self.page_s, MOST_S, unit="s"),
            Target(times("the stage", self.tasks), self.stage_s, MOST_S, unit="s"),
            Target(
                elements("the first view", self.tasks),
                self.page_elements,
                MOST_ELEMENTS,
                unit="elements",
            ),
            Target(
                elements("the stage", self.tasks),
                self.stage_elements,
                MOST_ELEMENTS,
                unit="elements",
            ),
        ]


def measure_page(tasks: int, story: Path, environment: dict[str, str]) -> PageTimes | None:
    """Runs so many tasks, and opens their page; None without chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    settings = {**environment, "PYRITE_CONF": f"pyrite.story.file={story}"}
    subprocess.run([sys.executable, "-c", RUN, str(tasks)], env=settings, check=True)
    began_s = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "pyrite", "ui", str(story), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        return PageTimes(tasks, time.perf_counter() - began_s, *open_page(chromium, url))
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def open_page(chromium: str, url: str) -> tuple[float, int, float, int]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=OPTIONS)
        tab = browser.new_page()
        count = "document.querySelectorAll('*').length"
        began_s = time.perf_counter()
        tab.goto(url)
        tab.wait_for_selector(READY)
        page_s, page_elements = time.perf_counter() - began_s, tab.evaluate(count)
        began_s = time.perf_counter()
        tab.evaluate("location.hash = location.hash.replace('overview', 'stage/0')")
        tab.wait_for_selector("main:not([aria-busy]) h1:has-text('Stage 0')")
        stage_s, stage_elements = time.perf_counter() - began_s, tab.evaluate(count)
        browser.close()
    return page_s, page_elements, stage_s, stage_elements

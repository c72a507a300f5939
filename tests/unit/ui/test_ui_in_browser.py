"""The page in Debian's chromium: as a person sees it, by mouse and by keyboard."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from shown_stories import HOSTILE, header, many, small, write

from pyrite.story import records as rec
from pyrite.story.write import StoryWriter
from pyrite.ui.address import Address, new_address
from pyrite.ui.library import Library

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("chromium is missing: apt-get install chromium", allow_module_level=True)
pytest.importorskip("uvicorn", reason="the page needs pyrite[ui]")
playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
)

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWS = (
    "overview", "jobs", "job/0", "job/1", "stages", "stage/0", "stage/1", "stage/2", "rdds",
    "rdd/3", "rdd/5", "step/1", "step/0/0/0", "storage", "executors", "pools", "shuffles",
    "shuffle/0", "told", "environment", "compare", "compare/local-1-2",
)  # fmt: skip
PATIENCE_MS = 90_000
STACKS = f"executor 0: stage 1, partition 0\n  job.py:7, in endless {HOSTILE}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


class Served:
    """A page in this process, at a real address."""

    def __init__(self, library: Library, address: Address) -> None:
        import uvicorn

        from pyrite.ui.server import make_app

        self.address = address
        app = make_app(library, address.token, address.cookie, lambda path: STACKS)
        self.server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
        )
        self.library = library
        self.thread = Thread(target=self.server.run, kwargs={"sockets": [address.listener]})
        self.thread.start()

    def end(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.library.close()
        self.address.listener.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    served: list[Served] = []

    def start(*paths: str) -> str:
        served.append(Served(Library(list(paths)), new_address(0)))
        return served[-1].address.url

    yield start
    for each in served:
        each.end()


class Seen:
    """A tab, and what went wrong in it."""

    def __init__(self, browser: Any, url: str, theme: str = "light") -> None:
        context = browser.new_context(
            viewport={"width": 1280, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.problems: list[str] = []
        self.hosts: set[str | None] = set()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on(
            "dialog", lambda dialog: self.problems.append(dialog.message) or dialog.dismiss()
        )
        self.page.on("request", lambda each: self.hosts.add(urlsplit(each.url).hostname))
        self.page.goto(url)
        self.settle()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def settle(self) -> None:
        self.page.wait_for_selector("main:not([aria-busy]) h1")

    def show(self, view: str, app: str = "local-1") -> None:
        self.page.evaluate(
            "to => { document.getElementById('content').setAttribute('aria-busy', 'true');"
            " location.hash = to; }",
            f"#/{app}/{view}",
        )
        self.settle()

    def count(self) -> int:
        found: int = self.page.evaluate("document.querySelectorAll('*').length")
        return found

    def close(self) -> None:
        self.page.context.close()


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Seen]]:
    seen: list[Seen] = []

    def open_tab(url: str, theme: str = "light") -> Seen:
        seen.append(Seen(browser, url, theme))
        return seen[-1]

    yield open_tab
    for each in seen:
        each.close()


@pytest.fixture
def two(tmp_path: Path, serve: Callable[..., str]) -> str:
    """Two runs that are alike, of hostile names."""
    one = write(tmp_path / "a.story", small(), name=HOSTILE)
    return serve(one, write(tmp_path / "b.story", small(), name=HOSTILE))


def test_text_of_stories_is_never_markup(two: str, look: Callable[..., Seen]) -> None:
    tab = look(two)
    for view in VIEWS:
        tab.show(view)
        assert tab.page.locator("main img, main script, main iframe").count() == 0, view
        assert "alert(1)" in tab.page.inner_text("#run-name")
    tab.show("overview")
    assert HOSTILE in tab.page.inner_text("main")
    assert tab.problems == []
    assert tab.hosts == {"127.0.0.1"}, "nothing comes from another host"
    assert "token" not in tab.page.url


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("views", [VIEWS[start::4] for start in range(4)], ids=range(4))
def test_no_serious_fault_of_accessibility(
    two: str, look: Callable[..., Seen], theme: str, views: tuple[str, ...]
) -> None:
    tab = look(two, theme)
    checker = axe.Axe()
    serious: list[tuple[str, str, list[str]]] = []
    for view in views:
        tab.show(view)
        found = checker.run(tab.page).response["violations"]
        serious += [
            (view, each["id"], [node["html"][:200] for node in each["nodes"][:3]])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
    assert serious == []


# The names of texts in a drawing that lie over boxes that they do not belong to.
COVERED = """() => {
  const boxes = [...document.querySelectorAll("svg .rdd-box")]
    .map((each) => each.getBoundingClientRect());
  return [...document.querySelectorAll("svg text")].filter((each) => {
    if (!/kept partitions read/.test(each.textContent)) return false;
    const mine = each.getBoundingClientRect();
    return boxes.some((box) => mine.top < box.bottom && box.top < mine.bottom
      && mine.left < box.right && box.left < mine.right);
  }).map((each) => each.textContent);
}"""


def test_words_in_a_graph_do_not_cover_its_boxes(
    tmp_path: Path, serve: Callable[..., str], look: Callable[..., Seen]
) -> None:
    told = [
        each._replace(kept_pool=1) if isinstance(each, rec.TaskEnded) else each for each in small()
    ]
    tab = look(serve(write(tmp_path / "a.story", told)))
    tab.show("job/0")
    assert "4 kept partitions read" in tab.page.text_content("main svg")
    assert tab.page.evaluate(COVERED) == []


def test_a_narrow_window_scrolls_tables_rather_than_breaking_their_words(
    two: str, look: Callable[..., Seen]
) -> None:
    tab = look(two)
    tab.page.set_viewport_size({"width": 390, "height": 800})
    for view in VIEWS:
        tab.show(view)
        assert tab.page.evaluate("document.documentElement.scrollWidth") == 390, view
        cells = tab.page.evaluate(
            "[...document.querySelectorAll('td.wrap')].map((each) => each.clientWidth)"
        )
        assert all(width >= 100 for width in cells), (view, cells)
        pictures = tab.page.evaluate(
            "[...document.querySelectorAll('svg.wide')].map((each) => each.clientWidth)"
        )
        assert all(width >= 700 for width in pictures), (view, pictures)
    assert tab.problems == []


def test_the_first_view_leads_to_everything(two: str, look: Callable[..., Seen]) -> None:
    tab = look(two)
    tab.show("overview")
    text = tab.page.inner_text("main")
    for wanted in ("KeyError", "totals", "killed by SIGKILL", "pyrite replay", "/home/me/job.py"):
        assert wanted in text
    tab.page.click("main svg a[aria-label^='job 0']")
    tab.page.wait_for_selector("h1:has-text('Job 0')")
    tab.page.click("main svg a[aria-label^='stage 0']")
    tab.page.wait_for_selector("h1:has-text('Stage 0')")
    assert "Median" in tab.page.inner_text("main")
    tab.page.click("#sort-index")
    tab.page.wait_for_selector("#sort-index:has-text('↓')")
    assert tab.problems == []


def test_a_failed_stage_and_its_job_tell_the_command_too(
    two: str, look: Callable[..., Seen]
) -> None:
    tab = look(two)
    for view in ("stage/2", "job/1"):
        tab.show(view)
        text = tab.page.inner_text("main .failure")
        assert "KeyError" in text and "pyrite replay" in text, view
    tab.show("stage/2")
    assert "/home/me/job.py" in tab.page.inner_text("main .failure pre")
    assert "1 attempt failed" in tab.page.inner_text("main")
    # The marks under a line stay below what they mark, in a narrow window too.
    style = "getComputedStyle(document.querySelector('.failure pre')).whiteSpace"
    assert tab.page.evaluate(style) == "pre"
    assert tab.problems == []


def test_any_rdd_leads_to_its_lineage(two: str, look: Callable[..., Seen]) -> None:
    tab = look(two)
    for link, title in (("rdd/5", "RDD 5: totals"), ("step/0/0/0", "parallelize")):
        tab.show("rdds")
        for wanted in ("/home/me/job.py:11", "Memory Serialized 1x Replicated", "reduceByKey"):
            assert wanted in tab.page.inner_text("main table")
        tab.page.click(f"main td a[href$='{link}']")
        tab.page.wait_for_selector(f"h1:has-text('{title}')")
        assert "parallelize" in tab.page.inner_text("main [aria-label='Picture of the lineage']")
    assert tab.problems == []


def test_a_flame_graph_shows_a_call_alone(two: str, look: Callable[..., Seen]) -> None:
    tab = look(two)
    tab.show("stage/0")
    boxes = tab.page.locator("svg.flame a")
    widths = "boxes => boxes.map(box => box.querySelector('rect').width.baseVal.value)"
    assert [round(each) for each in boxes.evaluate_all(widths)] == [1200, 1200, 900]
    tab.page.focus("svg.flame a >> nth=2")
    tab.page.keyboard.press("Enter")
    assert [round(each) for each in boxes.evaluate_all(widths)] == [1200, 1200, 1200]
    tab.page.click("svg.flame a[aria-label^='all']")
    assert [round(each) for each in boxes.evaluate_all(widths)] == [1200, 1200, 900]
    assert "160 samples" in tab.page.inner_text("main")
    tab.show("stage/1")
    assert tab.page.locator("svg.flame").count() == 0
    tab.show("job/0")
    assert tab.page.locator("svg.flame").count() == 1
    assert tab.problems == []


def test_by_keyboard(two: str, look: Callable[..., Seen]) -> None:
    tab = look(two)
    tab.show("overview")
    tab.page.keyboard.press("3")
    tab.page.wait_for_selector("h1:text-is('Stages')")
    tab.page.keyboard.press("Tab")
    focused = "document.activeElement.textContent"
    assert tab.page.evaluate(focused) == "Skip to the content"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "content"
    for _ in range(3):
        tab.page.keyboard.press("Tab")
        if "stage/" in (tab.page.evaluate("document.activeElement.getAttribute('href')") or ""):
            break
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("h1:has-text('Stage 2')")


def test_the_page_is_live_without_reloading(
    tmp_path: Path, serve: Callable[..., str], look: Callable[..., Seen]
) -> None:
    told = small("orders")
    second_job = next(index for index, each in enumerate(told) if each.at_s >= 105.3)
    writer = StoryWriter(str(tmp_path / "live.story"), header(), False)
    writer.add(told[:second_job])
    writer.flush()
    tab = look(serve(writer.path))
    tab.page.wait_for_selector("#run-state:has-text('running')")
    assert tab.page.locator("main a[href$='/job/1']").count() == 0
    tab.page.evaluate("window.notReloaded = true")
    tab.page.focus("main a[href$='/job/0']")
    writer.add(told[second_job:-1])
    writer.flush()
    tab.page.wait_for_selector("main td a[href$='/job/1']")
    assert tab.page.evaluate("document.activeElement.getAttribute('href')").endswith("/job/0")
    writer.add(told[-1:])
    writer.close()
    tab.page.wait_for_selector("#run-state:has-text('ended')")
    assert tab.page.evaluate("window.notReloaded")
    assert tab.problems == []


def test_stacks_of_running_tasks_stay_until_others_are_asked_for(
    tmp_path: Path, serve: Callable[..., str], look: Callable[..., Seen]
) -> None:
    told = small("orders")
    running = next(index for index, each in enumerate(told) if each.at_s > 104.7)
    writer = StoryWriter(str(tmp_path / "live.story"), header(), False)
    writer.add(told[:running])
    writer.flush()
    tab = look(serve(writer.path))
    tab.show("executors")
    tab.page.click("#stacks")
    tab.page.wait_for_selector("#stacks-found pre")
    assert tab.page.inner_text("#stacks-found") == STACKS
    assert tab.page.locator("#stacks-found img").count() == 0
    # Another executor comes: the view is drawn anew.
    joined = next(index for index, each in enumerate(told) if each.at_s > 104.9)
    writer.add(told[running:joined])
    writer.flush()
    tab.page.wait_for_selector("main td:text-is('2')")
    assert tab.page.inner_text("#stacks-found") == STACKS
    writer.close()
    assert tab.problems == []


def test_a_hundred_thousand_tasks_stay_a_small_page(
    tmp_path: Path, serve: Callable[..., str], look: Callable[..., Seen]
) -> None:
    tab = look(serve(write(tmp_path / "many.story", many(100_000))))
    assert tab.count() < 20_000
    tab.show("stage/0")
    assert "100,000" in tab.page.inner_text("main")
    assert tab.count() < 20_000
    tab.page.click("#older")
    tab.page.wait_for_selector("text=51 to 100 of 100000")
    assert tab.problems == []

"""Progress bars: one for each stage that runs for longer than half a second."""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec
from typing import Any

from pyrite.driver.log.lines import ProgressLine, are_wanted
from pyrite.driver.log.progress import Progress
from pyrite.schedule.commands import Command, FinishJob
from pyrite.schedule.events import Event
from pyrite.schedule.story import Story
from pyrite.story.parts import StageState

# Stages shorter than this show nothing.
MOMENT_S = 0.5
REFRESH_S = 0.2


class Bars:
    """A thread that draws while stages run and sleeps otherwise."""

    def __init__(self, progress: Progress, bar_class: Any) -> None:
        self.progress = progress
        self.bar_class = bar_class
        self.drawn: dict[int, Any] = {}
        self.drawing = threading.Lock()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._loop, name="pyrite-progress", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        self.progress.stir()
        self.thread.join()

    def record(self, now_s: float, _event: Event, commands: list[Command]) -> None:
        """Wipes the bars when a job ends, before its thread wakes and prints."""
        if self.drawn and any(isinstance(each, FinishJob) for each in commands):
            with self.drawing:
                self._wipe_all_but(set())

    def _loop(self) -> None:
        while not self.ended.is_set():
            self.progress.wait_for_work()
            if not self.ended.wait(REFRESH_S):
                self._draw_until_idle()

    def _draw_until_idle(self) -> None:
        seen_s: dict[int, float] = {}
        running = True
        while running and not self.ended.is_set():
            now_s = time.monotonic()
            with self.drawing:
                stages = [stage for stage in self.progress.stages() if not stage.ended]
                self._wipe_all_but({stage.id for stage in stages})
                for stage in stages:
                    if now_s - seen_s.setdefault(stage.id, now_s) >= MOMENT_S:
                        self._draw(stage)
            running = bool(stages)
            self.ended.wait(REFRESH_S)
        with self.drawing:
            self._wipe_all_but(set())

    def _wipe_all_but(self, running: set[int]) -> None:
        for id in [id for id in self.drawn if id not in running]:
            self.drawn.pop(id).close()

    def _draw(self, stage: StageState) -> None:
        bar = self.drawn.get(stage.id)
        if bar is None:
            bar = self.drawn[stage.id] = self.bar_class(
                total=stage.total,
                desc=f"stage {stage.id}: {stage.name}",
                leave=False,
                bar_format="{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} tasks "
                "[{elapsed}{postfix}]",
            )
        bar.n = min(stage.done, stage.total)
        bar.set_postfix_str(f"{stage.active} running", refresh=False)
        bar.refresh()


class NoBars:
    """Draws nothing."""

    def stop(self) -> None:
        return None


def watch(progress: Progress, story: Story, enabled: bool) -> Bars | NoBars:
    """Bars on a terminal or in a notebook; elsewhere lines, if the output is shown on one."""
    has_bars = in_notebook() or on_terminal()
    if not enabled or not (has_bars or are_wanted()):
        return NoBars()
    bars = Bars(progress, find_bar_class() if has_bars else ProgressLine)
    story.listeners.append(bars.record)
    return bars


def find_bar_class() -> Any:
    """Widgets in a notebook that can show them; text elsewhere, without a warning."""
    if in_notebook() and find_spec("ipywidgets") is not None:
        from tqdm import notebook

        return notebook.tqdm
    import tqdm

    return tqdm.tqdm


def on_terminal() -> bool:
    # A program may have no stream, or a closed one.
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and type(found).__name__ == "ZMQInteractiveShell"

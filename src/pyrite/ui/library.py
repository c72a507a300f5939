"""The runs that a page serves: named files, and the stories of folders."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any, NamedTuple

from pyrite.errors import UserError
from pyrite.story.format import HEADLINE, HOW_TO_MAKE, BadStory, StoryHeader
from pyrite.story.model import RunModel
from pyrite.story.paths import is_written
from pyrite.story.read import StoryReader
from pyrite.ui.environment import application_info
from pyrite.ui.follow import FollowedRun

# So many runs stay in memory.
MOST_LOADED = 6


class NoSuchThing(UserError):
    """A run, job, stage or RDD that is asked for and is not there."""


class Shelved(NamedTuple):
    """A run that may not be loaded yet."""

    id: str
    path: str
    header: StoryHeader


class Library:
    """Runs by their id; folders are looked through again when the list is asked for."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = [os.path.abspath(each) for each in paths]
        self.shelf: dict[str, Shelved] = {}
        self.loaded: OrderedDict[str, FollowedRun] = OrderedDict()
        self.look()
        if not self.shelf and not any(os.path.isdir(each) for each in self.paths):
            raise BadStory(f"there is no story to show. To have one, {HOW_TO_MAKE}")

    def look(self) -> list[Shelved]:
        """All runs, those of folders anew, the newest first."""
        known = {each.path: each for each in self.shelf.values()}
        for path in self._files():
            if path not in known:
                try:
                    with StoryReader(path) as reader:
                        header = reader.header
                except BadStory:
                    if path in self.paths:
                        raise
                    continue
                shelved = Shelved(self._new_id(header.application), path, header)
                self.shelf[shelved.id] = shelved
        return sorted(self.shelf.values(), key=lambda each: -each.header.wall_s)

    def _files(self) -> list[str]:
        found = []
        for path in self.paths:
            if os.path.isdir(path):
                names = sorted(os.listdir(path))
                found += [os.path.join(path, each) for each in names if is_story(path, each)]
            else:
                found.append(path)
        return found

    def _new_id(self, application: str) -> str:
        """Applications of two folders, or simulated ones, may have the same id."""
        id, number = application, 1
        while id in self.shelf:
            number += 1
            id = f"{application}-{number}"
        return id

    def run(self, id: str) -> FollowedRun:
        """A run, loaded and read up to its end."""
        shelved = self.shelf.get(id)
        if shelved is None:
            self.look()
            shelved = self.shelf.get(id)
        if shelved is None:
            raise NoSuchThing(f"there is no run {id!r} here: /api/v1/applications lists all")
        run = self.loaded.get(id)
        if run is None:
            run = self.loaded[id] = FollowedRun(shelved.path)
            while len(self.loaded) > MOST_LOADED:
                self.loaded.popitem(last=False)[1].close()
        else:
            self.loaded.move_to_end(id)
            run.refresh()
        return run

    def is_live(self, shelved: Shelved) -> bool:
        """Whether a context writes it now."""
        run = self.loaded.get(shelved.id)
        return is_written(shelved.path) if run is None else run.live

    def listing(self) -> list[dict[str, Any]]:
        """Spark's list of applications; runs are not loaded for it."""
        return [self._entry(each) for each in self.look()]

    def _entry(self, shelved: Shelved) -> dict[str, Any]:
        run = self.loaded.get(shelved.id)
        if run is not None:
            run.refresh()
            info = application_info(run.model, shelved.id, not run.live)
            live = run.live
        else:
            live = is_written(shelved.path)
            model = RunModel(shelved.header)
            header = shelved.header
            # The file's time stands for the last record's; a simulated run's clock is its own.
            changed_s = os.path.getmtime(shelved.path) if os.path.exists(shelved.path) else 0.0
            model.last_s = header.clock_s + max(0.0, changed_s - header.wall_s)
            if not header.wall_s:
                model.last_s = header.clock_s
            info = application_info(model, shelved.id, not live)
        info["pyrite"] = {"path": shelved.path, "live": live, "master": shelved.header.master}
        return info

    def close(self) -> None:
        for run in self.loaded.values():
            run.close()
        self.loaded.clear()


def is_story(folder: str, name: str) -> bool:
    """Whether a file of a folder begins as stories do."""
    path = os.path.join(folder, name)
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(HEADLINE)).startswith(HEADLINE[:13])
    except OSError:
        return False

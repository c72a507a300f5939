"""Which file a new story gets: never one that another context writes."""

from __future__ import annotations

import fcntl
import logging
import os
from itertools import count

from pyrite.story.format import HEADLINE, HOW_TO_MAKE, BadStory, StoryHeader
from pyrite.story.write import StoryWriter

# The files that this process has written: a second context gets another one.
_written: set[str] = set()
# So many names are tried.
MOST_NAMES = 10_000


def new_writer(path: str, header: StoryHeader, replaces: bool, threaded: bool) -> StoryWriter:
    """Begins a story at the path, or beside it where the path is taken.

    With `replaces`, the story of a run that has ended is replaced, as the output of a command is;
    never any other file.
    """
    path = os.path.abspath(path)
    stem, ending = os.path.splitext(path)
    for number in count(1):
        chosen = path if number == 1 else f"{stem}-{number}{ending}"
        try:
            if replaces and chosen not in _written:
                remove_ended(chosen)
            writer = StoryWriter(chosen, header, threaded)
        except FileExistsError:
            if number >= MOST_NAMES:
                raise
            continue
        _written.add(chosen)
        if number > 1 and replaces:
            logging.getLogger("pyrite").warning(
                "the story is written to %s: %s is taken by another context", chosen, path
            )
        return writer
    raise AssertionError("count() does not end")


def is_written(path: str) -> bool:
    """Whether a context writes this story now."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def last_written(folder: str) -> str:
    """The story that was begun last in a folder, of those that are being written."""
    try:
        found = [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        found = []
    live = [path for path in found if path.endswith(".story") and is_written(path)]
    if not live:
        raise BadStory(
            f"no program writes a story into {folder!r} now: name its file; to have one, "
            f"{HOW_TO_MAKE}"
        )
    return max(live, key=os.path.getctime)


def remove_ended(path: str) -> None:
    """Removes the story of a run that has ended; another file is left alone."""
    try:
        with open(path, "rb") as file:
            if not file.read(len(HEADLINE)).startswith(HEADLINE[:12]):
                return
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                # Another context writes it.
                return
            os.unlink(path)
    except FileNotFoundError:
        return

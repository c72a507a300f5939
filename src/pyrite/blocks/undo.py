"""Unfinished saves, recorded in the driver's scratch folder so that they can be undone if it
dies."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

NOTES = "saves"


class Save(Protocol):
    """A write to other storage that appears complete or not at all."""

    def begin(self) -> None: ...

    def abort(self) -> None: ...


@contextmanager
def saving(scratch: str, commit: Save) -> Iterator[None]:
    """Begins a save that is undone when the block fails, or after this process dies."""
    note = _write_note(os.path.join(scratch, NOTES), commit)
    try:
        commit.begin()
        yield
    except BaseException:
        # If this is interrupted, the note stays.
        commit.abort()
        os.unlink(note)
        raise
    os.unlink(note)


def undo_saves(scratch: str) -> None:
    """Undoes the unfinished saves of a dead driver."""
    notes = os.path.join(scratch, NOTES)
    if not os.path.isdir(notes):
        return
    for name in os.listdir(notes):
        # Unreachable storage must not keep the others from being cleaned.
        with contextlib.suppress(Exception), open(os.path.join(notes, name), "rb") as note:
            commit: Save = pickle.load(note)
            commit.abort()


def _write_note(notes: str, commit: Save) -> str:
    os.makedirs(notes, mode=0o700, exist_ok=True)
    path = os.path.join(notes, os.urandom(8).hex())
    with open(path, "xb") as note:
        pickle.dump(commit, note)
    return path

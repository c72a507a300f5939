"""A story's file is private, belongs to one context, and ends with a failing disk, not the job."""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from storytelling import HEADER, records_of

from pyrite.story import paths, write
from pyrite.story.format import BadStory
from pyrite.story.paths import is_written, last_written, new_writer
from pyrite.story.records import JobEnded
from pyrite.story.write import StoryWriter


@pytest.fixture(autouse=True)
def forget_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_written", set())


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.story"
    StoryWriter(str(path), HEADER).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["run.story"]


def test_a_folder_of_stories_never_loses_one(tmp_path: Path) -> None:
    writers = [
        new_writer(str(tmp_path / "app.story"), HEADER, replaces=False, threaded=False)
        for _ in range(3)
    ]
    for number, writer in enumerate(writers):
        writer.add([JobEnded(1.0, number)])
        writer.close()
    names = ["app.story", "app-2.story", "app-3.story"]
    assert [os.path.basename(each.path) for each in writers] == names
    assert [records_of(each.path) for each in writers] == [[JobEnded(1.0, n)] for n in range(3)]


def test_a_named_file_is_replaced_when_its_run_has_ended(tmp_path: Path) -> None:
    path = str(tmp_path / "run.story")
    for number in range(2):
        writer = new_writer(path, HEADER, replaces=True, threaded=False)
        assert writer.path == path
        writer.add([JobEnded(1.0, number)])
        writer.close()
        # As in another process.
        paths._written.clear()
    assert records_of(path) == [JobEnded(1.0, 1)]


def test_a_story_that_is_being_written_is_not_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Tests before this one may have asked for less.
    caplog.set_level(logging.WARNING, logger="pyrite")
    path = str(tmp_path / "run.story")
    first = new_writer(path, HEADER, replaces=True, threaded=False)
    paths._written.clear()
    assert is_written(path)
    second = new_writer(path, HEADER, replaces=True, threaded=False)
    assert second.path == str(tmp_path / "run-2.story")
    assert "taken by another context" in caplog.text
    first.close()
    assert not is_written(path)
    assert last_written(str(tmp_path)) == second.path
    second.close()
    with pytest.raises(BadStory, match="no program writes a story"):
        last_written(str(tmp_path))


def test_a_second_context_of_a_program_gets_a_file_of_its_own(tmp_path: Path) -> None:
    path = str(tmp_path / "run.story")
    for number in range(2):
        writer = new_writer(path, HEADER, replaces=True, threaded=False)
        writer.add([JobEnded(1.0, number)])
        writer.close()
    assert records_of(path) == [JobEnded(1.0, 0)]
    assert records_of(tmp_path / "run-2.story") == [JobEnded(1.0, 1)]


def test_a_file_that_is_no_story_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    writer = new_writer(str(path), HEADER, replaces=True, threaded=False)
    writer.close()
    assert path.read_text() == "my notes"
    assert os.path.basename(writer.path) == "notes-2.txt"


@pytest.mark.parametrize("threaded", [False, True])
def test_a_full_disk_ends_the_story_with_one_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    threaded: bool,
) -> None:
    writer = StoryWriter(str(tmp_path / "run.story"), HEADER, threaded)
    writer.add([JobEnded(1.0, 0)])
    writer.flush()

    def full(fd: int, data: Any) -> None:
        os.write(fd, bytes(data)[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(write, "write_all", full)
    with caplog.at_level(logging.WARNING, logger="pyrite"):
        for number in range(1, 4):
            writer.add([JobEnded(1.0, number)])
            writer.flush()
        writer.close()
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert "No space left on device" in caplog.text
    # A part of the frame is there, as when the driver is killed.
    assert records_of(tmp_path / "run.story") == [JobEnded(1.0, 0)]


def test_a_writer_that_falls_behind_is_waited_for(tmp_path: Path) -> None:
    writer = StoryWriter(str(tmp_path / "run.story"), HEADER)
    count = write.FAR_BEHIND * 2
    for number in range(count):
        writer.add([JobEnded(1.0, number)])
        assert len(writer._batch.order) <= write.FAR_BEHIND
    writer.close()
    assert len(records_of(tmp_path / "run.story")) == count

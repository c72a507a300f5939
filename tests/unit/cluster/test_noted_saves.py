"""A save under way is noted until it is complete or undone."""

from pathlib import Path

import pytest

from pyrite.cluster.saves import saving, undo_saves
from pyrite.io.commit import FolderCommit


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def notes(scratch: Path) -> list[Path]:
    return list((scratch / "saves").iterdir())


def hidden(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob(".out.pyrite-*"))


def test_the_note_goes_with_the_save(tmp_path: Path, scratch: Path) -> None:
    commit = FolderCommit(f"{tmp_path}/out")
    with saving(str(scratch), commit):
        assert len(notes(scratch)) == len(hidden(tmp_path)) == 1
        commit.commit(0)
    assert not notes(scratch) and not hidden(tmp_path)
    undo_saves(str(scratch))
    assert (tmp_path / "out" / "_SUCCESS").exists()


def test_a_save_that_fails_is_undone(tmp_path: Path, scratch: Path) -> None:
    with pytest.raises(KeyboardInterrupt), saving(str(scratch), FolderCommit(f"{tmp_path}/out")):
        raise KeyboardInterrupt
    assert not notes(scratch) and not hidden(tmp_path)


def test_what_could_not_be_undone_is_undone_later(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(commit: FolderCommit) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FolderCommit, "abort", interrupted)
        with (
            pytest.raises(KeyboardInterrupt),
            saving(str(scratch), FolderCommit(f"{tmp_path}/out")),
        ):
            raise OSError
    assert notes(scratch) and hidden(tmp_path)
    # Not a note, and a note that was cut off: its save had not begun.
    (scratch / "saves" / "torn").write_bytes(b"\x80")
    undo_saves(str(scratch))
    assert not hidden(tmp_path)

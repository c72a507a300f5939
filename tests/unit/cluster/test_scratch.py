"""Scratch folders are private, and swept once nobody holds them."""

import os
import stat
from pathlib import Path

import pytest

from pyrite.cluster import scratch
from pyrite.cluster.scratch import Scratch, is_abandoned, make_private
from pyrite.errors import UserError


@pytest.fixture(autouse=True)
def no_shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scratch, "SHARED_MEMORY", str(tmp_path / "absent"))


def test_folders_are_private_and_gone_after_removal(tmp_path: Path) -> None:
    made = Scratch(str(tmp_path))
    for folder in (made.memory, made.disk):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(os.path.dirname(folder)).st_mode) == 0o700
    made.remove()
    assert not any(os.path.exists(folder) for folder in (made.memory, made.disk))


def test_the_living_are_not_swept_and_the_dead_are(tmp_path: Path) -> None:
    living, dead = Scratch(str(tmp_path)), Scratch(str(tmp_path))
    for fd in dead.locks:
        os.close(fd)
    assert is_abandoned(dead.disk) and not is_abandoned(living.disk)
    make_private(str(tmp_path))
    assert os.path.exists(living.disk)
    assert not os.path.exists(dead.disk) and not os.path.exists(dead.memory)
    living.remove()


def test_a_folder_that_is_just_being_made_is_left_alone(tmp_path: Path) -> None:
    made, fd = make_private(str(tmp_path))
    unnamed = os.path.join(os.path.dirname(made), "new-1")
    os.mkdir(unnamed)
    # Whoever made it is about to take the lock.
    Path(unnamed, "lock").touch()
    assert not is_abandoned(unnamed)
    os.utime(unnamed, (0, 0))
    assert is_abandoned(unnamed)
    assert not is_abandoned(made)
    os.close(fd)
    assert is_abandoned(made)


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    home = tmp_path / f"pyrite-{os.getuid()}"
    home.mkdir()
    home.chmod(0o755)
    with pytest.raises(UserError, match="not a private folder"):
        make_private(str(tmp_path))


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"spark\.local\.dir"):
        make_private(str(tmp_path / "file"))

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
    made = Scratch(str(tmp_path)).make()
    for folder in (made.memory, made.disk):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(os.path.dirname(folder)).st_mode) == 0o700
    made.remove()
    assert not any(os.path.exists(folder) for folder in (made.memory, made.disk))


def test_the_living_are_not_swept_and_the_dead_are(tmp_path: Path) -> None:
    living, dead = Scratch(str(tmp_path)).make(), Scratch(str(tmp_path)).make()
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


def test_a_squatted_folder_in_shared_memory_advises_what_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = tmp_path / "shared"
    (memory / f"pyrite-{os.getuid()}").mkdir(parents=True, mode=0o777)
    (memory / f"pyrite-{os.getuid()}").chmod(0o777)
    monkeypatch.setattr(scratch, "SHARED_MEMORY", str(memory))
    with pytest.raises(UserError, match="with mode 0777; remove it, or have its owner") as caught:
        Scratch(str(tmp_path))
    assert "spark.local.dir" not in str(caught.value)


def test_nothing_is_made_before_all_can_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = tmp_path / "shared"
    memory.mkdir()
    monkeypatch.setattr(scratch, "SHARED_MEMORY", str(memory))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"spark\.local\.dir"):
        Scratch(str(tmp_path / "file"))
    assert list(memory.glob("*/*")) == []


def test_a_folder_that_was_half_made_is_removed_too(tmp_path: Path) -> None:
    planned = Scratch(str(tmp_path))
    os.mkdir(planned.traces()[1])
    assert os.path.basename(planned.traces()[1]).startswith("new-")
    planned.remove()
    assert list(tmp_path.glob("*/*")) == []

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite.io.commit import FolderCommit
from pyrite.io.errors import BadPath, OutputExists, OutputIncomplete
from pyrite.io.filesystem import locate, open_read, open_write
from pyrite.io.paths import expand


@pytest.fixture(params=["local", "memory"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "local":
        yield str(tmp_path)
        return
    import fsspec

    filesystem = fsspec.filesystem("memory")
    filesystem.makedirs("/commit", exist_ok=True)
    yield "memory://commit"
    filesystem.rm("/commit", recursive=True)


def listing(address: str) -> list[str]:
    storage, path = locate(address)
    return [entry.name for entry in storage.children(path)]


def content(address: str) -> bytes:
    with open_read(address) as stream:
        return stream.read()


def write(save: FolderCommit, partition: int, attempt: int, data: bytes, suffix: str = "") -> None:
    with open_write(save.task_file(partition, attempt, suffix)) as output:
        output.write(data)


def begun(address: str) -> FolderCommit:
    save = FolderCommit(address)
    save.begin()
    return save


def test_a_save_appears_complete(base: str) -> None:
    save = begun(f"{base}/out")
    for partition in range(3):
        write(save, partition, 0, b"%d" % partition)
        assert save.commit_task(partition, 0)
        assert "out" not in listing(base)
    save.commit(partition_count=3)
    assert listing(f"{base}/out") == ["_SUCCESS", "part-00000", "part-00001", "part-00002"]
    assert content(f"{base}/out/part-00002") == b"2"
    assert content(f"{base}/out/_SUCCESS") == b""
    assert listing(base) == ["out"]
    assert [file.size for file in expand(f"{base}/out")] == [1, 1, 1]


def test_suffixes_and_large_numbers(base: str) -> None:
    save = begun(f"{base}/out")
    write(save, 123456, 0, b"x", ".gz")
    save.commit_task(123456, 0)
    save.commit()
    assert listing(f"{base}/out") == ["_SUCCESS", "part-123456.gz"]


def test_one_attempt_of_a_partition_wins(base: str) -> None:
    save = begun(f"{base}/out")
    write(save, 0, 7, b"seven")
    write(save, 0, 8, b"eight")
    assert save.commit_task(0, 8)
    assert not save.commit_task(0, 7)
    save.commit(partition_count=1)
    assert content(f"{base}/out/part-00000") == b"eight"
    assert listing(base) == ["out"]


def test_attempts_that_never_committed_do_not_count(base: str) -> None:
    save = begun(f"{base}/out")
    write(save, 0, 0, b"half")
    write(save, 0, 1, b"whole")
    save.commit_task(0, 1)
    save.commit()
    assert listing(f"{base}/out") == ["_SUCCESS", "part-00000"]
    assert content(f"{base}/out/part-00000") == b"whole"


def test_a_save_of_no_partitions(base: str) -> None:
    begun(f"{base}/out").commit(partition_count=0)
    assert listing(f"{base}/out") == ["_SUCCESS"]


def test_an_existing_output_is_refused(base: str) -> None:
    begun(f"{base}/out").commit()
    with open_write(f"{base}/file") as output:
        output.write(b"mine")
    for name in ("out", "file"):
        with pytest.raises(OutputExists, match=rf"Output directory .*/{name} already exists"):
            begun(f"{base}/{name}")
    assert content(f"{base}/file") == b"mine"
    assert listing(base) == ["file", "out"]


def test_the_slower_of_two_saves_fails_and_harms_nothing(base: str) -> None:
    slow, fast = begun(f"{base}/out"), begun(f"{base}/out")
    write(slow, 0, 0, b"slow")
    slow.commit_task(0, 0)
    write(fast, 0, 0, b"fast")
    fast.commit_task(0, 0)
    fast.commit()
    with pytest.raises(OutputExists):
        slow.commit()
    slow.abort()
    assert content(f"{base}/out/part-00000") == b"fast"
    assert listing(base) == ["out"]


def test_abort_leaves_nothing(base: str) -> None:
    save = begun(f"{base}/new/deep/out")
    write(save, 0, 0, b"x")
    save.commit_task(0, 0)
    write(save, 1, 0, b"y")
    save.abort()
    assert listing(base) == []
    save.abort()


def test_abort_after_commit_removes_nothing(base: str) -> None:
    save = begun(f"{base}/new/out")
    write(save, 0, 0, b"x")
    save.commit_task(0, 0)
    copy = pickle.dumps(save)
    save.commit()
    save.abort()
    pickle.loads(copy).abort()
    assert listing(f"{base}/new/out") == ["_SUCCESS", "part-00000"]


def test_abort_keeps_what_others_put_beside(base: str) -> None:
    save = begun(f"{base}/new/out")
    with open_write(f"{base}/new/other") as output:
        output.write(b"x")
    save.abort()
    assert listing(f"{base}/new") == ["other"]


def test_a_failure_half_way_through_commit_can_be_undone(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = begun(f"{base}/out")
    for partition in range(2):
        write(save, partition, 0, b"x")
        save.commit_task(partition, 0)
    storage = type(locate(base)[0])
    move = storage.move_file

    def fail_on_second(self: Any, source: str, target: str) -> None:
        if target.endswith("part-00001"):
            raise OSError(28, "No space left on device")
        move(self, source, target)

    monkeypatch.setattr(storage, "move_file", fail_on_second)
    copy = pickle.dumps(save)
    with pytest.raises(OSError, match="No space"):
        save.commit()
    # As whoever finds the driver dead does it, with what was known at the beginning.
    pickle.loads(copy).abort()
    assert listing(base) == []


def test_missing_partitions_are_named(base: str) -> None:
    save = begun(f"{base}/out")
    write(save, 1, 0, b"x")
    save.commit_task(1, 0)
    with pytest.raises(OutputIncomplete, match=r"partitions \[0, 2\] \(2 missing\)"):
        save.commit(partition_count=3)
    save.abort()
    assert listing(base) == []


def test_executors_get_a_copy(base: str) -> None:
    save = begun(f"{base}/out")
    copy = pickle.loads(pickle.dumps(save))
    write(copy, 0, 0, b"x")
    assert copy.commit_task(0, 0)
    save.commit(partition_count=1)
    assert listing(f"{base}/out") == ["_SUCCESS", "part-00000"]


def test_the_folder_of_work_is_hidden_from_readers(base: str) -> None:
    save = begun(f"{base}/out")
    write(save, 0, 0, b"x")
    assert expand(base) == []
    save.abort()


def test_a_late_task_does_not_bring_an_aborted_save_back(tmp_path: Path) -> None:
    save = begun(f"{tmp_path}/out")
    save.abort()
    with pytest.raises(FileNotFoundError):
        save.task_file(0, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "/", "memory://"])
def test_a_path_that_can_be_no_output_is_refused(path: str) -> None:
    with pytest.raises(BadPath):
        FolderCommit(path)

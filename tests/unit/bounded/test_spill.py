"""Spilled batches come back by bucket; a folder that takes no more is named."""

import errno
import gc
import os
import pickle
from pathlib import Path

import pytest
from tight_space import ample_space

from pyrite.bounded import spill
from pyrite.bounded.spill import SpillFailed, SpillWriter


def test_buckets_come_back_in_order_and_repeatedly(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    writer = SpillWriter(space)
    writer.write("a", [1, 2])
    writer.write("b", [("x", {3})])
    writer.write("a", [])
    writer.write_all("a", iter(range(5)), batch_rows=2)
    reader = writer.finish()
    assert list(reader.batches("a")) == [[1, 2], [], [0, 1], [2, 3], [4]]
    assert list(reader.batches("a")) == [[1, 2], [], [0, 1], [2, 3], [4]]
    assert list(reader.batches("b")) == [[("x", {3})]]
    assert list(reader.batches("none")) == []
    (file,) = tmp_path.iterdir()
    assert space.spilled_bytes == file.stat().st_size > 0
    assert file.stat().st_mode & 0o777 == 0o600


def test_two_readers_of_one_bucket_do_not_disturb_each_other(tmp_path: Path) -> None:
    writer = SpillWriter(ample_space(tmp_path))
    writer.write_all(0, range(10), batch_rows=1)
    reader = writer.finish()
    pairs = list(zip(reader.batches(0), reader.batches(0), strict=True))
    assert pairs == [([each], [each]) for each in range(10)]


def test_rows_can_be_read_after_their_file_was_removed(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    writer = SpillWriter(space)
    writer.write(0, ["kept"])
    reader = writer.finish()
    del writer
    space.close()
    assert list(tmp_path.iterdir()) == []
    assert list(reader.batches(0)) == [["kept"]]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_a_file_nobody_reads_any_more_is_closed(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    gc.collect()
    before = open_files()
    writer = SpillWriter(ample_space(tmp_path))
    writer.write(0, [1])
    reader = writer.finish()
    assert open_files() == before + 1
    del writer, reader
    assert open_files() == before


def test_reads_and_writes_cut_short_by_the_system_are_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SpillWriter(ample_space(tmp_path))
    write, preadv = os.write, os.preadv
    monkeypatch.setattr(spill.os, "write", lambda fd, data: write(fd, data[:5]))
    monkeypatch.setattr(spill.os, "preadv", lambda fd, to, at: preadv(fd, [to[0][:7]], at))
    rows = [("some", "rows"), ("that", "are longer")]
    writer.write(0, rows)
    assert list(writer.finish().batches(0)) == [rows]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_names_the_folder_and_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        writer = SpillWriter(ample_space(tmp_path))
        writer.write(0, [1])
        writer._file.fd, kept = full, writer._file.fd
        with pytest.raises(SpillFailed, match=r"No space left.*spark\.local\.dir") as caught:
            writer.write(0, [2])
        writer._file.fd = kept
    finally:
        os.close(full)
    assert caught.value.folder == str(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    writer = SpillWriter(ample_space(tmp_path / "file" / "scratch"))
    with pytest.raises(SpillFailed, match=os.strerror(errno.ENOTDIR)):
        writer.write(0, [1])

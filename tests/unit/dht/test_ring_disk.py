"""The journal, the blocks and the file of a ring on disk; what may be read from the network."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

from pyrite.dht import store as stores
from pyrite.dht.folder import MemberFolder
from pyrite.dht.journal import SLACK_BYTES, RingJournal, SpoiltJournal
from pyrite.dht.ringfile import enter_ring, read_ring, ring_path, set_addresses
from pyrite.dht.store import CHUNK_BYTES, BlockStore, checksums_of, is_block_name
from pyrite.dht.words import BadWords, pack, unpack
from pyrite.errors import UserError
from pyrite.ring.messages import Adopt, CopyRecord
from pyrite.ring.record import Record
from pyrite.ring.views import RingMember, RingView

NAME = f"{7:032x}.0"


def written(store: BlockStore, data: bytes, name: str = NAME) -> None:
    coming = store.begin(name, len(data))
    coming.add(memoryview(data))
    coming.finish(checksums_of(data))


def test_a_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    journal = RingJournal(tmp_path / "journal")
    journal.write([[("a", 1), ("b", Record("/b", (1, 2), None))], [("a", None), ("c", "x")]])
    journal.close()
    assert RingJournal(tmp_path / "journal").values == {"b": Record("/b", (1, 2), None), "c": "x"}


def test_an_entry_that_was_being_written_is_dropped(tmp_path: Path) -> None:
    journal = RingJournal(tmp_path / "journal")
    journal.write([[("a", 1)], [("b", 2)]])
    journal.close()
    data = (tmp_path / "journal").read_bytes()
    for cut in range(1, 12):
        (tmp_path / "journal").write_bytes(data[:-cut])
        torn = RingJournal(tmp_path / "journal")
        assert torn.values == {"a": 1}
        torn.write([[("c", 3)]])
        torn.close()
        assert RingJournal(tmp_path / "journal").values == {"a": 1, "c": 3}


def test_a_journal_that_rots_is_refused_and_its_member_gets_another_id(tmp_path: Path) -> None:
    folder = MemberFolder(tmp_path)
    first = folder.id
    folder.journal.write([[("a", 1)], [("b", 2)]])
    written(folder.store, b"kept")
    folder.close()
    path = tmp_path / "journal"
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    with pytest.raises(SpoiltJournal):
        RingJournal(path)
    again = MemberFolder(tmp_path)
    assert again.id != first and again.saved() == {}
    assert again.store.sizes() == {NAME: 4}
    again.close()


def test_a_journal_of_the_past_is_written_anew(tmp_path: Path) -> None:
    journal = RingJournal(tmp_path / "journal")
    for number in range(40):
        journal.write([[("big", os.urandom(1 << 20)), ("n", number)]])
    assert (tmp_path / "journal").stat().st_size < SLACK_BYTES + (4 << 20)
    kept = dict(journal.values)
    journal.close()
    assert RingJournal(tmp_path / "journal").values == kept


def test_a_folder_has_one_user_and_counts_its_starts(tmp_path: Path) -> None:
    folder = MemberFolder(tmp_path)
    with pytest.raises(UserError, match="in use"):
        MemberFolder(tmp_path)
    folder.remember(99)
    folder.close()
    again = MemberFolder(tmp_path)
    assert (again.id, again.incarnation, again.position) == (folder.id, 2, 99)
    again.close()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
def test_a_block_is_read_as_it_was_written(tmp_path: Path, size: int) -> None:
    store, data = BlockStore(tmp_path), os.urandom(size)
    written(store, data)
    assert BlockStore(tmp_path).sizes() == {NAME: size}
    assert store.checksums(NAME) == checksums_of(data)
    found = store.open(NAME)
    assert found is not None and found.length == size
    assert os.pread(found.fd, size, 0) == data
    os.close(found.fd)


def test_a_block_that_rots_or_is_cut_is_found(tmp_path: Path) -> None:
    store = BlockStore(tmp_path)
    written(store, os.urandom(CHUNK_BYTES + 10))
    [path] = tmp_path.glob("blocks/*/*")
    data = bytearray(path.read_bytes())
    data[CHUNK_BYTES + 3] ^= 1
    path.write_bytes(data)
    assert store.checksums(NAME) is None
    path.write_bytes(data[:-1])
    assert store.open(NAME) is None
    assert store.sizes() == {}


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BlockStore(tmp_path)
    monkeypatch.setattr(stores, "RESERVE_BYTES", 1 << 60)
    with pytest.raises(OSError) as caught:
        store.begin(NAME, 10)
    assert caught.value.errno == errno.ENOSPC
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_was_being_received_at_a_crash_is_removed(tmp_path: Path) -> None:
    BlockStore(tmp_path)
    (tmp_path / "coming" / f"{NAME}-1").write_bytes(b"half")
    assert BlockStore(tmp_path).sizes() == {}
    assert list((tmp_path / "coming").iterdir()) == []


def test_no_path_is_a_block(tmp_path: Path) -> None:
    assert is_block_name(NAME)
    for bad in ("../x", "", "a" * 32, f"{7:032x}.", f"{7:032x}.0/..", 7, None):
        assert not is_block_name(bad)


def test_words_are_read_as_they_were_written_and_make_nothing_else() -> None:
    view = RingView(3, (RingMember("a", 1, "127.0.0.1:1", 5),))
    assert view.positions == [5]
    for value in (Adopt(view), CopyRecord(3, Record("/x", (3, 1), None, ("op",))), [1, "a", None]):
        assert unpack(pack(value)) == value
    for bad in (pickle.dumps(os.system), pickle.dumps(Path("x")), b"", b"junk"):
        with pytest.raises(BadWords):
            unpack(bad)


def test_the_file_of_a_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_RINGS", str(tmp_path / "rings"))
    with pytest.raises(UserError, match="pyrite ring start lab"):
        read_ring("lab")
    first, is_first = enter_ring("lab", "127.0.0.1:1", 1 << 20)
    assert is_first and first.addresses == []
    assert len(first.secret) == 32 and first.block_bytes == 1 << 20
    assert ring_path("lab").stat().st_mode & 0o777 == 0o600
    known = first._replace(addresses=["127.0.0.1:1"])
    assert enter_ring("lab", "127.0.0.1:2", 5) == (known, False)
    set_addresses("lab", ["127.0.0.1:2"])
    assert read_ring("lab").addresses == ["127.0.0.1:2"]
    set_addresses("lab", [])
    assert read_ring("lab") == first._replace(addresses=["127.0.0.1:2"])
    with pytest.raises(UserError, match="can't be a ring's name"):
        ring_path("../lab")

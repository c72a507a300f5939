"""What exchanges can be opened with, and what is said of the rest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import ClusterError, UserError
from pyrite.exchange import Exchange, ExchangeNotStarted
from pyrite.exchange.options import checked, size_of


class Whole:
    """A whole number of another library's."""

    def __index__(self) -> int:
        return 4096


@pytest.mark.parametrize(
    ("memory", "size"),
    [("1g", 1 << 30), ("64", 64), (1 << 20, 1 << 20), (0, 0), (Whole(), 4096)],
)
def test_memory_is_a_size(memory: Any, size: int) -> None:
    assert size_of(memory) == size


@pytest.mark.parametrize("memory", [1e9, -1, "-1g", "much", None, "9" * 400, b"1g"])
def test_memory_that_is_no_size_is_named(memory: Any) -> None:
    with pytest.raises(UserError, match=r"memory=.*whole number of bytes.*'512m'"):
        Exchange(memory)


def test_a_pool_without_memory_is_on_disk() -> None:
    with Exchange(memory=0) as exchange:
        shuffle = exchange.register(maps=2, reducers=1)
        shuffle.put(0, [b"on disk"])
        shuffle.put(1, [b""])
        assert [bytes(each) for each in shuffle.get(0)] == [b"on disk", b""]


def test_a_folder_that_takes_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give local_dir a folder that exists"):
        Exchange(local_dir=str(tmp_path / "absent"))


def test_a_scratch_folder_that_is_not_private_is_named(tmp_path: Path) -> None:
    home = tmp_path / f"pyrite-{os.getuid()}"
    home.mkdir()
    home.chmod(0o755)
    with pytest.raises(ExchangeNotStarted, match=r"not a private folder.* local_dir"):
        Exchange(memory="1m", local_dir=str(tmp_path))


def test_a_host_that_is_not_this_one_is_named() -> None:
    with pytest.raises(UserError, match=r"can't listen at '0.0.0.0'"):
        Exchange(memory="1m", host="0.0.0.0")
    with pytest.raises(ExchangeNotStarted, match="could not be opened") as caught:
        Exchange(memory="1m", host="203.0.113.1")
    assert isinstance(caught.value, ClusterError)


def test_a_host_s_name_that_is_of_use_only_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {"pebble": "127.0.1.1", "boulder": "192.0.2.7"}
    monkeypatch.setattr("socket.gethostbyname", lambda host: addresses.get(host, "127.0.0.1"))
    with pytest.raises(UserError, match=r"'pebble' is 127\.0\.1\.1 here.*give the address"):
        Exchange(memory="1m", host="pebble")
    for host in ("boulder", "localhost", "127.0.0.1", "127.8.8.8"):
        assert checked("1m", None, host, True).host == host


def test_a_host_that_nobody_knows_is_named() -> None:
    with pytest.raises(ExchangeNotStarted, match="could not be opened"):
        Exchange(memory="1m", host="nowhere.invalid")

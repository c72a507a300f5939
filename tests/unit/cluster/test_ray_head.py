"""Is there a Ray head at an address? Where a program asks, it learns so soon, in one line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrite.cluster.ray import head
from pyrite.cluster.ray.session import LOOPBACK_ONLY, head_of
from pyrite.errors import ClusterError

services = pytest.importorskip("ray._private.services")


@pytest.fixture
def stranger() -> Iterator[str]:
    """Something that takes connections and says nothing, as a head that stands still does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ray's file of the cluster that this machine was in last."""
    file = tmp_path / "ray" / "ray_current_cluster"
    file.parent.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setenv(LOOPBACK_ONLY, "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Other tests may run a Ray on this machine.
    monkeypatch.setattr(services, "find_gcs_addresses", frozenset)
    monkeypatch.setattr(head, "PROBE_S", 0.5)
    return file


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_a_stranger_is_no_head(stranger: str, left: Path) -> None:
    with pytest.raises(head.NobodyAnswers, match=f"nobody answers at {stranger}") as raised:
        head_of(stranger)
    assert "\n" not in str(raised.value) and "ray start --head" in str(raised.value)


@pytest.mark.parametrize("is_open", [False, True], ids=["killed", "silent"])
def test_a_head_that_was_killed_makes_way_for_a_new_one(
    stranger: str, left: Path, is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    address = stranger if is_open else unused_address()
    left.write_text(address)
    assert head_of("") is None
    assert f"a new Ray cluster is started: nobody answers at {address}" in caplog.text


def test_a_cluster_that_was_asked_for_is_not_replaced(left: Path) -> None:
    left.write_text(unused_address())
    with pytest.raises(head.NobodyAnswers):
        head_of("auto")
    left.unlink()
    with pytest.raises(ClusterError, match="this machine is in no Ray cluster"):
        head_of("auto")
    assert head_of("") is None


def test_what_a_probe_says_is_told_apart(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str | None] = []
    monkeypatch.setattr(head, "probe", lambda address, was_found: said[0])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        said[:] = [""]
        assert head_of(address) == address
        said[:] = ["RpcError: RPC error: Method not found!"]
        with pytest.raises(head.NobodyAnswers, match=r"no Ray head: RpcError.*not found"):
            head_of(address)
        said[:] = ["AuthenticationError: RPC error: InvalidAuthToken: wrong. Long advice\nmore"]
        with pytest.raises(ClusterError, match=r"another token.*InvalidAuthToken: wrong\)"):
            head_of(address)


def test_a_probe_that_cannot_load_ray_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "PROGRAM", "raise ImportError('another version of Ray')")
    assert head.probe("127.0.0.1:1", was_found=False) == ""

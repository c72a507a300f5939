"""A real block server in a process of its own, over both kinds of sockets, and TLS."""

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from certificates import has_openssl, made_certificates

from pyrite.blocks.segments import Folders, remove_segments
from pyrite.ids import Medium, NodeId
from pyrite.remote.client import BlockClient
from pyrite.remote.process import LOOPBACK, ServerProcess
from pyrite.remote.server import ServerLimits

Start = Callable[..., ServerProcess]
PLAIN = {"RAY_USE_TLS": "0"}


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The folders of a node that all tests share, one after another."""
    root = tmp_path_factory.mktemp("node")
    (root / "memory").mkdir()
    (root / "disk").mkdir()
    return Folders(str(root / "memory"), str(root / "disk"), NodeId("node-0"))


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of processes whose connections are encrypted."""
    if not has_openssl():
        return {}
    return made_certificates(tmp_path_factory.mktemp("tls") / "certificates")


@contextlib.contextmanager
def variables(chosen: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in chosen.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def lasting(
    node: Folders, secret: bytes, tls: dict[str, str]
) -> Iterator[dict[str, ServerProcess]]:
    """A server of each kind, which no test may end."""
    path = os.path.join(node.memory, ".blocks")
    servers = {
        "tcp": ServerProcess.start(node, secret, LOOPBACK),
        "unix": ServerProcess.start(node, secret, path),
    }
    if tls:
        with variables(tls):
            servers["tls"] = ServerProcess.start(node, secret, LOOPBACK)
    yield servers
    for server in servers.values():
        server.stop()
        assert server.process.returncode == 0


@pytest.fixture
def folders(
    node: Folders, lasting: dict[str, ServerProcess], secret: bytes, tls: dict[str, str]
) -> Iterator[Folders]:
    """The node's folders, empty."""
    yield node
    names = [*os.listdir(node.memory), *os.listdir(node.disk)]
    segments = [name for name in names if not name.startswith(".")]
    remove_segments(node, segments)
    client = BlockClient(secret)
    for kind, server in lasting.items():
        server.forget(segments)
        with variables(tls if kind == "tls" else PLAIN):
            # What the server heard before the first is done before the second.
            client.ping(server.address)
            client.ping(server.address)
    client.close()


@pytest.fixture(scope="session")
def secret() -> bytes:
    return os.urandom(32)


@pytest.fixture
def segment(numbers: Iterator[int]) -> str:
    """A name that no other test uses: servers take no block into what was forgotten."""
    return f"e{next(numbers)}-1"


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1000)


@pytest.fixture
def start(folders: Folders, secret: bytes) -> Iterator[Start]:
    """Starts servers with limits of the test's choice; they end with the test."""
    started: list[ServerProcess] = []

    def start_one(**limits: float) -> ServerProcess:
        server = ServerProcess.start(folders, secret, LOOPBACK, ServerLimits(**limits))  # type: ignore[arg-type]
        started.append(server)
        return server

    yield start_one
    for server in started:
        server.stop()


@pytest.fixture(params=["tcp", "unix", "tls"])
def server(
    request: pytest.FixtureRequest,
    lasting: dict[str, ServerProcess],
    folders: Folders,
    tls: dict[str, str],
) -> Iterator[ServerProcess]:
    """A server whose segments are gone after the test."""
    if request.param not in lasting:
        pytest.skip("the command openssl, which makes certificates, is not here")
    with variables(tls if request.param == "tls" else PLAIN):
        yield lasting[request.param]


@pytest.fixture
def client(secret: bytes) -> Iterator[BlockClient]:
    made = BlockClient(secret, timeout_s=30.0)
    yield made
    made.close()


@pytest.fixture
def fill(folders: Folders) -> Callable[..., bytes]:
    """Makes a segment of random bytes."""

    def fill_one(segment: str, size: int, medium: Medium = "memory") -> bytes:
        data = os.urandom(size)
        Path(folders.path(segment, medium)).write_bytes(data)
        return data

    return fill_one

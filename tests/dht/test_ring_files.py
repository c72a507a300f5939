"""Files on five real members: what writers, readers, threads, forks and strangers see."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from realrings import RealRing, wait_until

from pyrite import SparkConf, SparkContext
from pyrite.dht.client import DhtClient
from pyrite.dht.ringfile import read_ring, ring_path
from pyrite.errors import UserError
from pyrite.remote.handshake import ANSWER_BYTES, NONCE_BYTES
from pyrite.ring.errors import RingUnavailable

RING = "five"
BIG = bytes(range(256)) * 4096


@pytest.fixture
def fs(ring: RealRing) -> Any:
    return fsspec.filesystem("dht", ring=ring.name)


@pytest.fixture
def folder(fs: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    path = f"/{request.node.name}"
    fs.makedirs(path)
    yield path
    if fs.exists(path):
        fs.rm(path, recursive=True)


def test_a_file_of_many_blocks_is_read_in_ranges(fs: Any, folder: str) -> None:
    fs.pipe_file(f"{folder}/big", BIG)
    info = fs.info(f"{folder}/big")
    assert info["size"] == len(BIG) and len(info["block_ends"]) == 16
    for start, end in [(0, 1), (65535, 65537), (100_000, 900_001), (len(BIG) - 1, len(BIG))]:
        assert fs.cat_file(f"{folder}/big", start, end) == BIG[start:end]
    with fs.open(f"{folder}/big") as reader:
        reader.seek(70_000)
        assert reader.read(10) == BIG[70_000:70_010]
        assert reader.read() == BIG[70_010:]
        reader.seek(900_000)
        assert reader.read(None) == BIG[900_000:]


def test_a_write_is_seen_at_its_close_or_not_at_all(fs: Any, folder: str) -> None:
    path = f"{folder}/late"
    writer = fs.open(path, "wb")
    writer.write(BIG)
    assert not fs.exists(path)
    writer.close()
    assert fs.cat_file(path) == BIG
    with pytest.raises(ZeroDivisionError), fs.open(f"{folder}/never", "wb") as writer:
        writer.write(BIG)
        raise ZeroDivisionError
    assert fs.ls(folder, detail=False) == [path]


def test_of_many_exclusive_writers_one_wins(fs: Any, folder: str) -> None:
    path = f"{folder}/one"
    writers = [fs.open(path, "xb") for _ in range(6)]
    won = []

    def close(number: int) -> None:
        writers[number].write(f"{number}".encode())
        try:
            writers[number].close()
            won.append(number)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=close, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert fs.cat_file(path) == f"{won[0]}".encode()


def test_the_last_close_wins(fs: Any, folder: str) -> None:
    first, second = fs.open(f"{folder}/x", "wb"), fs.open(f"{folder}/x", "wb")
    first.write(b"first")
    second.write(b"second")
    second.close()
    first.close()
    assert fs.cat_file(f"{folder}/x") == b"first"


def test_a_second_appender_is_refused(fs: Any, folder: str) -> None:
    path = f"{folder}/log"
    fs.pipe_file(path, b"one ")
    with fs.open(path, "ab") as writer:
        writer.write(b"two ")
        with pytest.raises(BlockingIOError):
            fs.open(path, "ab")
    with fs.open(path, "ab") as writer:
        writer.write(b"three")
    assert fs.cat_file(path) == b"one two three"


def test_a_file_that_is_written_again_keeps_its_mode(fs: Any, folder: str) -> None:
    path = f"{folder}/private"
    fs.pipe_file(path, b"one")
    fs.chmod(path, 0o600)
    fs.pipe_file(path, b"two")
    assert fs.info(path)["mode"] == 0o600
    with fs.open(path, "ab") as writer:
        writer.write(b" and three")
    assert (fs.info(path)["mode"], fs.cat_file(path)) == (0o600, b"two and three")


def test_another_mode_leaves_writers_alone(ring: RealRing, fs: Any, folder: str) -> None:
    path = f"{folder}/busy"
    fs.pipe_file(path, b"one")
    with fs.open(path, "ab") as writer:
        writer.write(b" more")
        fs.chmod(path, 0o666)
    assert (fs.info(path)["mode"], fs.cat_file(path)) == (0o666, b"one more")
    other = fsspec.filesystem("dht", ring=ring.name, skip_instance_cache=True)
    is_over = threading.Event()

    def change_often() -> None:
        while not is_over.is_set():
            other.chmod(path, 0o666)

    changer = threading.Thread(target=change_often)
    changer.start()
    try:
        for number in range(50):
            fs.pipe_file(path, b"%d" % number)
            assert fs.cat_file(path) == b"%d" % number
    finally:
        is_over.set()
        changer.join()
    with pytest.raises(IsADirectoryError):
        fs.chmod(folder, 0o600)
    with pytest.raises(FileNotFoundError):
        fs.chmod(f"{folder}/none", 0o600)


def test_readers_keep_what_was_replaced_or_removed(fs: Any, folder: str) -> None:
    fs.pipe_file(f"{folder}/old", BIG)
    with fs.open(f"{folder}/old") as first, fs.open(f"{folder}/old") as second:
        fs.pipe_file(f"{folder}/old", b"new")
        assert first.read() == BIG
        fs.rm(f"{folder}/old")
        assert second.read() == BIG
    assert not fs.exists(f"{folder}/old")


def test_a_rename_moves_no_data_and_every_client_sees_it(
    ring: RealRing, fs: Any, folder: str
) -> None:
    fs.pipe_file(f"{folder}/from", BIG)
    before = fs.info(f"{folder}/from")["id"]
    fs.mv(f"{folder}/from", f"{folder}/to")
    assert fs.info(f"{folder}/to")["id"] == before
    code = (
        f"import fsspec; print(fsspec.filesystem('dht', ring='five').ls({folder!r}, detail=False))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([f"{folder}/to"])


def test_threads_share_a_file_system(fs: Any, folder: str) -> None:
    wrong = []

    def work(number: int) -> None:
        data = os.urandom(100_000)
        for turn in range(5):
            fs.pipe_file(f"{folder}/{number}-{turn}", data)
            if fs.cat_file(f"{folder}/{number}-{turn}") != data:
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(fs.ls(folder)) == 30


def test_a_forked_child_uses_the_same_file_system(fs: Any, folder: str) -> None:
    fs.pipe_file(f"{folder}/shared", BIG)

    def child(answers: Any) -> None:
        answers.put(fs.cat_file(f"{folder}/shared") == BIG)
        fs.pipe_file(f"{folder}/child", b"from the child")

    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=child, args=(answers,))
    process.start()
    assert answers.get(timeout=60)
    process.join(60)
    assert fs.cat_file(f"{folder}/child") == b"from the child"
    answers.close()


def test_a_spoilt_block_is_passed_over_repaired_and_reported(
    ring: RealRing, fs: Any, folder: str
) -> None:
    fs.pipe_file(f"{folder}/rots", BIG)
    [block] = fs.client.run(lambda names: names.look(f"{folder}/rots")).name.file.blocks[:1]
    copies = sorted(ring.folder.glob(f"m*/blocks/*/{block.name}"))
    assert len(copies) == 3
    for path in copies[:2]:
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    assert fs.cat_file(f"{folder}/rots") == BIG
    # The read may have met the good copy first.
    subprocess.run(
        [sys.executable, "-m", "pyrite", "fs", "fsck", "dht://five/", "--repair"],
        capture_output=True,
        text=True,
        check=False,
    )
    for path in copies[:2]:
        log = ring.folder / f"{path.relative_to(ring.folder).parts[0]}.log"
        wait_until(lambda log=log: f"{block.name} is spoilt" in log.read_text(), "the report")
    good = copies[2].read_bytes()
    wait_until(lambda: all(p.exists() and p.read_bytes() == good for p in copies), "repaired")


def test_a_stranger_learns_nothing_and_does_no_harm(ring: RealRing, fs: Any, folder: str) -> None:
    host, port = ring.addresses[0].split(":")
    # Strangers who keep still do not keep others out.
    idle = [socket.create_connection((host, int(port))) for _ in range(100)]
    fs.client.links.close()
    fs.pipe_file(f"{folder}/x", b"there")
    with socket.create_connection((host, int(port))) as stranger:
        stranger.settimeout(20)
        assert len(stranger.recv(1000)) == NONCE_BYTES
        stranger.sendall(os.urandom(ANSWER_BYTES))
        assert stranger.recv(1000) == b""
    for sock in idle:
        sock.close()
    impostor = DhtClient(ring.name, read_ring(ring.name)._replace(secret=os.urandom(32)))
    with pytest.raises(RingUnavailable):
        impostor.run(lambda names: _impatient(names))
    impostor.close()
    fs.pipe_file(f"{folder}/x", b"still there")
    assert fs.cat_file(f"{folder}/x") == b"still there"


def _impatient(names: Any) -> Any:
    names.client.patience_s = 0.5
    return names.client.refresh()


def test_only_the_owner_may_read_the_secret(ring: RealRing) -> None:
    path = ring_path(ring.name)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    try:
        with pytest.raises(UserError, match="chmod 600"):
            read_ring(ring.name)
    finally:
        path.chmod(0o600)


def test_jobs_read_save_and_checkpoint_on_a_ring(ring: RealRing, fs: Any, folder: str) -> None:
    lines = [f"line {number}" for number in range(20_000)]
    fs.pipe_file(f"{folder}/in.txt", "\n".join(lines).encode())
    with SparkContext(conf=SparkConf().setMaster("local[2]")) as sc:
        rdd = sc.textFile(f"dht://five{folder}/in.txt", 1)
        assert rdd.getNumPartitions() == len(fs.info(f"{folder}/in.txt")["block_ends"])
        assert rdd.collect() == lines
        rdd.map(str.upper).saveAsTextFile(f"dht://five{folder}/out")
        back = sc.textFile(f"dht://five{folder}/out")
        assert back.collect() == [line.upper() for line in lines]
        sc.setCheckpointDir(f"dht://five{folder}/checkpoints")
        kept = rdd.map(len)
        kept.checkpoint()
        assert kept.sum() == sum(map(len, lines))
        assert kept.isCheckpointed()
    assert fs.exists(f"{folder}/out/_SUCCESS")


def test_pandas_and_arrow_read_and_write(fs: Any, folder: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(1000), "b": [str(each) for each in range(1000)]})
    frame.to_csv(f"dht://five{folder}/frame.csv", index=False)
    back = pandas.read_csv(f"dht://five{folder}/frame.csv", dtype={"b": str})
    assert back.equals(frame)
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.Table.from_pandas(frame), f"{folder}/t.parquet", filesystem=fs)
    read = parquet.read_table(f"{folder}/t.parquet", filesystem=fs)
    assert read.to_pandas().equals(frame)


def test_the_commands(ring: RealRing, fs: Any, folder: str, tmp_path: Path) -> None:
    def pyrite(*args: str) -> str:
        command = [sys.executable, "-m", "pyrite", *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "data").write_bytes(BIG)
    pyrite("fs", "put", str(tmp_path / "local"), f"dht://five{folder}/up")
    assert "up/data" in pyrite("fs", "ls", f"dht://five{folder}/up")
    pyrite("fs", "mv", f"dht://five{folder}/up/data", f"dht://five{folder}/moved")
    pyrite("fs", "get", f"dht://five{folder}/moved", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == BIG
    assert pyrite("fs", "du", f"dht://five{folder}").startswith(f"{len(BIG)}\t1 files")
    assert "size: 1048576" in pyrite("fs", "stat", f"dht://five{folder}/moved")
    pyrite("fs", "rm", f"dht://five{folder}/moved")
    assert not fs.exists(f"{folder}/moved")
    status = json.loads(pyrite("ring", "status", "five", "--json"))
    assert len(status["members"]) == 5
    assert {"id", "address", "dir", "bytes"} == status["members"][0].keys()
    assert status["underReplicated"] == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("fs du dht://five/none", "there is no /none"),
        ("fs fsck dht://five/none", "there is no /none"),
        ("fs cat dht://five/", "/ is a folder, not a file"),
        ("ring start other --dir /proc/none", "name a folder of yours"),
        ("ring start other --dir {0} --listen 192.0.2.1:0", "name an address of this machine"),
    ],
)
def test_a_command_says_in_one_line_what_is_wrong(
    ring: RealRing, tmp_path: Path, args: str, says: str
) -> None:
    words = args.format(tmp_path / "member").split()
    done = subprocess.run(
        [sys.executable, "-m", "pyrite", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"pyrite {words[0]}: ") and says in done.stderr


def test_fsck_looks_at_a_single_file(fs: Any, folder: str) -> None:
    fs.pipe_file(f"{folder}/one", BIG)
    fs.pipe_file(f"{folder}/one more", BIG)
    command = [sys.executable, "-m", "pyrite", "fs", "fsck", f"dht://five{folder}/one"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1 names, 16 blocks, 0 bad copies\n"


def test_a_command_says_what_is_missing_and_ends_with_its_reader(
    ring: RealRing, fs: Any, folder: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pyrite", "fs"]
    put = [*command, "put", str(tmp_path / "none"), f"dht://five{folder}/x"]
    done = subprocess.run(put, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"pyrite fs: there is no {tmp_path}/none\n")
    fs.pipe_file(f"{folder}/big", BIG * 10)
    cat = subprocess.Popen(
        [*command, "cat", f"dht://five{folder}/big"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert cat.stdout is not None and cat.stderr is not None
    with cat, cat.stdout as read:
        assert read.read(1) == BIG[:1]
        read.close()
        assert cat.stderr.read() == b""

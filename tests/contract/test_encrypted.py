"""Jobs whose nodes and driver talk through TLS, with certificates as Ray's users have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from certificates import has_openssl, made_certificates
from programs import run_program
from raycluster import ENVIRONMENT

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not has_openssl(), reason="the command openssl, which makes certificates, is not here"
    ),
]

PROGRAM = """
import os, signal, ssl, sys
from operator import add
from pyrite import SparkConf, SparkContext, SparkFiles
conf = SparkConf(False).setMaster({master!r}).set("spark.executor.memory", "256m")
sc = SparkContext(conf=conf.set("pyrite.pool.memory", "64m"))
assert all(isinstance(node.agent.link.sock, ssl.SSLSocket)
           for node in sc._engine.cluster.nodes.values() if node.agent)
pairs = sc.range(20000, numSlices=4).map(lambda x: (x % 7, "%0100d" % x))
assert sorted(pairs.groupByKey(4).mapValues(len).collect()) == [
    (key, len(range(key, 20000, 7))) for key in range(7)]
table = sc.broadcast(list(range(100000)))
sc.addFile({file!r})
def look(x):
    with open(SparkFiles.get("words.txt")) as file:
        return file.read(), len(table.value)
assert sc.range(4, numSlices=4).map(look).collect() == [("hello", 100000)] * 4
# The driver's block server is another process then, at the same address.
os.kill(sc._engine.cluster.driver.storage.server.process.pid, signal.SIGKILL)
other = sc.broadcast(list(range(200000)))
assert sc.range(4, numSlices=4).map(lambda x: len(other.value)).collect() == [200000] * 4
large = sc.range(4, numSlices=4).map(lambda x: bytes([x]) * (3 << 20)).collect()
assert large == [bytes([x]) * (3 << 20) for x in range(4)]
sc.stop()
print("right")
"""


@pytest.mark.parametrize("master", ["local-cluster[2,1,512m]", "ray"])
def test_jobs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str) -> None:
    chosen = made_certificates(tmp_path / "certificates") | ENVIRONMENT
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAY_ADDRESS", "local")
    (tmp_path / "words.txt").write_text("hello")
    done = run_program(PROGRAM.format(master=master, file=str(tmp_path / "words.txt")))
    assert done.stdout.splitlines()[-1:] == ["right"], done.stderr


def test_a_missing_certificate_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in made_certificates(tmp_path / "certificates").items():
        monkeypatch.setenv(name, value)
    (tmp_path / "certificates" / "cert.pem").unlink()
    done = run_program(PROGRAM.format(master="local-cluster[1,1,512m]", file=""))
    last = done.stderr.splitlines()[-1]
    assert "cert.pem can't be read (No such file or directory)" in last, done.stderr
    assert "unset RAY_USE_TLS" in last

"""Input with keys on simulated clusters with faults: right answers, and what stays in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from keyed_files import keyed_address

from pyrite import SparkConf, SparkContext
from pyrite.errors import ClusterError, TaskFailed

pytestmark = pytest.mark.timeout(300)
LINES = [f"line {number} of the file" for number in range(120)]


def context(seed: int, faults: int, **settings: str) -> SparkContext:
    master = f"sim[seed={seed},nodes=3,executors=2,faults={faults}]"
    conf = SparkConf(False).setMaster(master)
    for name, value in settings.items():
        conf.set("pyrite." + name.replace("_", "."), value)
    return SparkContext(conf=conf)


def words(line: str) -> list[tuple[str, int]]:
    return [(word, 1) for word in line.split()]


@pytest.mark.parametrize("way", ["true", "strict", "delay", "migrate"])
@pytest.mark.parametrize("seed", range(5))
def test_answers_are_right_whatever_fails(seed: int, way: str, tmp_path: Path) -> None:
    path = tmp_path / f"lines{seed}"
    path.write_text("\n".join(LINES))
    chosen = {"strict": {"laf_strict": "true"}, "migrate": {"laf_migrate": "true"}}.get(way)
    settings = chosen or {"laf": way}
    with context(seed, 12, ring_cache="600", laf_alpha="1", **settings) as sc:
        right = 0
        for _ in range(4):
            try:
                lines = sc.textFile(keyed_address(str(path)))
                assert lines.count() == len(LINES)
                counts = lines.flatMap(words).reduceByKey(lambda a, b: a + b, 3)
                assert dict(counts.collect())["line"] == len(LINES)
                right += 1
            except (ClusterError, TaskFailed):
                # So many faults may be too many for a job.
                continue
        assert right


def test_blocks_are_found_where_they_were_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("\n".join(LINES))
    with context(1, 0, ring_cache="1m", laf_strict="true") as sc:
        lines = sc.textFile(keyed_address(str(path)))
        parts = lines.getNumPartitions()
        assert parts > 40
        for turn in range(3):
            assert lines.count() == len(LINES)
            # All ranges move a little with so many tasks.
            found, read = sc.memory().inputs
            assert found + read == parts * (turn + 1)
        assert found > parts

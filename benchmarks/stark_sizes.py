"""Stark's figure 17, real: the bytes of kept RDDs beside those of their checkpoints.

The application of figure 16 on request lines, two steps of it; keys are the first letters of the
page, as in the paper.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.scache_plots import Plot
from benchmarks.stark_data import requests
from benchmarks.targets import Target
from pyrite import SparkConf, SparkContext, StorageLevel
from pyrite.rdd import RDD

PREFIX, PARTITIONS, HOURS = 4, 8, 2
# What cleans the result keeps so many contents of a key.
MOST_CONTENTS = 5


class Sizes:
    """The two sizes of each RDD of the second step."""

    def __init__(self, small: bool) -> None:
        self.lines = 20_000 if small else 200_000
        # Bytes kept, and written.
        self.found: dict[str, tuple[int, int]] = {}

    def run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pyrite-stark-") as folder:
            conf = SparkConf(False).setMaster("local[2]")
            conf.set("spark.ui.showConsoleProgress", "false").set("spark.checkpoint.dir", folder)
            with SparkContext(conf=conf) as sc:
                dec: RDD[Any] = sc.emptyRDD()
                res: RDD[Any] = sc.emptyRDD()
                for lines in requests(HOURS, self.lines):
                    made = step(sc, lines, dec, res)
                    dec, res = made["dec"], made["res"]
                for name, rdd in made.items():
                    self.found[name] = measure(sc, rdd)

    @property
    def ratios(self) -> dict[str, float]:
        return {name: written / kept for name, (kept, written) in self.found.items()}

    @property
    def targets(self) -> list[Target]:
        return []

    @property
    def plots(self) -> dict[str, Plot]:
        kept, written = zip(*self.found.values(), strict=True)
        lines = {
            "kept": [each / 1e6 for each in kept],
            "checkpoint": [each / 1e6 for each in written],
        }
        title = "Figure 17: kept RDDs and their checkpoints"
        return {"sizes": Plot(title, "MB, real", "RDD", list(self.found), lines, "MB")}

    def markdown(self) -> str:
        lines = [
            "## Figure 17, real: kept RDDs and their checkpoints",
            "",
            "| RDD | kept bytes | checkpoint bytes | ratio |",
            "|---|---:|---:|---:|",
        ]
        for name, (kept, written) in self.found.items():
            lines.append(f"| {name} | {kept:,} | {written:,} | {written / kept:.2f} |")
        least, most = min(self.ratios.values()), max(self.ratios.values())
        told = f"In the paper the ratio is constant; here it is between {least:.2f} and {most:.2f}."
        return "\n".join([*lines, "", told, ""])


def step(sc: SparkContext, lines: list[str], dec: RDD[Any], res: RDD[Any]) -> dict[str, RDD[Any]]:
    """One step of figure 16: its RDDs, by their names there."""

    def keyed(line: str) -> tuple[str, str]:
        page = line.split()[2].removeprefix("/wiki/")
        return page[:PREFIX], page

    kv = sc.parallelize(lines, PARTITIONS).map(keyed).partitionBy(PARTITIONS)
    cnt = kv.mapValues(lambda _: 1).reduceByKey(lambda a, b: a + b)
    ctt = kv.mapValues(lambda page: {page: 1}).reduceByKey(united)
    ccnt = cnt.cogroup(dec).mapValues(lambda pair: sum(pair[0]) + sum(pair[1]))
    acnt = ccnt.filter(lambda pair: pair[1] > len(lines) / 1000)
    cctt = ctt.cogroup(res).mapValues(lambda pair: united(*map(merged, pair)))
    jall = acnt.join(cctt)
    made = {
        "kv": kv,
        "cnt": cnt,
        "ctt": ctt,
        "ccnt": ccnt,
        "dec": ccnt.mapValues(lambda count: count // 2),
        "acnt": acnt,
        "cctt": cctt,
        "jall": jall,
        "res": jall.mapValues(lambda pair: cleaned(pair[1])),
    }
    for rdd in made.values():
        rdd.persist(StorageLevel.OFF_HEAP)
    for rdd in made.values():
        rdd.count()
    return made


def united(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {page: one.get(page, 0) + other.get(page, 0) for page in {**one, **other}}


def merged(found: Any) -> dict[str, int]:
    whole: dict[str, int] = {}
    for each in found:
        whole = united(whole, each)
    return whole


def cleaned(pages: dict[str, int]) -> dict[str, int]:
    best = sorted(pages, key=lambda page: -pages[page])[:MOST_CONTENTS]
    return {page: pages[page] for page in best}


def measure(sc: SparkContext, rdd: RDD[Any]) -> tuple[int, int]:
    """The bytes that are kept of an RDD, and those of a checkpoint."""
    kept = sum(node.rdds.get(rdd.id(), 0) for node in sc.memory().nodes)
    rdd.forceCheckpoint()
    while not rdd.isCheckpointed():
        time.sleep(0.01)
    folder = rdd.getCheckpointFile()
    assert folder is not None
    files = Path(folder.removeprefix("file://").removeprefix("file:")).rglob("*")
    return kept, sum(each.stat().st_size for each in files if each.is_file())

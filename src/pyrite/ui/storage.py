"""Kept RDDs as Spark's REST API has them."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import KeptPart, RddState

MOST_PARTITIONS = 1000


def sizes(parts: list[KeptPart]) -> tuple[int, int]:
    """The bytes in memory and on disk."""
    on_disk = sum(each.bytes for each in parts if each.place == "disk")
    return sum(each.bytes for each in parts) - on_disk, on_disk


def rdd_storage(run: RunModel, rdd: RddState, whole: bool = False) -> dict[str, Any]:
    """What is kept of an RDD; as a whole also where its partitions lie."""
    memory, disk = sizes(list(rdd.kept.values()))
    info: dict[str, Any] = {
        "id": rdd.id,
        "name": rdd.name,
        "numPartitions": rdd.partitions,
        "numCachedPartitions": len(rdd.kept),
        "storageLevel": rdd.level or "",
        "memoryUsed": memory,
        "diskUsed": disk,
        "pyrite": {"site": rdd.site, "live": sum(not each.blocks for each in rdd.kept.values())},
    }
    if whole:
        info["dataDistribution"] = distribution(run, rdd)
        shown = sorted(rdd.kept.items())[:MOST_PARTITIONS]
        info["partitions"] = [
            {
                "blockName": f"rdd_{rdd.id}_{index}",
                "storageLevel": rdd.level or "",
                "memoryUsed": 0 if part.place == "disk" else part.bytes,
                "diskUsed": part.bytes if part.place == "disk" else 0,
                "executors": [str(part.executor)],
                "pyrite": {"partition": index, "place": part.place, "nodes": nodes_of(run, part)},
            }
            for index, part in shown
        ]
    return info


def nodes_of(run: RunModel, part: KeptPart) -> list[str]:
    if part.blocks:
        return list(dict.fromkeys(str(each["node"]) for each in part.blocks))
    home = run.executors.get(part.executor)
    return [home.node] if home else []


def distribution(run: RunModel, rdd: RddState) -> list[dict[str, Any]]:
    by_node: dict[str, list[KeptPart]] = {}
    for part in rdd.kept.values():
        for node in nodes_of(run, part)[:1]:
            by_node.setdefault(node, []).append(part)
    rows = []
    for node, parts in sorted(by_node.items()):
        memory, disk = sizes(parts)
        known = run.nodes.get(node)
        last = known.pool[-1] if known and known.pool else None
        rows.append(
            {
                "address": node,
                "memoryUsed": memory,
                "memoryRemaining": last.size_bytes - last.used_bytes if last else 0,
                "diskUsed": disk,
            }
        )
    return rows


def storage_list(run: RunModel) -> list[dict[str, Any]]:
    return [rdd_storage(run, each) for each in run.rdds.values() if each.level is not None]

"""The pools of all nodes, and who lends to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import NodeState, PoolState
from pyrite.story.traffic import Traffic
from pyrite.ui.units import since_start_s

MOST_POINTS = 240
MOST_NODES = 64


def pool_map(run: RunModel, traffic: Traffic) -> dict[str, Any]:
    """Nodes with their pools in time, and what flows between them."""
    nodes = list(run.nodes.values())
    lending: Counter[tuple[str, str]] = Counter()
    for loan in traffic.loans.values():
        lending[loan.lender, loan.borrower] += loan.bytes
    return {
        "length_s": since_start_s(run, run.last_s) or 0.0,
        "nodes": [node_info(run, each) for each in nodes[:MOST_NODES]],
        "more_nodes": max(0, len(nodes) - MOST_NODES),
        "lending": pairs(lending, "lender", "borrower"),
        "lent": pairs(traffic.lent_bytes, "lender", "borrower"),
        "moved": pairs(traffic.moved_bytes, "source", "target"),
        "fetched": pairs(traffic.fetched_bytes, "source", "target"),
        "to_disk_bytes": sum(traffic.to_disk_bytes.values()),
        "fetches": traffic.fetches,
        "fetches_failed": traffic.fetches_failed,
    }


def pairs(counter: Counter[tuple[str, str]], first: str, second: str) -> list[dict[str, Any]]:
    """The heaviest pairs."""
    return [
        {first: pair[0], second: pair[1], "bytes": size}
        for pair, size in counter.most_common(200)
        if size
    ]


def node_info(run: RunModel, node: NodeState) -> dict[str, Any]:
    last = node.pool[-1] if node.pool else PoolState(node.joined_s, node.pool_bytes, 0, 0, 0, {})
    return {
        "id": node.id,
        "size_bytes": last.size_bytes,
        "used_bytes": last.used_bytes,
        "lent_bytes": last.lent_bytes,
        "borrowed_bytes": last.borrowed_bytes,
        "peak_bytes": max((each.used_bytes for each in node.pool), default=0),
        "lends": node.lends,
        "storage_only": node.storage_only,
        "gone_s": since_start_s(run, node.gone_s),
        "reason": node.reason,
        "executors": [each.id for each in run.executors_of(node.id)],
        "rdds": [
            {
                "id": int(id),
                "name": run.rdds[int(id)].name if int(id) in run.rdds else "",
                "bytes": size,
            }
            for id, size in last.rdds.items()
        ],
        "series": [
            [since_start_s(run, each.at_s), each.used_bytes, each.lent_bytes, each.borrowed_bytes]
            for each in thinned(node.pool)
        ],
    }


def thinned(samples: Sequence[PoolState]) -> Sequence[PoolState]:
    """At most so many samples, the last one among them."""
    step = -(-len(samples) // MOST_POINTS) or 1
    return [*samples[:-1:step], *samples[-1:]]

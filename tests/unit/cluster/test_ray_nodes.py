"""A node of Ray's as Pyrite uses it: its share, its role, the room that Ray's own store leaves."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from pyrite.cluster.node import boot
from pyrite.cluster.ray.members import NodeSizes, RayMembers
from pyrite.cluster.ray.raynode import RayNode, ray_node
from pyrite.execute.limits import WorkerLimits

LISTED: dict[str, Any] = {
    "NodeID": "a18b",
    "NodeManagerAddress": "10.0.0.6",
    "Resources": {"CPU": 4.0, "memory": 8e9, "object_store_memory": 2e9},
}
FREE = {"CPU": 3.0, "memory": 7e9, "object_store_memory": 1.5e9}


def test_what_ray_lists() -> None:
    found = ray_node(LISTED, FREE)
    assert found == RayNode(
        "a18b", "10.0.0.6", 4, 3, 8_000_000_000, 7_000_000_000, 1_500_000_000, False
    )
    assert ray_node(LISTED, {}).free_cpus == ray_node(LISTED, {}).free_store_bytes == 0


@pytest.mark.parametrize(
    ("changed", "is_storage_only"),
    [
        ({"Resources": {"pyrite_storage": 1.0}}, True),
        ({"Labels": {"pyrite.role": "storage"}}, True),
        ({"Labels": {"pyrite.role": "compute"}}, False),
        ({"Labels": None}, False),
    ],
    ids=["resource", "label", "other label", "no labels"],
)
def test_nodes_that_only_lend_memory(changed: dict[str, Any], is_storage_only: bool) -> None:
    assert ray_node({**LISTED, **changed}, FREE).storage_only is is_storage_only


def test_agents_are_told_what_the_object_store_may_take() -> None:
    sizes = NodeSizes(3, 1000, WorkerLimits(1, 2, 3, 4, 5))
    members = RayMembers(SimpleNamespace(), lambda node: sizes, 0)  # type: ignore[arg-type]
    plan = members._plan(ray_node(LISTED, FREE))
    assert plan is not None and plan.reserved_bytes == 1_500_000_000


@pytest.mark.parametrize(
    ("wanted", "reserved", "room"),
    [(100, 0, 100), (700, 300, 700), (900, 300, 700), (2000, 0, 1000), (2000, 300, 700)],
)
def test_the_pool_leaves_room_for_the_object_store(
    monkeypatch: pytest.MonkeyPatch, wanted: int, reserved: int, room: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    assert boot.room_for_pool(wanted, reserved) == room


def test_a_store_larger_than_all_shared_memory_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=64))
    assert boot.room_for_pool(1000, 200) == 32

"""docs/kuberay.yaml has what the KubeRay operator and Pyrite need.

The operator's own schema is on no package index: these are the fields of its RayCluster, v1, as its
types declare them. The pods in it were checked against the schema of Kubernetes 1.30, strictly.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pyrite.cluster.ray.raynode import STORAGE_RESOURCE
from pyrite.quantities import parse_bytes

yaml = pytest.importorskip("yaml")

DOCS = Path(__file__).parents[3] / "docs"
CLUSTER = yaml.safe_load((DOCS / "kuberay.yaml").read_text())
HEAD = CLUSTER["spec"]["headGroupSpec"]
WORKERS: dict[str, Any] = {each["groupName"]: each for each in CLUSTER["spec"]["workerGroupSpecs"]}
GROUPS = [HEAD, *WORKERS.values()]
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def bytes_of(quantity: str) -> int:
    """Binary units only, as all sizes here have them."""
    assert quantity.endswith("i"), quantity
    return parse_bytes(quantity.removesuffix("i").lower())


def test_it_is_a_cluster_of_rays() -> None:
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("ray.io/v1", "RayCluster")
    assert NAME.fullmatch(CLUSTER["metadata"]["name"])
    assert set(CLUSTER) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(CLUSTER["spec"]) == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", CLUSTER["spec"]["rayVersion"])


def test_groups_have_the_fields_of_groups() -> None:
    assert set(HEAD) == {"rayStartParams", "template"}
    for name, group in WORKERS.items():
        assert NAME.fullmatch(name)
        assert set(group) == {
            *("groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template")
        }
        assert 0 <= group["minReplicas"] <= group["maxReplicas"]
        assert group["replicas"] <= group["maxReplicas"]


def test_parameters_of_ray_start_are_texts() -> None:
    for group in GROUPS:
        for name, value in group["rayStartParams"].items():
            assert isinstance(name, str) and isinstance(value, str), (name, value)


@pytest.mark.parametrize("group", GROUPS, ids=["head", *WORKERS])
def test_pods_share_memory_that_they_have(group: dict[str, Any]) -> None:
    pod = group["template"]["spec"]
    assert set(pod) == {"containers", "volumes"}
    [container], [volume] = pod["containers"], pod["volumes"]
    assert container["volumeMounts"] == [{"mountPath": "/dev/shm", "name": volume["name"]}]
    assert volume["emptyDir"]["medium"] == "Memory"
    # Ray takes the limits for the node's size, and shared memory counts as the container's.
    limits = container["resources"]["limits"]
    assert limits == container["resources"]["requests"] and set(limits) == {"cpu", "memory"}
    assert bytes_of(volume["emptyDir"]["sizeLimit"]) < bytes_of(limits["memory"])


def test_each_group_has_its_role() -> None:
    parameters = WORKERS["storage"]["rayStartParams"]
    assert parameters["num-cpus"] == HEAD["rayStartParams"]["num-cpus"] == "0"
    # The operator writes it into a shell's command line, quotes included.
    assert json.loads(json.loads(parameters["resources"])) == {STORAGE_RESOURCE: 1}
    assert "num-cpus" not in WORKERS["executors"]["rayStartParams"]


def test_the_page_tells_of_this_cluster() -> None:
    page = (DOCS / "ray.md").read_text()
    executors = WORKERS["executors"]
    [container] = executors["template"]["spec"]["containers"]
    assert (executors["replicas"], container["resources"]["limits"]["cpu"]) == (2, "4")
    assert "two workers of four CPUs" in page
    assert f"ray.io/cluster={CLUSTER['metadata']['name']}" in page

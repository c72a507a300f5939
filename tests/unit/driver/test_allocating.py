"""The settings of dynamic allocation, as rules."""

from __future__ import annotations

from math import inf

import pytest

from pyrite import SparkConf
from pyrite.driver.start.allocating import allocation_rule, first_nodes
from pyrite.driver.start.master import parse_master
from pyrite.schedule.rules import AllocationRule
from pyrite.settings import Settings

CLUSTER = "local-cluster[3,2,512m]"


def rule_of(master: str = CLUSTER, **settings: object) -> AllocationRule | None:
    conf = SparkConf(False).set("spark.dynamicAllocation.enabled", "true")
    for name, value in settings.items():
        prefix = "spark.executor." if name == "instances" else "spark.dynamicAllocation."
        conf.set(prefix + name, str(value))
    return allocation_rule(parse_master(master), Settings(conf))


def test_the_defaults_are_spark_s() -> None:
    rule = rule_of("ray[127.0.0.1:6379]")
    assert rule == AllocationRule(0, 2**31 - 1, 0, 1.0, 1.0, 60.0, inf, 1.0, 1)


def test_a_local_cluster_is_no_larger_than_its_master_says_unless_told() -> None:
    rule = rule_of()
    assert rule is not None and (rule.most, rule.node_executors) == (6, 2)
    more = rule_of(maxExecutors=20)
    assert more is not None and more.most == 20


def test_bare_numbers_are_seconds_as_in_spark() -> None:
    rule = rule_of(
        schedulerBacklogTimeout=3, executorIdleTimeout="30s", cachedExecutorIdleTimeout="2min"
    )
    assert rule is not None
    # What is said once holds for further executors too.
    assert (rule.backlog_s, rule.sustained_s) == (3.0, 3.0)
    assert (rule.idle_s, rule.cached_idle_s) == (30.0, 120.0)


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({}, 0),
        ({"minExecutors": 3}, 2),
        ({"initialExecutors": 1, "minExecutors": 2}, 1),
        ({"instances": 5}, 3),
        ({"initialExecutors": 9}, 3),
        ({"initialExecutors": 5, "maxExecutors": 5}, 2),
    ],
)
def test_a_local_cluster_begins_with_whole_nodes(settings: dict[str, int], nodes: int) -> None:
    assert first_nodes(parse_master(CLUSTER), rule_of(**settings)) == nodes


def test_without_it_all_nodes_are_there() -> None:
    assert first_nodes(parse_master(CLUSTER), None) == 3


@pytest.mark.parametrize("master", ["local[4]", "local"])
def test_one_node_can_not_grow(master: str) -> None:
    assert rule_of(master) is None

"""Who reaches for the JVM is told that there is none, as of an attribute that is missing."""

from __future__ import annotations

import threading

import pytest

from pyrite import SparkContext
from pyrite.errors import NotSupported
from pyrite.execute.closures import NotSerializable


@pytest.mark.parametrize("name", ["_jsc", "_jvm", "_gateway"])
def test_a_context_has_no_way_to_the_jvm(sc: SparkContext, name: str) -> None:
    assert not hasattr(sc, name)
    with pytest.raises(NotSupported, match=rf"SparkContext\.{name} leads to the JVM"):
        getattr(sc, name)


def test_an_rdd_has_no_way_to_the_jvm(sc: SparkContext) -> None:
    rdd = sc.parallelize([1], 1)
    with pytest.raises(AttributeError, match=r"RDD\._jrdd leads to the JVM"):
        rdd._jrdd  # noqa: B018


def test_other_attributes_are_missing_as_ever(sc: SparkContext) -> None:
    with pytest.raises(
        AttributeError, match="'SparkContext' object has no attribute 'parallelise'"
    ):
        sc.parallelise  # noqa: B018


def test_what_can_not_be_broadcast_is_named(sc: SparkContext) -> None:
    with pytest.raises(NotSerializable, match=r"the value of a broadcast.*\['lock'\]"):
        sc.broadcast({"lock": threading.Lock()})
    with pytest.raises(NotSerializable, match="CONTEXT_ONLY_VALID_ON_DRIVER"):
        sc.broadcast([sc])

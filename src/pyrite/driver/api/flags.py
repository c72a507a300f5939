"""Per-thread settings of jobs: group, tags, description, properties."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from pyrite.errors import BadValue
from pyrite.ids import JobId
from pyrite.plan.stages import JobSpec, StageSpec

TAG_SEPARATOR = ","


class Flags(threading.local):
    """Per-thread properties and tags; InheritableThread copies them to a new thread."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.tags: set[str] = set()
        # False for the engine's own jobs, such as checkpoints: they update no accumulators.
        self.counted = True

    def put(self, key: str, value: str | None) -> None:
        if value is None:
            self.properties.pop(key, None)
        else:
            self.properties[key] = str(value)

    def add_tag(self, tag: str) -> None:
        self.tags.add(checked_tag(tag))

    def remove_tag(self, tag: str) -> None:
        self.tags.discard(checked_tag(tag))

    def copy(self) -> tuple[dict[str, str], set[str]]:
        return dict(self.properties), set(self.tags)

    def adopt(self, copied: tuple[dict[str, str], set[str]]) -> None:
        self.properties, self.tags = dict(copied[0]), set(copied[1])


class JobFlags(NamedTuple):
    """The settings of a job's thread when it was submitted."""

    properties: dict[str, str]
    tags: frozenset[str]
    python_paths: tuple[str, ...]
    counted: bool = True
    # The method that the user called, and from where.
    action: str = ""
    site: str = ""

    def spec(self, job: JobId, stage: StageSpec, partitions: Sequence[int]) -> JobSpec:
        """The job that computes these partitions of the stage."""
        return JobSpec(
            job,
            stage,
            tuple(dict.fromkeys(partitions)),
            self.properties.get("spark.jobGroup.id"),
            self.tags,
            self.properties.get("spark.scheduler.pool", "default"),
            self.properties.get("spark.job.description", ""),
            self.action,
            self.site,
        )


def checked_tag(tag: str) -> str:
    if not tag or TAG_SEPARATOR in tag:
        raise BadValue(f"a job tag must not be empty or contain a comma: {tag!r}")
    return tag

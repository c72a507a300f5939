"""The numbers of runs in Prometheus' text format: base units, no label per task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pyrite.story.model import RunModel

Labelled = tuple[Mapping[str, str], float]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class LabelledValue(NamedTuple):
    labels: Mapping[str, str]
    value: float


class Family(NamedTuple):
    """A metric with its samples."""

    name: str
    kind: str
    help: str
    samples: list[LabelledValue]


COUNTERS = (
    ("run_s", "task_run_seconds", "Time in which attempts ran."),
    ("cpu_s", "task_cpu_seconds", "Processor time of attempts."),
    ("deserialize_s", "task_deserialize_seconds", "Time in which attempts were unpickled."),
    ("fetch_wait_s", "task_fetch_wait_seconds", "Time in which attempts waited for map outputs."),
    ("gc_s", "task_gc_seconds", "Time of garbage collection in attempts."),
    ("rows_read", "rows_read", "Rows that attempts read."),
    ("rows_written", "rows_written", "Rows that attempts wrote."),
    ("read_bytes", "read_bytes", "Bytes read from files."),
    ("written_bytes", "written_bytes", "Bytes written to files."),
    ("result_bytes", "result_bytes", "Bytes of results."),
    ("shuffle_written_bytes", "shuffle_written_bytes", "Bytes of map outputs."),
    ("spilled_bytes", "spilled_bytes", "Bytes that attempts spilled to disk."),
)
OUTCOMES = ("succeeded", "failed", "cancelled", "lost")
SOURCES = ("local", "remote", "prefetched")
PLACES = ("live", "pool", "remote", "disk")


def exposition(runs: Mapping[str, tuple[RunModel, bool]]) -> str:
    """All runs, by id, each with whether it goes on."""
    merged: dict[str, Family] = {}
    for id, (run, live) in runs.items():
        for family in families(id, run, live):
            merged.setdefault(family.name, family._replace(samples=[])).samples.extend(
                family.samples
            )
    lines = [line for family in merged.values() for line in lines_of(family)]
    return "\n".join([*lines, ""])


def lines_of(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        text = ",".join(f'{name}="{escaped(each)}"' for name, each in labels.items())
        yield f"{family.name}{{{text}}} {value:.10g}"


def escaped(text: str) -> str:
    r"""A label's value.

    >>> escaped('a "name"\n')
    'a \\"name\\"\\n'
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Numbers:
    """Makes families whose samples have the application's label."""

    def __init__(self, id: str) -> None:
        self.base = {"application": id}

    def counter(self, name: str, about: str, *samples: Labelled) -> Family:
        return Family(f"pyrite_{name}_total", "counter", about, self.samples(samples))

    def gauge(self, name: str, about: str, *samples: Labelled) -> Family:
        return Family(f"pyrite_{name}", "gauge", about, self.samples(samples))

    def samples(self, found: tuple[Labelled, ...]) -> list[LabelledValue]:
        return [LabelledValue({**self.base, **labels}, value) for labels, value in found]


def families(id: str, run: RunModel, live: bool) -> Iterator[Family]:
    make = Numbers(id)
    name = run.header.name if run.header else ""
    totals, measured = run.totals, run.totals.measured
    yield make.gauge("application_info", "An application.", ({"name": name}, 1))
    yield make.gauge("application_running", "Whether the application goes on.", ({}, live))
    yield make.counter(
        "jobs",
        "Jobs that ended.",
        ({"status": "succeeded"}, run.jobs_ended - run.jobs_failed),
        ({"status": "failed"}, run.jobs_failed),
    )
    running = sum(job.ended_s is None for job in run.jobs.values())
    yield make.gauge("jobs_running", "Jobs that run.", ({}, running))
    counts = [({"outcome": each}, getattr(totals, each)) for each in OUTCOMES]
    yield make.counter("tasks", "Attempts at tasks that ended.", *counts)
    yield make.gauge("tasks_running", "Attempts at tasks that run.", ({}, len(run.running)))
    for field, metric, about in COUNTERS:
        yield make.counter(metric, about, ({}, getattr(measured, field)))
    read = [({"source": each}, getattr(measured, f"shuffle_{each}_bytes")) for each in SOURCES]
    yield make.counter("shuffle_read_bytes", "Bytes of map outputs that were read.", *read)
    kept = [({"place": each}, getattr(measured, f"kept_{each}")) for each in PLACES]
    yield make.counter("kept_partitions_read", "Kept partitions read, by where they were.", *kept)
    peak = measured.peak_memory_bytes
    yield make.gauge("task_peak_memory_bytes", "The highest memory of an attempt.", ({}, peak))
    yield from nodes_families(run, make)


def nodes_families(run: RunModel, make: Numbers) -> Iterator[Family]:
    living = [each for each in run.nodes.values() if each.gone_s is None]
    counts = [({"node": each.id}, len(run.executors_of(each.id))) for each in living]
    yield make.gauge("executors", "Executors that live.", *counts)
    lost = sum(each.gone_s is not None for each in run.executors.values())
    yield make.counter("executors_lost", "Executors that were lost.", ({}, lost))
    for field, name, about in (
        ("size_bytes", "pool_size_bytes", "The size of a node's pool."),
        ("used_bytes", "pool_used_bytes", "Bytes in a node's pool."),
        ("lent_bytes", "pool_lent_bytes", "Of these: what other nodes have laid there."),
        ("borrowed_bytes", "pool_borrowed_bytes", "What a node has laid into other pools."),
    ):
        sizes = [({"node": it.id}, getattr(it.pool[-1], field)) for it in living if it.pool]
        yield make.gauge(name, about, *sizes)

"""Stories to look at: a small one with a bit of everything, and one of many tasks."""

from pathlib import Path

from pyrite.story import records as rec
from pyrite.story.format import StoryHeader
from pyrite.story.records import Record
from pyrite.story.write import StoryWriter

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"

FORESEEN = {
    "shuffle": 0, "how": "observed", "seen": 2, "maps": 4, "mean_error": 0.1, "misplaced": 0.0,
    "total_error": 0.0, "heaviest_error": 0.05, "predicted_bytes": [130, 110],
    "true_bytes": [125, 115],
}  # fmt: skip


def header(application: str = "local-1", name: str = "sales") -> StoryHeader:
    return StoryHeader(
        application, name, "0.1.0", "3.11.7", "here", 17, 1_700_000_000.0, 100.0, "local[2]",
        {"spark.app.name": name, "spark.some.password": "*********(redacted)"}, "job.py", "me",
        code=True,
    )  # fmt: skip


def write(path: Path, told: list[Record], application: str = "local-1", name: str = "sales") -> str:
    writer = StoryWriter(str(path), header(application, name), False)
    for start in range(0, len(told), 1000):
        writer.add(told[start : start + 1000])
    writer.close()
    return str(path)


def operator(method: str, name: str | None = None) -> dict[str, object]:
    return {
        "operator": method,
        "method": method,
        "name": name,
        "site": f"/home/me/job.py:{len(method)}",
    }


def nodes() -> list[Record]:
    return [
        rec.NodeAdded(100.0, "node-0", 1000),
        rec.NodeAdded(100.0, "node-1", 1000),
        rec.ExecutorAdded(100.1, 0, "node-0", "here", 41),
        rec.ExecutorAdded(100.1, 1, "node-1", "here", 42),
    ]


def small(name: str = HOSTILE) -> list[Record]:
    """A shuffle with a map stage of four sampled tasks, an error, a lost executor, a skipped stage,
    a loan and a forecast."""
    orders = {
        "id": 3,
        "partitions": 4,
        "inputs": [],
        "operators": [operator("parallelize"), operator("map", name)],
    }
    totals = {
        "id": 5,
        "partitions": 2,
        "inputs": [{"shuffle": 0}],
        "operators": [operator("reduceByKey", "totals")],
    }
    told: list[Record] = [
        *nodes(),
        rec.RddKept(100.15, 3, None, "Memory Serialized 1x Replicated"),
        rec.StageMade(100.2, 0, f"{name} at job.py:3", 4, (), 0, rdds=[orders]),
        rec.StageMade(100.2, 1, "totals at job.py:4", 2, (0,), rdds=[totals]),
        rec.JobBegan(100.2, 0, 1, 2, "count", "/home/me/job.py:9"),
    ]
    for index in range(4):
        told.append(rec.TaskStarted(100.2 + index, index, index % 2, 0, [index], 0, 0))
        block = {
            "node": "node-0",
            "segment": f"s{index}",
            "offset": 0,
            "bytes": 50,
            "medium": "memory",
        }
        stored = [{"rdd": 3, "partition": index, "bytes": 50, "blocks": [block]}]
        told.append(rec.PartitionsKept(100.9 + index, index, stored))
        inner = f"{name} (/home/me/job.py:3)"
        stacks = {f"load (/home/me/job.py:2);{inner}": 30, "load (/home/me/job.py:2)": 10}
        told.append(rec.TaskSampled(100.9 + index, index, stacks))
        told.append(
            rec.TaskEnded(
                101.0 + index, index, rec.SUCCEEDED, [60], 0, 60, run_s=0.5 + index, cpu_s=0.25,
                rows_read=100, rows_written=10, peak_memory_bytes=1000 + index,
            )
        )  # fmt: skip
    wanted = {"node": "node-0", "writer": 0, "segment": "e0-1", "bytes": 300}
    fetch = {"fetch": 0, "node": "node-1", "bytes": 90, "source": "node-0", "medium": "memory"}
    trace = f'  File "/home/me/job.py", line 12, in {name}\n    row[k]\nKeyError\n'
    read = {"shuffle_local_bytes": 100, "shuffle_prefetched_bytes": 25}
    told += [
        rec.StageEnded(104.5, 0),
        rec.Told(104.5, "SpaceWanted", wanted),
        rec.Told(104.5, "GrantSpace", {"writer": 0, "segment": "e0-1", "place": "node-1"}),
        rec.PoolSampled(104.5, "node-1", 1000, 400, 300, 0, {}),
        rec.PoolSampled(104.5, "node-0", 1000, 240, 0, 300, {"3": 200}),
        rec.Told(104.5, "FetchParts", fetch),
        rec.Told(104.6, "SizesForeseen", FORESEEN),
        rec.TaskStarted(104.7, 4, 0, 1, [0], 0, 0),
        rec.TaskStarted(104.7, 5, 1, 1, [1], 0, 0),
        rec.ExecutorGone(104.8, 1, "killed by SIGKILL", [f"last words {name}"]),
        rec.Told(104.8, "StartExecutor", {"lost": 1, "node": "node-1"}),
        rec.ExecutorAdded(104.9, 2, "node-1", "here", 43),
        rec.TaskEnded(105.0, 4, rec.SUCCEEDED, [8], 8, run_s=0.2, **read),
        rec.TaskStarted(105.0, 6, 2, 1, [1], 1, 0),
        rec.TaskEnded(105.2, 6, rec.SUCCEEDED, [8], 8, run_s=0.2, shuffle_remote_bytes=115),
        rec.JobEnded(105.2, 0),
        rec.StageEnded(105.2, 1),
        rec.StageMade(105.3, 2, "map at job.py:7", 2, (0,), rdds=[{**totals, "id": 6}]),
        rec.JobBegan(105.3, 1, 2, 2, "collect", "/home/me/job.py:12"),
        rec.TaskStarted(105.4, 7, 0, 2, [0], 0, 1),
        rec.TaskError(
            105.5, 7, "KeyError", "KeyError",
            f"Traceback (most recent call last):\n{trace}",
        ),
        rec.TaskEnded(105.5, 7, rec.RAISED),
        rec.JobEnded(105.6, 1, "PythonException", f"KeyError in {name}"),
        rec.StageEnded(105.6, 2),
        rec.ApplicationEnded(106.0),
    ]  # fmt: skip
    return told


def many(tasks: int) -> list[Record]:
    """One stage of many tasks on 40 executors, one task in a thousand a straggler."""
    rows = {
        "id": 1,
        "partitions": tasks,
        "inputs": [],
        "operators": [operator("parallelize"), operator("map", "rows")],
    }
    told: list[Record] = [rec.NodeAdded(0.0, f"node-{node}", 1 << 30) for node in range(10)]
    told += [
        rec.ExecutorAdded(0.0, each, f"node-{each % 10}", "here", 100 + each) for each in range(40)
    ]
    told.append(rec.StageMade(0.1, 0, "rows at job.py:3", tasks, rdds=[rows]))
    told.append(rec.JobBegan(0.1, 0, 0, tasks, "count", "/home/me/job.py:4"))
    free_s = [0.1] * 40
    for task in range(tasks):
        executor = task % 40
        took_s = 0.5 if task % 1000 == 7 else 0.004 + (task * 7919 % 100) / 1e5
        at_s = free_s[executor]
        free_s[executor] = at_s + took_s
        told.append(rec.TaskStarted(at_s, task, executor, 0, [task], 0, 0))
        told.append(
            rec.TaskEnded(
                at_s + took_s, task, rec.SUCCEEDED, [56], 56, run_s=took_s * 0.9,
                cpu_s=took_s * 0.8, deserialize_s=1e-4, rows_read=task % 977,
                rows_written=task % 13,
                peak_memory_bytes=20_000_000 + task * 131 % 999_983,
            )
        )  # fmt: skip
    told.sort(key=lambda each: each.at_s)
    end_s = max(free_s)
    told += [rec.JobEnded(end_s, 0), rec.StageEnded(end_s, 0), rec.ApplicationEnded(end_s)]
    return told

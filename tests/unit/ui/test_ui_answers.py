"""What the REST API says of a story."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shown_stories import HOSTILE, many, operator, small, write

from pyrite.story import records as rec
from pyrite.ui.answers import ANSWERS, BadQuestion, RunQuestion
from pyrite.ui.library import Library, NoSuchThing


class Asker:
    """Asks a library as the server does."""

    def __init__(self, *paths: str) -> None:
        self.library = Library(list(paths))

    def __call__(self, address: str, app: str = "local-1", **query: str) -> Any:
        return self.whole(address, app, **query).value

    def whole(self, address: str, app: str = "local-1", **query: str) -> Any:
        for pattern, answer in ANSWERS.items():
            found = matched(pattern, address)
            if found is not None:
                statuses = (query["status"],) if "status" in query else ()
                return answer(
                    RunQuestion(self.library, self.library.run(app), app, found, query, statuses)
                )
        raise AssertionError(address)


def matched(pattern: str, address: str) -> dict[str, str] | None:
    wanted, given = pattern.split("/"), address.split("/")
    if len(wanted) != len(given):
        return None
    found = {}
    for part, text in zip(wanted, given, strict=True):
        if part.startswith("{"):
            found[part[1:-1]] = text
        elif part != text:
            return None
    return found


@pytest.fixture
def make_asker() -> Iterator[Callable[..., Asker]]:
    made: list[Asker] = []

    def make(*paths: str) -> Asker:
        made.append(Asker(*paths))
        return made[-1]

    yield make
    for each in made:
        each.library.close()


@pytest.fixture
def ask(tmp_path: Path, make_asker: Callable[..., Asker]) -> Asker:
    return make_asker(write(tmp_path / "a.story", small()))


def test_the_application(ask: Asker) -> None:
    [attempt] = ask("")["attempts"]
    assert attempt["completed"]
    assert attempt["startTime"] == "2023-11-14T22:13:20.000GMT"
    assert attempt["duration"] == 6000


def test_jobs(ask: Asker) -> None:
    failed, done = ask("/jobs")
    assert (done["jobId"], done["status"], done["stageIds"]) == (0, "SUCCEEDED", [0, 1])
    assert (done["numTasks"], done["numCompletedTasks"]) == (6, 6)
    assert done["submissionTime"] == "2023-11-14T22:13:20.200GMT"
    assert (failed["status"], failed["numSkippedStages"], failed["numSkippedTasks"]) == (
        "FAILED",
        1,
        4,
    )
    assert failed["pyrite"]["error"] == "PythonException"
    assert ask("/jobs/0") == done
    assert [each["jobId"] for each in ask("/jobs", status="failed")] == [1]


def test_jobs_by_pages(ask: Asker) -> None:
    answer = ask.whole("/jobs", offset="1", length="1")
    assert [each["jobId"] for each in answer.value] == [0]
    assert answer.headers["x-total-count"] == "2"


def test_stages(ask: Asker) -> None:
    stage = ask("/stages/0/0")
    assert (stage["status"], stage["numTasks"], stage["numCompleteTasks"]) == ("COMPLETE", 4, 4)
    assert stage["executorRunTime"] == 8000
    assert stage["executorCpuTime"] == 10**9
    assert (stage["inputRecords"], stage["shuffleWriteBytes"]) == (400, 240)
    assert stage["peakExecutionMemory"] == 1003
    assert stage["rddIds"] == [3]
    assert ask("/stages/0") == [stage]
    second = ask("/stages/1/0")
    assert (second["numTasks"], second["numFailedTasks"], second["shuffleReadBytes"]) == (2, 1, 240)
    assert [each["stageId"] for each in ask("/stages")] == [2, 1, 0]


def test_quantiles_are_those_of_the_tasks(ask: Asker) -> None:
    summary = ask("/stages/0/0/taskSummary", quantiles="0.0,0.5,1.0")
    assert summary["quantiles"] == [0.0, 0.5, 1.0]
    assert summary["executorRunTime"] == [500, 2500, 3500]
    assert summary["duration"] == [800, 800, 800]
    assert summary["shuffleWriteMetrics"]["writeBytes"] == [60, 60, 60]
    assert summary["peakExecutionMemory"] == [1000, 1002, 1003]
    assert ask("/stages/1/0/taskSummary", quantiles="1")["shuffleReadMetrics"]["readBytes"] == [125]


def test_a_list_of_tasks_has_pages_and_orders(ask: Asker) -> None:
    page = ask.whole("/stages/0/0/taskList", offset="1", length="2", sortBy="-runtime")
    assert page.headers["x-total-count"] == "4"
    assert len(page.value) == 2
    [first, *_] = ask("/stages/1/0/taskList")
    assert (first["taskId"], first["partitionId"], first["status"]) == (4, 0, "SUCCESS")
    lost = ask("/stages/1/0/taskList", status="failed")
    assert [(each["taskId"], each["pyrite"]["outcome"]) for each in lost] == [(5, "lost")]
    again = ask("/stages/1/0/taskList")[-1]
    assert (again["attempt"], again["executorId"]) == (1, "2")


def test_executors(ask: Asker) -> None:
    assert [each["id"] for each in ask("/executors")] == ["0", "2"]
    lost = ask("/allexecutors")[1]
    assert (lost["isActive"], lost["removeReason"]) == (False, "killed by SIGKILL")
    assert lost["pyrite"]["output"] == [f"last words {HOSTILE}"]
    assert (lost["completedTasks"], lost["failedTasks"]) == (2, 1)


def test_storage(ask: Asker) -> None:
    [rdd] = ask("/storage/rdd")
    assert (rdd["id"], rdd["name"], rdd["numCachedPartitions"]) == (3, HOSTILE, 4)
    assert (rdd["numPartitions"], rdd["memoryUsed"], rdd["diskUsed"]) == (4, 200, 0)
    whole = ask("/storage/rdd/3")
    assert whole["dataDistribution"] == [
        {"address": "node-0", "memoryUsed": 200, "memoryRemaining": 760, "diskUsed": 0}
    ]
    assert [each["blockName"] for each in whole["partitions"]] == [f"rdd_3_{i}" for i in range(4)]


def test_the_environment(ask: Asker) -> None:
    told = ask("/environment")
    assert ["spark.some.password", "*********(redacted)"] in told["sparkProperties"]
    assert told["runtime"]["pythonVersion"] == "3.11.7"


def test_the_graph_of_a_job_has_skipped_and_kept_parts(ask: Asker) -> None:
    graph = ask("/jobs/1/graph")
    assert [(each["id"], each["status"]) for each in graph["nodes"]] == [
        (0, "SKIPPED"),
        (2, "FAILED"),
    ]
    assert graph["edges"] == [{"from": 0, "to": 2, "shuffle": 0, "bytes": 240}]
    assert graph["nodes"][0]["rdds"][0]["kept"] == 4


def test_a_lineage_goes_back_to_the_sources(ask: Asker) -> None:
    picture = ask("/rdds/5/lineage")
    assert [each["key"] for each in picture["nodes"]] == ["rdd 5", "rdd 3"]
    assert picture["edges"] == [{"from": "rdd 3", "to": "rdd 5", "shuffle": 0}]
    assert ask("/stages/1/0/lineage")["start"] == "rdd 5"


def test_all_rdds_are_listed_once_each(ask: Asker) -> None:
    found = ask("/rdds")
    shown = [(each["id"], each["name"], each["operator"], each["stages"]) for each in found]
    assert shown == [
        (6, "totals", "reduceByKey", [2]),
        (5, "totals", "reduceByKey", [1]),
        (3, HOSTILE, "map", [0]),
        (None, "parallelize", "parallelize", [0]),
    ]
    assert found[2]["level"] == "Memory Serialized 1x Replicated"
    assert found[2]["site"] == "/home/me/job.py:3"
    assert found[3]["place"] == {"stage": 0, "step": 0, "number": 0}


def made(id: int | None, operators: list[dict[str, Any]], *inputs: dict[str, Any]) -> Any:
    return {"id": id, "partitions": 2, "inputs": list(inputs), "operators": operators}


def test_rounds_of_a_loop_are_rdds_of_their_own(
    tmp_path: Path, make_asker: Callable[..., Asker]
) -> None:
    """An RDD without an id is known by the calls that made it, back to its sources."""
    source = made(0, [operator("parallelize")])
    step = [operator("map")]
    named = [*step, {**operator("map", "twice"), "rdd": 7}]
    told = [
        rec.StageMade(0.0, 0, "first", 2, rdds=[source, made(None, step, {"place": 0})]),
        # The first round again, for the second, whose RDD has got a name and an id meanwhile.
        rec.StageMade(
            1.0, 1, "second", 2,
            rdds=[source, made(None, named, {"place": 0})],
        ),
        rec.StageMade(
            2.0, 2, "third", 2,
            rdds=[source, made(None, [*step, *step, operator("count")], {"place": 0})],
        ),
        rec.RddKept(3.0, 9, None, "Disk"),
    ]  # fmt: skip
    ask = make_asker(write(tmp_path / "a.story", told))
    shown = [(each["id"], each["name"], each["stages"]) for each in ask("/rdds")]
    assert shown == [
        (9, "not computed yet", []),
        (None, "count", [2]),
        (7, "twice", [1, 2]),
        (None, "map", [0, 1, 2]),
        (0, "parallelize", [0, 1, 2]),
    ]
    picture = ask("/rdds/7/lineage")
    assert [each["method"] for each in picture["nodes"][0]["operators"]] == ["map", "map"]
    assert ask("/rdds/9/lineage")["nodes"] == []


def test_the_lineage_of_an_operator_ends_with_it(ask: Asker) -> None:
    picture = ask("/stages/0/0/lineage", place="0", number="0")
    [box] = picture["nodes"]
    assert [each["method"] for each in box["operators"]] == ["parallelize"]
    assert (box["id"], box["name"], box["level"]) == (None, None, None)
    whole = ask("/stages/0/0/lineage", place="0", number="1")
    assert (whole["nodes"][0]["id"], whole["nodes"][0]["name"]) == (3, HOSTILE)


def test_samples_are_boxes_within_boxes(ask: Asker) -> None:
    flame = ask("/stages/0/0/flame")
    assert flame["samples"] == 160
    shown = [(each["name"].split(" (")[0], each["depth"], each["seen"]) for each in flame["boxes"]]
    assert shown == [("all", 0, 160), ("load", 1, 160), (HOSTILE.split(" (")[0], 2, 120)]
    assert ask("/jobs/0/flame") == flame
    assert ask("/stages/1/0/flame")["samples"] == 0


def test_the_map_of_pools_says_who_lends_to_whom(ask: Asker) -> None:
    pools = ask("/pools")
    assert pools["lending"] == [{"lender": "node-1", "borrower": "node-0", "bytes": 300}]
    assert pools["fetched"] == [{"source": "node-0", "target": "node-1", "bytes": 90}]
    assert [(each["id"], each["lent_bytes"]) for each in pools["nodes"]] == [
        ("node-0", 0),
        ("node-1", 300),
    ]


def test_shuffles_have_predicted_and_true_sizes(ask: Asker) -> None:
    shuffle = ask("/shuffles/0")
    assert shuffle["written_bytes"] == 240
    assert shuffle["read"] == {"local": 100, "remote": 115, "prefetched": 25}
    assert shuffle["foreseen"]["parts"] == [
        {"first": 0, "last": 0, "predicted": 130, "true": 125},
        {"first": 1, "last": 1, "predicted": 110, "true": 115},
    ]


def test_the_first_view_has_names_and_errors(ask: Asker) -> None:
    told = ask("/overview")
    assert [each["name"] for each in told["rdds"]] == ["totals", "totals", HOSTILE]
    [error] = told["errors"]
    assert error["error"] == "KeyError"
    assert "/home/me/job.py" in error["user_traceback"]
    assert error["replay"].endswith("--task 2/0")
    sentences = [each["sentence"] for each in told["happenings"]]
    assert any("killed by SIGKILL; with it task 1/1" in each for each in sentences)
    assert told["tasks"] == {
        "started": 8, "running": 0, "succeeded": 6, "failed": 1, "cancelled": 0, "lost": 1,
    }  # fmt: skip


def test_the_command_of_an_error_can_be_pasted(
    tmp_path: Path, make_asker: Callable[..., Asker]
) -> None:
    path = tmp_path / "my runs.story"
    [error] = make_asker(write(path, small()))("/overview")["errors"]
    assert error["replay"] == f"pyrite replay '{path}' --task 2/0"


def test_two_runs_side_by_side(tmp_path: Path, make_asker: Callable[..., Asker]) -> None:
    one = write(tmp_path / "a.story", small())
    # The same application again, without its second job.
    told = [each for each in small() if each.at_s < 105.3 or each.at_s == 106.0]
    ask = make_asker(one, write(tmp_path / "b.story", told))
    both = ask("/compare/local-1-2")
    assert [bool(each["left"] and each["right"]) for each in both["jobs"]] == [True, False]
    assert both["jobs"][1]["name"] == "collect at job.py:12"
    numbers = {each["name"]: (each["left"], each["right"]) for each in both["numbers"]}
    assert numbers["jobs"] == (2, 1)


@pytest.mark.parametrize(
    ("address", "query", "line"),
    [
        ("/jobs/7", {}, "the run has no job 7: it has 0, 1"),
        ("/stages/x/0", {}, "the run has no stage x: it has 0, 1, 2"),
        ("/stages/0/3", {}, "a stage has one attempt here"),
        ("/rdds/99/lineage", {}, "the run has no RDD 99"),
        ("/shuffles/-1", {}, "the run has no shuffle -1"),
        ("/stages/0/0/lineage", {"place": "9"}, "stage 0 has 1 steps"),
        ("/stages/0/0/lineage", {"number": "9"}, "step 0 of stage 0 has 2 operators"),
        ("/compare/nobody", {}, "there is no run 'nobody' here"),
    ],
)
def test_what_is_not_there(ask: Asker, address: str, query: dict[str, str], line: str) -> None:
    with pytest.raises(NoSuchThing, match=line.replace("(", r"\(")):
        ask(address, **query)


@pytest.mark.parametrize(
    "query",
    [{"length": "-1"}, {"offset": "x"}, {"sortBy": "colour"}, {"offset": "\u0661"}],
)
def test_arguments_that_make_no_sense(ask: Asker, query: dict[str, str]) -> None:
    with pytest.raises(BadQuestion, match="expected"):
        ask("/stages/0/0/taskList", **query)


@pytest.mark.parametrize("quantiles", ["", "x", "1.5", "nan", "-0.1"])
def test_quantiles_that_make_no_sense(ask: Asker, quantiles: str) -> None:
    with pytest.raises(BadQuestion, match="from 0 to 1"):
        ask("/stages/0/0/taskSummary", quantiles=quantiles)


def test_many_tasks_are_shown_in_slots(tmp_path: Path, make_asker: Callable[..., Asker]) -> None:
    ask = make_asker(write(tmp_path / "m.story", many(5000)))
    lanes = ask("/stages/0/0/timeline")["lanes"]
    assert len(lanes) == 40
    assert all(len(each["slots"]) == 160 for each in lanes)
    stage = ask("/stages/0/0")
    taken_s = stage["executorRunTime"] / 0.9 / 1000
    slot_s = ask("/stages/0/0/timeline")["length_s"] / 160
    shown_s = slot_s * sum(sum(each["slots"]) for each in lanes)
    assert shown_s == pytest.approx(taken_s, rel=0.02)
    assert ask("/stages/0/0/taskSummary")["pyrite"]["stragglers"] == 5


def test_an_empty_stage_has_no_numbers(tmp_path: Path, make_asker: Callable[..., Asker]) -> None:
    told = [each for each in small() if each.at_s <= 100.2 and "Task" not in type(each).__name__]
    ask = make_asker(write(tmp_path / "e.story", told))
    assert ask("/stages/0/0")["status"] == "PENDING"
    assert ask("/stages/0/0/taskSummary")["executorRunTime"] == [0] * 5
    assert ask("/stages/0/0/timeline")["lanes"] == []
    assert ask("/state")["state"] == "cut off"

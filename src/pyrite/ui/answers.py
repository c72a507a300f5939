"""What each address of the REST API answers, from runs and the query's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pyrite.story.model import RunModel
from pyrite.story.parts import JobState, RddState, ShuffleState, StageState
from pyrite.ui.compare import compare
from pyrite.ui.environment import application_info, environment_info
from pyrite.ui.executors import executor_list
from pyrite.ui.failures import failure_list, happening_list
from pyrite.ui.flame import flame_graph
from pyrite.ui.follow import FollowedRun
from pyrite.ui.graph import job_graph, operator_lineage, rdd_lineage
from pyrite.ui.jobs import job_info, job_list
from pyrite.ui.library import Library, NoSuchThing
from pyrite.ui.overview import overview
from pyrite.ui.pools import pool_map
from pyrite.ui.rdds import all_rdds
from pyrite.ui.shuffles import shuffle_info, shuffle_list
from pyrite.ui.stages import stage_info, stage_list, status_of
from pyrite.ui.storage import rdd_storage, storage_list
from pyrite.ui.tasks import ORDERS, QUANTILES, stage_timeline, task_info, task_page, task_summary

T = TypeVar("T")
MOST_SENTENCES = 2000
MOST_ERRORS = 200
# A list that is asked for by pages says how long it is.
TOTAL = "x-total-count"


class RunQuestion(NamedTuple):
    """A request: the run, the parts of the path, and the query."""

    library: Library
    run: FollowedRun
    id: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    # Of `status`, which may be given several times.
    statuses: tuple[str, ...] = ()

    @property
    def model(self) -> RunModel:
        return self.run.model

    def number(self, name: str, default: int, least: int = 0) -> int:
        text = self.query.get(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or int(text[:12]) < least:
            raise BadQuestion(f"{name}={text!r}: expected a number, {least} at least")
        return int(text[:12])

    def quantiles(self) -> list[float]:
        text = self.query.get("quantiles")
        if text is None:
            return list(QUANTILES)
        try:
            found = [float(each) for each in text.split(",")]
        except ValueError:
            found = []
        if not found or len(found) > 100 or not all(0.0 <= each <= 1.0 for each in found):
            raise BadQuestion(f"quantiles={text!r}: expected numbers from 0 to 1, as 0.05,0.5,0.95")
        return found


class BadQuestion(ValueError):
    """An argument that can't be read."""


class Answer(NamedTuple):
    value: Any
    headers: Mapping[str, str] = {}


def find(known: Mapping[int, T], text: str, what: str) -> T:
    if text.isascii() and text.isdigit() and int(text[:12]) in known:
        return known[int(text[:12])]
    shown = ", ".join(map(str, list(known)[:8])) or "none"
    more = ", ..." if len(known) > 8 else ""
    raise NoSuchThing(f"the run has no {what} {text[:40]}: it has {shown}{more}")


def job_of(asked: RunQuestion) -> JobState:
    return find(asked.model.jobs, asked.path["job"], "job")


def stage_of(asked: RunQuestion) -> StageState:
    if asked.path.get("attempt", "0") != "0":
        raise NoSuchThing("a stage has one attempt here, 0: its tasks have several")
    return find(asked.model.stages, asked.path["stage"], "stage")


def rdd_of(asked: RunQuestion) -> RddState:
    return find(asked.model.rdds, asked.path["rdd"], "RDD")


def shuffle_of(asked: RunQuestion) -> ShuffleState:
    return find(asked.model.shuffles, asked.path["shuffle"], "shuffle")


def paged(asked: RunQuestion, found: list[T], info: Callable[[T], Any]) -> Answer:
    """A list, whole as Spark gives it, or the page that `offset` and `length` ask for."""
    offset, length = asked.number("offset", 0), asked.number("length", len(found))
    shown = [info(each) for each in found[offset : offset + length]]
    return Answer(shown, {TOTAL: str(len(found))})


def jobs(asked: RunQuestion) -> Answer:
    found = job_list(asked.model, list(asked.statuses))
    return paged(asked, found, lambda each: job_info(asked.model, each))


def stages(asked: RunQuestion) -> Answer:
    found = stage_list(asked.model, list(asked.statuses))
    return paged(asked, found, lambda each: stage_info(asked.model, *each))


def stage(asked: RunQuestion) -> Answer:
    found = stage_of(asked)
    return Answer(stage_info(asked.model, found, status_of(asked.model, found)))


def stage_attempts(asked: RunQuestion) -> Answer:
    return Answer([stage(asked).value])


def summary(asked: RunQuestion) -> Answer:
    stage, quantiles = stage_of(asked), asked.quantiles()
    question = "summary", stage.id, tuple(quantiles)
    return Answer(asked.run.computed(question, lambda: task_summary(asked.model, stage, quantiles)))


def timeline(asked: RunQuestion) -> Answer:
    stage = stage_of(asked)
    question = "timeline", stage.id
    return Answer(asked.run.computed(question, lambda: stage_timeline(asked.model, stage)))


def tasks(asked: RunQuestion) -> Answer:
    order = asked.query.get("sortBy", "id")
    order = {"ID": "id", "increasing_runtime": "runtime", "decreasing_runtime": "-runtime"}.get(
        order, order
    )
    if order.lstrip("-").lower() not in ORDERS:
        known = ", ".join(ORDERS)
        raise BadQuestion(f"sortBy={order[:40]!r}: expected one of {known}; - before it reverses")
    offset, length = asked.number("offset", 0), asked.number("length", 20)
    shown, total = task_page(
        asked.model, stage_of(asked), offset, length, order, list(asked.statuses)
    )
    return Answer([task_info(asked.model, each) for each in shown], {TOTAL: str(total)})


def rdds(asked: RunQuestion) -> Answer:
    return paged(asked, known_rdds(asked), lambda each: each)


def known_rdds(asked: RunQuestion) -> list[dict[str, Any]]:
    return asked.run.computed("rdds", lambda: all_rdds(asked.model))


def step_lineage(asked: RunQuestion) -> Answer:
    """The lineage of a step of a stage's program, the last one if no `place` is asked for; with
    `number`, of an operator in it."""
    stage = stage_of(asked)
    place = asked.number("place", len(stage.rdds) - 1)
    if place >= len(stage.rdds):
        raise NoSuchThing(f"stage {stage.id} has {len(stage.rdds)} steps: no {place}")
    operators = len(stage.rdds[place]["operators"])
    number = asked.number("number", max(0, operators - 1))
    if operators and number >= operators:
        raise NoSuchThing(
            f"step {place} of stage {stage.id} has {operators} operators: no {number}"
        )
    return Answer(operator_lineage(asked.model, (stage.id, place), number))


def stage_flame(asked: RunQuestion) -> Answer:
    return Answer(flame_graph([stage_of(asked)]))


def job_flame(asked: RunQuestion) -> Answer:
    """The samples of the stages that ran for a job."""
    stages = asked.model.stages
    return Answer(flame_graph([stages[id] for id in job_of(asked).ran if id in stages]))


def state(asked: RunQuestion) -> Answer:
    """What the page asks every second: whether there is anything new."""
    run = asked.run
    return Answer(
        {
            "version": run.version,
            "state": run.state,
            "problem": run.problem,
            "name": run.reader.header.name,
            "last_s": run.model.length_s,
        }
    )


def comparison(asked: RunQuestion) -> Answer:
    other = asked.library.run(asked.path["other"])
    return Answer(compare(asked.model, other.model))


# Below /api/v1/applications/{app}; the first block is Spark's.
ANSWERS: dict[str, Callable[[RunQuestion], Answer]] = {
    "": lambda it: Answer(application_info(it.model, it.id, not it.run.live)),
    "/jobs": jobs,
    "/jobs/{job}": lambda it: Answer(job_info(it.model, job_of(it))),
    "/stages": stages,
    "/stages/{stage}": stage_attempts,
    "/stages/{stage}/{attempt}": stage,
    "/stages/{stage}/{attempt}/taskSummary": summary,
    "/stages/{stage}/{attempt}/taskList": tasks,
    "/executors": lambda it: Answer(executor_list(it.model, also_gone=False)),
    "/allexecutors": lambda it: Answer(executor_list(it.model, also_gone=True)),
    "/storage/rdd": lambda it: Answer(storage_list(it.model)),
    "/storage/rdd/{rdd}": lambda it: Answer(rdd_storage(it.model, rdd_of(it), whole=True)),
    "/environment": lambda it: Answer(environment_info(it.model, it.run.path)),
    # Ours.
    "/state": state,
    "/overview": lambda it: Answer(overview(it.model, it.run.path, known_rdds(it))),
    "/jobs/{job}/graph": lambda it: Answer(job_graph(it.model, job_of(it))),
    "/jobs/{job}/flame": job_flame,
    "/stages/{stage}/{attempt}/timeline": timeline,
    "/stages/{stage}/{attempt}/flame": stage_flame,
    "/stages/{stage}/{attempt}/lineage": step_lineage,
    "/errors": lambda it: Answer(failure_list(it.model, it.run.path)[:MOST_ERRORS]),
    "/happenings": lambda it: Answer(happening_list(it.model, it.number("length", MOST_SENTENCES))),
    "/pools": lambda it: Answer(pool_map(it.model, it.run.traffic)),
    "/shuffles": lambda it: Answer(shuffle_list(it.model)),
    "/shuffles/{shuffle}": lambda it: Answer(shuffle_info(it.model, shuffle_of(it), whole=True)),
    "/rdds": rdds,
    "/rdds/{rdd}/lineage": lambda it: Answer(rdd_lineage(it.model, rdd_of(it).id)),
    "/compare/{other}": comparison,
}

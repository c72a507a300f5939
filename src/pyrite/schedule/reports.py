"""The errors that users see when a job fails."""

from __future__ import annotations

from pyrite.errors import ExecutorDied, StageAborted, TaskFailed
from pyrite.plan.stages import StageSpec
from pyrite.schedule.events import Failure


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def task_failed(
    stage: StageSpec, partition: int, executor: int, attempts: int, failure: Failure
) -> Exception:
    """The user's own traceback first, then where in the job it happened."""
    where = (
        f"stage {stage.id} ({stage.name}), partition {partition} of {stage.partitions} "
        f"failed {times(attempts)}, last on executor {executor}"
    )
    text = f"{failure.traceback.rstrip()}\n\n" if failure.traceback else ""
    error = TaskFailed(
        f"{failure.message}\n\n{text}{where}",
        stage=stage.id,
        partition=partition,
        attempts=attempts,
        traceback=failure.traceback,
    )
    error.pickled = failure.error
    places = f"{failure.places.rstrip()}\n\n" if failure.places else ""
    error.told = f"{failure.told or failure.kind}\n\n{places}{where}"
    return error


def executor_died(
    stage: StageSpec, partition: int, executor: int, deaths: int, reason: str
) -> Exception:
    hint = ""
    if "SIGKILL" in reason:
        hint = (
            "\nSIGKILL often means that the machine ran out of memory: use more partitions, "
            "or a lower spark.executor.memory so that the engine spills earlier."
        )
    return ExecutorDied(
        f"stage {stage.id} ({stage.name}), partition {partition} of {stage.partitions} "
        f"ended its executor {times(deaths)}, last executor {executor}: {reason}{hint}",
        stage=stage.id,
        partition=partition,
        attempts=deaths,
    )


def fetch_failed(stage: StageSpec, rounds: int, message: str) -> Exception:
    return StageAborted(
        f"stage {stage.id} ({stage.name}) lost its input {times(rounds)}, last: {message}"
    )


def no_executor_left(stage: StageSpec, partition: int) -> Exception:
    return StageAborted(
        f"stage {stage.id} ({stage.name}), partition {partition}: every executor is excluded "
        "after failures (spark.excludeOnFailure.enabled); the tasks' errors are in the log"
    )


def barrier_too_wide(stage: StageSpec, executors: int) -> Exception:
    return StageAborted(
        f"stage {stage.id} ({stage.name}) is a barrier stage of {stage.partitions} tasks that must "
        f"run at once, but there are {executors} executors: repartition to at most {executors}, "
        f"or use master local[{stage.partitions}]"
    )


def cannot_start(reason: str) -> Exception:
    return StageAborted(f"executors end as soon as they start: {reason}")


def torn(stage: StageSpec, message: str) -> Exception:
    return StageAborted(
        f"a map output of stage {stage.id} ({stage.name}) is lost: {message}. repartition dealt "
        "its rows out by their places, and they may come in another order when they are computed "
        "again, so rows could be doubled or missing: compute the RDD anew, or checkpoint() it "
        "before repartition()"
    )

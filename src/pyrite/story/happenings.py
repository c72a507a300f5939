"""Faults, recoveries and decisions of a run, as sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pyrite.memory import bytes_text
from pyrite.story import records as rec
from pyrite.story.parts import Happening
from pyrite.story.records import Record

if TYPE_CHECKING:
    from pyrite.story.model import RunModel


def sentence_of(record: Record, run: RunModel) -> Happening | None:
    """What people would tell of a record; None for what is not worth a sentence."""
    match record:
        case rec.ExecutorGone():
            executor = run.executors.get(record.executor)
            victims = "" if executor is None else victims_text(run, list(executor.running))
            node = "" if executor is None else f" on {executor.node}"
            sentence = f"executor {record.executor}{node} was lost: {record.reason}{victims}"
            return Happening(record.at_s, sentence, {"executor": record.executor})
        case rec.NodeGone():
            executors = run.executors_of(record.node)
            victims = victims_text(run, [id for each in executors for id in each.running])
            count = f" with {counted(len(executors), 'executor')}" if executors else ""
            sentence = f"{record.node} was lost{count}: {record.reason}{victims}"
            return Happening(record.at_s, sentence, {"node": record.node})
        case rec.NodeAdded():
            sentence = f"{record.node} came back with an empty pool"
            return Happening(record.at_s, sentence, {"node": record.node})
        case rec.TaskError():
            return task_error(record, run)
        case rec.TaskStarted():
            sentence = f"{stage_text(record.stage, run)} runs again for map outputs that were lost"
            return Happening(record.at_s, sentence, {"stage": record.stage})
        case rec.StageEnded():
            again = counted(run.stages[record.stage].again or 0, "task")
            sentence = f"{stage_text(record.stage, run)} has ended again, after {again}"
            return Happening(record.at_s, sentence, {"stage": record.stage})
        case rec.JobEnded():
            first = record.message.strip().partition("\n")[0]
            sentence = f"job {record.job} failed: {first or record.error}"
            return Happening(record.at_s, sentence, {"job": record.job})
        case rec.Told(at_s=at_s, kind=kind, fields=fields) if kind in DECISIONS:
            sentence, about = DECISIONS[kind](fields)
            return Happening(at_s, sentence, about)
        case _:
            return None


def stage_text(id: int, run: RunModel) -> str:
    return f"stage {id} ({run.stages[id].name})"


def task_error(error: rec.TaskError, run: RunModel) -> Happening:
    attempt = run.running[error.attempt]
    about = {"stage": attempt.stage, "attempt": error.attempt, "executor": attempt.executor}
    where = f"stage {attempt.stage}, partition {places(attempt.partitions)}"
    if error.shuffle is not None:
        lost = counted(len(error.lost), "map output")
        sentence = f"{where} could not read {lost} of shuffle {error.shuffle}"
        return Happening(error.at_s, sentence, {**about, "shuffle": error.shuffle})
    first = error.message.strip().partition("\n")[0]
    sentence = f"{where} raised {first or error.error} on executor {attempt.executor}"
    return Happening(error.at_s, sentence, about)


def victims_text(run: RunModel, attempts: list[int]) -> str:
    if not attempts:
        return ""
    tasks = [run.running[id] for id in attempts]
    shown = ", ".join(f"{each.stage}/{places(each.partitions)}" for each in tasks[:4])
    more = f" and {len(tasks) - 4} more" if len(tasks) > 4 else ""
    return f"; with it task{'' if len(tasks) == 1 else 's'} {shown}{more}"


def places(partitions: Any) -> str:
    first, last = partitions[0], partitions[-1]
    return str(first) if len(partitions) == 1 else f"{first} to {last}"


def counted(number: int, thing: str) -> str:
    """A number and its noun.

    >>> counted(1, "task"), counted(3, "task")
    ('1 task', '3 tasks')
    """
    return f"{number} {thing}{'' if number == 1 else 's'}"


Sentence = tuple[str, Mapping[str, Any]]


def _placed(fields: Mapping[str, Any]) -> Sentence:
    how = ", ".join(dict.fromkeys(fields["how"])) or "known sizes"
    sentence = (
        f"the reducers of stage {fields['stage']} have places by {how}: the fullest node reads "
        f"{bytes_text(fields['heaviest_bytes'])} an executor, the mean is "
        f"{bytes_text(fields['mean_bytes'])}; {bytes_text(fields['network_bytes'])} cross the "
        "network"
    )
    return sentence, {"stage": fields["stage"]}


def _divided(fields: Mapping[str, Any]) -> Sentence:
    sentence = (
        f"stage {fields['stage']}, partition {fields['partition']} reads "
        f"{bytes_text(fields['bytes'])}, an even share is {bytes_text(fields['even_bytes'])}: it "
        f"is divided into {fields['pieces']} pieces"
    )
    return sentence, {"stage": fields["stage"]}


def _foreseen(fields: Mapping[str, Any]) -> Sentence:
    sentence = (
        f"the sizes of shuffle {fields['shuffle']} were foreseen by {fields['how']} after "
        f"{fields['seen']} of {fields['maps']} maps, {fields['mean_error']:.0%} off in the mean"
    )
    return sentence, {"shuffle": fields["shuffle"]}


def _start_failed(fields: Mapping[str, Any]) -> Sentence:
    sentence = (
        f"executor {fields['executor']} on {fields['node']} did not start: {fields['reason']}"
    )
    return sentence, {"executor": fields["executor"], "node": fields["node"]}


def _killed(fields: Mapping[str, Any]) -> Sentence:
    sentence = f"executor {fields['executor']} is killed: {fields['reason']}"
    return sentence, {"executor": fields["executor"]}


def _replaced(fields: Mapping[str, Any]) -> Sentence:
    sentence = f"another executor is started on {fields['node']} for executor {fields['lost']}"
    return sentence, {"node": fields["node"]}


def _block_lost(fields: Mapping[str, Any]) -> Sentence:
    partition = fields["partition"]
    sentence = f"the kept partition {partition['index']} of RDD {partition['rdd']} was lost"
    return sentence, {"rdd": partition["rdd"]}


def _cancelled(fields: Mapping[str, Any]) -> Sentence:
    names = ((each, fields[each]) for each in ("job", "group", "tag"))
    what = next((f"{each} {name}" for each, name in names if name is not None), "all jobs")
    return f"{what}: cancelled, {fields['reason']}", {"job": fields["job"]}


def _started(fields: Mapping[str, Any]) -> Sentence:
    verb = "starts" if len(fields["partitions"]) == 1 else "start"
    sentence = (
        f"in {fields['collection']}, {partitions_text(fields['partitions'])}, which nobody holds, "
        f"{verb} at executor {fields['executor']}, beside "
        f"{counted(fields['contention'], 'collection partition')}"
    )
    return sentence, {"executor": fields["executor"]}


def _resized(fields: Mapping[str, Any]) -> Sentence:
    before, after = (
        [f"{first} to {end - 1}" for first, end in fields[name]] for name in ("before", "after")
    )
    # Stories of before do not say whose the groups are.
    owners = [f" ({executors_text(each)})" for each in fields.get("executors", ())]
    groups = map("".join, zip_longest(after, owners, fillvalue=""))
    sentence = (
        f"in {fields['collection']}, partitions {' and '.join(before)} of "
        f"{bytes_text(fields['bytes'])} are grouped as {' and '.join(groups)}"
    )
    return sentence, {}


def partitions_text(partitions: Sequence[int]) -> str:
    """
    >>> partitions_text([3]), partitions_text([0, 1, 2]), partitions_text([0, 2])
    ('partition 3', 'partitions 0 to 2', 'partitions 0, 2')
    """
    first, last = partitions[0], partitions[-1]
    if len(partitions) == 1:
        return f"partition {first}"
    if len(partitions) == last - first + 1:
        return f"partitions {first} to {last}"
    return f"partitions {', '.join(map(str, partitions))}"


def executors_text(executors: Sequence[int]) -> str:
    if not executors:
        return "held by none"
    plural = "" if len(executors) == 1 else "s"
    return f"executor{plural} {', '.join(map(str, executors))}"


def _replica_made(fields: Mapping[str, Any]) -> Sentence:
    partition = fields["partition"]
    sentence = (
        f"partition {partition['index']} of RDD {partition['rdd']} has a replica at "
        f"{fields['place']}, one of {fields['copies']} copies, beside "
        f"{counted(fields['contention'], 'collection partition')}"
    )
    return sentence, {"rdd": partition["rdd"]}


def _replica_dropped(fields: Mapping[str, Any]) -> Sentence:
    partition = fields["partition"]
    sentence = (
        f"the replica of partition {partition['index']} of RDD {partition['rdd']} at "
        f"{fields['place']} was idle for {fields['idle_s']:.1f} s and is dropped"
    )
    return sentence, {"rdd": partition["rdd"]}


def _checkpoints(fields: Mapping[str, Any]) -> Sentence:
    rdds = ", ".join(map(str, fields["rdds"]))
    sentence = (
        f"recovery would take {fields['longest_s']:.2f} s, above {fields['bound_s']:.2f} s: RDDs "
        f"{rdds} are checkpointed, {bytes_text(fields['bytes'])}"
    )
    return sentence, {}


DECISIONS: dict[str, Callable[[Mapping[str, Any]], Sentence]] = {
    "ReducersPlaced": _placed,
    "ReducerDivided": _divided,
    "SizesForeseen": _foreseen,
    "StartFailed": _start_failed,
    "KillExecutor": _killed,
    "StartExecutor": _replaced,
    "BlockLost": _block_lost,
    "CancelRequested": _cancelled,
    "PartitionsStarted": _started,
    "GroupsResized": _resized,
    "ReplicaMade": _replica_made,
    "ReplicaDropped": _replica_dropped,
    "WriteCheckpoints": _checkpoints,
}

"""What a task knows of itself; barrier stages."""

from tests.pyspark.api import api
from tests.pyspark.registry import case, outcome


@case("TaskContext")
def no_task_context_in_the_driver(sc):
    return api.TaskContext.get()


@case("TaskContext")
def task_context_fields(sc):
    TaskContext = api.TaskContext

    def describe(rows):
        context = TaskContext.get()
        return [
            (context.partitionId(), context.attemptNumber(), context.cpus(), context.resources())
        ]

    return sc.parallelize([0, 1, 2], 3).mapPartitions(describe).collect()


@case("TaskContext")
def task_context_ids(sc):
    TaskContext = api.TaskContext

    def describe(_):
        context = TaskContext.get()
        return context.stageId(), context.taskAttemptId()

    found = sc.parallelize([0, 1], 2).map(describe).collect()
    later = sc.parallelize([0, 1], 2).map(describe).collect()
    stages = {stage for stage, _ in found}
    return len(stages), len({task for _, task in found + later}), min(later)[0] > max(stages)


@case("TaskContext")
def task_context_is_one_object_per_task(sc):
    TaskContext = api.TaskContext
    return sc.parallelize([0], 1).map(lambda _: TaskContext.get() is TaskContext.get()).collect()


@case("TaskContext", "sc.setLocalProperty", context="fresh")
def task_context_sees_local_properties(sc):
    TaskContext = api.TaskContext
    sc.setLocalProperty("colour", "red")
    return (
        sc.parallelize(["colour", "absent"], 1)
        .map(lambda name: TaskContext.get().getLocalProperty(name))
        .collect()
    )


@case("TaskContext", "reduceByKey")
def task_context_after_a_shuffle(sc):
    TaskContext = api.TaskContext
    rdd = sc.parallelize([(n, n) for n in range(3)], 2).reduceByKey(max, 3)
    return sorted(rdd.map(lambda pair: (pair[0], TaskContext.get().partitionId())).collect())


@case("TaskContext", context="fresh", conf={"spark.task.maxFailures": "4"})
def failed_tasks_are_not_repeated_on_one_local_machine(sc, folder):
    TaskContext = api.TaskContext
    mark = str(folder / "tries")

    def fail_once(x):
        with open(mark, "a") as file:
            file.write("x")
        if TaskContext.get().attemptNumber() == 0:
            raise ValueError("first try")
        return x

    result = outcome(lambda: sc.parallelize([1], 1).map(fail_once), lambda r: r.collect())
    return result, (folder / "tries").read_text()


@case("barrier", "BarrierTaskContext")
def barrier_tasks_wait_for_each_other(sc):
    BarrierTaskContext = api.BarrierTaskContext

    def meet(rows):
        context = BarrierTaskContext.get()
        context.barrier()
        return [(context.partitionId(), sum(rows))]

    return sc.parallelize(range(4), 2).barrier().mapPartitions(meet).collect()


@case("barrier", "BarrierTaskContext")
def barrier_tasks_gather_messages(sc):
    BarrierTaskContext = api.BarrierTaskContext

    def meet(rows):
        context = BarrierTaskContext.get()
        first = context.allGather(str(context.partitionId()))
        second = context.allGather()
        return [(first, second)]

    return sc.parallelize(range(4), 2).barrier().mapPartitions(meet).collect()


@case("barrier", "BarrierTaskContext")
def barrier_tasks_know_the_others(sc):
    BarrierTaskContext = api.BarrierTaskContext

    def describe(rows):
        infos = BarrierTaskContext.get().getTaskInfos()
        return [(len(infos), [type(info.address).__name__ for info in infos])]

    return sc.parallelize(range(4), 2).barrier().mapPartitions(describe).collect()


@case("barrier")
def barrier_with_index(sc):
    rdd = sc.parallelize(range(4), 2).barrier()
    return rdd.mapPartitionsWithIndex(lambda index, rows: [(index, list(rows))]).collect()


@case("barrier")
def barrier_then_narrow_and_wide(sc):
    rdd = sc.parallelize(range(4), 2).barrier().mapPartitions(lambda rows: rows)
    return sorted(rdd.map(lambda x: (x % 2, x)).reduceByKey(int.__add__).collect())


@case("barrier")
def barrier_needs_a_slot_for_each_task(sc):
    rdd = sc.parallelize(range(6), 6).barrier()
    return type(rdd).__name__, rdd.mapPartitions(lambda rows: rows).getNumPartitions()


@case("BarrierTaskContext")
def barrier_context_outside_of_a_barrier_stage(sc):
    BarrierTaskContext = api.BarrierTaskContext
    rdd = sc.parallelize([1], 1).map(lambda _: BarrierTaskContext.get().barrier())
    return outcome(lambda: rdd.collect()), outcome(lambda: BarrierTaskContext.get())


@case("barrier")
def barrier_task_that_fails(sc):
    def fail(rows):
        raise ValueError("in a barrier")

    rdd = sc.parallelize([1, 2], 2).barrier().mapPartitions(fail)
    return outcome(lambda: rdd.collect())


def fields(context):
    return (
        context.stageId(),
        context.partitionId(),
        context.attemptNumber(),
        context.taskAttemptId(),
        context.cpus(),
        str(context.cpuAmount()),
        context.resources(),
    )


def forget_context():
    """PySpark takes any context that was made for that of the running task."""
    api.TaskContext._taskContext = api.BarrierTaskContext._taskContext = None


@case("TaskContext")
def task_context_outside_of_a_task(sc):
    try:
        return fields(api.TaskContext())
    finally:
        forget_context()


@case("TaskContext")
def task_context_of_json(sc):
    json = {
        "stageId": 1,
        "partitionId": 2,
        "attemptNumber": 3,
        "taskAttemptId": 4,
        "cpus": 2,
        "cpuAmount": "1.5",
        "resources": {"gpu": {"name": "gpu", "addresses": ["0", "1"]}},
        "localProperties": {"colour": "red"},
    }
    try:
        context = api.TaskContext.from_json(json)
        gpu = context.resources()["gpu"]
        known = fields(context)[:-1]
        return known, context.getLocalProperty("colour"), gpu.name, gpu.addresses
    finally:
        forget_context()


@case("BarrierTaskContext")
def barrier_context_of_json(sc):
    json = {
        "stageId": 1,
        "partitionId": 2,
        "attemptNumber": 3,
        "taskAttemptId": 4,
        "cpus": 1,
        "resources": {},
        "localProperties": {},
        "connInfo": None,
        "secret": None,
    }
    try:
        context = api.BarrierTaskContext.from_json(json)
        refused = [outcome(context.barrier), outcome(context.allGather)]
        return type(context).__name__, context.partitionId(), refused
    finally:
        forget_context()


@case("TaskContext")
def task_context_in_the_driver_tells_of_its_task(sc):
    TaskContext = api.TaskContext
    try:
        context = sc.parallelize([0, 1], 2).map(lambda _: TaskContext.get()).collect()[1]
        return context.partitionId(), context.attemptNumber(), context.cpus()
    finally:
        forget_context()


@case("TaskContext")
def cores_of_a_task(sc):
    TaskContext = api.TaskContext
    rdd = sc.parallelize([0], 1).map(lambda _: TaskContext.get())
    return (
        rdd.map(lambda task: (task.cpus(), task.cpuAmount(), task.resources()))
        .map(lambda found: (found[0], type(found[1]).__name__, str(found[1]), found[2]))
        .collect()
    )


@case("BarrierTaskContext", "TaskContext")
def which_context_a_task_has(sc):
    TaskContext, BarrierTaskContext = api.TaskContext, api.BarrierTaskContext
    plain = sc.parallelize([0], 1).map(lambda _: type(TaskContext.get()).__name__)
    barrier = sc.parallelize([0], 1).barrier()
    return (
        plain.collect(),
        barrier.mapPartitions(lambda _: [type(TaskContext.get()).__name__]).collect(),
        barrier.mapPartitions(lambda _: [TaskContext.get() is BarrierTaskContext.get()]).collect(),
        outcome(lambda: plain.map(lambda _: BarrierTaskContext.get()).collect()),
        outcome(lambda: BarrierTaskContext.get()),
    )


@case("BarrierTaskContext")
def addresses_of_barrier_tasks(sc):
    BarrierTaskContext = api.BarrierTaskContext

    def describe(_):
        addresses = [info.address for info in BarrierTaskContext.get().getTaskInfos()]
        return [
            [
                (host != "", port.isdigit())
                for host, _, port in (address.rpartition(":") for address in addresses)
            ]
        ]

    return sc.parallelize(range(4), 2).barrier().mapPartitions(describe).collect()

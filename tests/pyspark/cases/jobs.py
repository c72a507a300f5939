"""Job groups, tags, descriptions, cancellation and the status tracker."""

import threading
import time

from tests.pyspark.api import api
from tests.pyspark.registry import case, outcome

PATIENCE_S = 30


def wait_until(condition):
    """Waits for a condition, and fails when it never comes."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "the condition never came"
        pause.wait(0.01)


def cancelled_by(sc, folder, prepare, cancel):
    """What a job of two endless tasks comes to when it is cancelled once its tasks run."""
    started, released = folder / "started", folder / "released"
    start_path, release_path = str(started), str(released)

    def hold(x):
        import os
        import threading

        open(start_path, "w").close()
        pause = threading.Event()
        while not os.path.exists(release_path):
            pause.wait(0.02)
        return x

    results = []

    def run():
        prepare()
        results.append(outcome(lambda: sc.parallelize([1, 2], 2).map(hold).collect()))

    thread = api.InheritableThread(target=run)
    thread.start()
    try:
        wait_until(started.exists)
        cancel()
        thread.join(PATIENCE_S)
        done = not thread.is_alive()
    finally:
        released.touch()
        thread.join(PATIENCE_S)
    return done, results


@case("sc.setJobGroup", "sc.cancelJobGroup", "InheritableThread", context="fresh")
def cancel_a_job_group(sc, folder):
    return cancelled_by(
        sc,
        folder,
        lambda: sc.setJobGroup("slow", "a slow job", interruptOnCancel=True),
        lambda: sc.cancelJobGroup("slow"),
    )


@case("sc.cancelJobGroup", context="fresh")
def cancel_a_group_without_jobs(sc):
    return sc.cancelJobGroup(groupId="nobody"), sc.parallelize([1], 1).collect()


@case("sc.cancelAllJobs", context="fresh")
def cancel_all_jobs(sc, folder):
    return cancelled_by(sc, folder, lambda: None, sc.cancelAllJobs)


@case("sc.cancelAllJobs", context="fresh")
def the_context_lives_on_after_a_cancellation(sc, folder):
    cancelled_by(sc, folder, lambda: sc.setInterruptOnCancel(True), sc.cancelAllJobs)
    return sc.parallelize([1, 2], 2).collect(), sc.cancelAllJobs()


@case("sc.addJobTag", "sc.cancelJobsWithTag", "sc.setInterruptOnCancel", context="fresh")
def cancel_jobs_with_a_tag(sc, folder):
    def prepare():
        sc.setInterruptOnCancel(True)
        sc.addJobTag("slow")

    return cancelled_by(sc, folder, prepare, lambda: sc.cancelJobsWithTag("slow"))


@case("sc.addJobTag", "sc.removeJobTag", "sc.getJobTags", "sc.clearJobTags", context="fresh")
def tags_of_a_thread(sc):
    seen = [set(sc.getJobTags())]
    for act in (
        lambda: sc.addJobTag("first"),
        lambda: sc.addJobTag(tag="second"),
        lambda: sc.addJobTag("first"),
        lambda: sc.removeJobTag("first"),
        lambda: sc.removeJobTag("absent"),
        lambda: sc.clearJobTags(),
    ):
        assert act() is None
        seen.append(set(sc.getJobTags()))
    return seen


@case("sc.addJobTag", context="fresh")
def wrong_tags(sc):
    return [
        outcome(lambda: sc.addJobTag("")),
        outcome(lambda: sc.addJobTag("with,comma")),
        outcome(lambda: sc.removeJobTag("with,comma")),
        outcome(lambda: sc.cancelJobsWithTag("with,comma")),
    ]


@case("sc.setJobGroup", "sc.setJobDescription", "sc.getLocalProperty", context="fresh")
def groups_are_local_properties(sc):
    sc.setJobGroup(groupId="group", description="described")
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    first = [sc.getLocalProperty(name) for name in names]
    returned = sc.setJobDescription("changed")
    second = sc.getLocalProperty("spark.job.description")
    sc.setInterruptOnCancel(interruptOnCancel=True)
    third = sc.getLocalProperty("spark.job.interruptOnCancel")
    sc.setJobDescription(None)
    return first, returned, second, third, sc.getLocalProperty("spark.job.description")


@case("InheritableThread", "sc.setLocalProperty", context="fresh")
def inheritable_threads_take_a_copy_of_properties(sc):
    sc.setLocalProperty("colour", "red")
    seen = []

    def see():
        seen.append(sc.getLocalProperty("colour"))
        sc.setLocalProperty("colour", "blue")

    thread = api.InheritableThread(target=see)
    thread.start()
    thread.join()
    return seen, sc.getLocalProperty("colour")


@case("InheritableThread", context="fresh")
def inheritable_threads_take_arguments(sc):
    seen = []
    thread = api.InheritableThread(
        target=lambda a, b: seen.append((a, b)), args=(1,), kwargs={"b": 2}
    )
    thread.start()
    thread.join()
    return seen, isinstance(thread, threading.Thread)


@case("sc.setLocalProperty", context="fresh")
def plain_threads_start_without_properties(sc):
    sc.setLocalProperty("colour", "red")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(sc.getLocalProperty("colour")))
    thread.start()
    thread.join()
    return seen


@case("sc.statusTracker", "StatusTracker", context="fresh")
def tracker_of_an_idle_context(sc):
    tracker = sc.statusTracker()
    return (
        type(tracker).__name__,
        tracker.getActiveJobsIds(),
        tracker.getActiveStageIds(),
        tracker.getJobInfo(12345),
        tracker.getStageInfo(12345),
    )


@case("StatusTracker", context="fresh")
def executors_of_an_idle_context(sc):
    infos = sc.statusTracker().getExecutorInfos()
    return [
        (type(each).__name__, type(each)._fields, type(each.host).__name__, each.numRunningTasks)
        for each in infos
    ]


@case("StatusTracker", context="fresh")
def tracker_of_finished_jobs(sc):
    sc.setJobGroup("tracked", "two jobs")
    sc.parallelize(range(4), 2).count()
    sc.parallelize([(1, 1)], 2).reduceByKey(max).collect()
    tracker = sc.statusTracker()
    ids = sorted(tracker.getJobIdsForGroup("tracked"))
    wait_until(lambda: all(tracker.getJobInfo(id).status == "SUCCEEDED" for id in ids))
    infos = [tracker.getJobInfo(id) for id in ids]
    return (
        len(ids),
        [info.jobId == id for info, id in zip(infos, ids, strict=True)],
        [len(info.stageIds) for info in infos],
        tracker.getJobIdsForGroup("nobody"),
    )


@case("StatusTracker", context="fresh")
def tracker_of_a_finished_stage(sc):
    sc.setJobGroup("tracked", "one job")
    sc.parallelize(range(6), 3).count()
    tracker = sc.statusTracker()
    job = tracker.getJobInfo(tracker.getJobIdsForGroup("tracked")[0])
    id = list(job.stageIds)[0]  # noqa: RUF015
    wait_until(lambda: tracker.getStageInfo(id).numCompletedTasks == 3)
    stage = tracker.getStageInfo(id)
    return (
        stage.stageId == id,
        stage.currentAttemptId,
        stage.numTasks,
        stage.numActiveTasks,
        stage.numCompletedTasks,
        stage.numFailedTasks,
        list(stage._fields),
        list(job._fields),
    )


@case("StatusTracker", context="fresh")
def tracker_of_a_failed_job(sc):
    sc.setJobGroup("tracked", "a failing job")
    outcome(lambda: sc.parallelize([0], 1).map(lambda x: 1 / x).collect())
    tracker = sc.statusTracker()
    ids = tracker.getJobIdsForGroup("tracked")
    wait_until(lambda: tracker.getJobInfo(ids[0]).status == "FAILED")
    return len(ids), tracker.getJobInfo(ids[0]).status


@case("StatusTracker", context="fresh")
def tracker_of_jobs_without_a_group(sc):
    sc.parallelize([1], 1).count()
    return len(sc.statusTracker().getJobIdsForGroup(None))


@case("StatusTracker", "sc.cancelAllJobs", context="fresh")
def tracker_of_a_running_job(sc, folder):
    tracker = sc.statusTracker()
    seen = []

    def look():
        wait_until(lambda: len(tracker.getActiveStageIds()) == 1)
        jobs = tracker.getActiveJobsIds()
        seen.append((len(jobs), tracker.getJobInfo(jobs[0]).status))
        sc.cancelAllJobs()

    cancelled_by(sc, folder, lambda: None, look)
    wait_until(lambda: not tracker.getActiveJobsIds())
    return seen


@case("collect", context="fresh")
def jobs_of_several_threads_at_once(sc):
    results = {}

    def run(number):
        results[number] = sc.parallelize(range(number * 10), 2).map(lambda x: x + 1).sum()

    threads = [api.InheritableThread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@case("StatusTracker", context="fresh")
def jobs_have_the_stages_of_their_parents(sc):
    sc.setJobGroup("tracked", "three stages, then two again")
    summed = sc.parallelize([(1, 2), (3, 4)], 2).reduceByKey(max)
    summed.map(lambda pair: pair[::-1]).groupByKey().count()
    summed.count()
    summed.count()
    tracker = sc.statusTracker()
    return [
        len(tracker.getJobInfo(id).stageIds) for id in sorted(tracker.getJobIdsForGroup("tracked"))
    ]

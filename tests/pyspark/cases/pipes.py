"""Records sent through commands."""

from tests.pyspark.registry import case, outcome


@case("pipe")
def pipe_through_cat(sc):
    return sc.parallelize(["1", "2", "", "3"], 2).pipe("cat").collect()


@case("pipe")
def pipe_turns_records_into_text(sc):
    return sc.parallelize([1, None, (2, "é")], 1).pipe("cat").collect()


@case("pipe")
def pipe_strips_line_ends_of_the_input(sc):
    return sc.parallelize(["a\n", "b\n\n", " c "], 1).pipe("cat").collect()


@case("pipe")
def pipe_splits_the_command_like_a_shell(sc):
    return sc.parallelize(["a b"], 1).pipe("sed 's/a b/c  d/'").collect()


@case("pipe")
def pipe_with_environment(sc):
    rdd = sc.parallelize(["x"], 1).pipe("sh -c 'cat; echo $COLOUR'", env={"COLOUR": "red"})
    return rdd.collect()


@case("pipe")
def pipe_sees_only_the_environment_given(sc):
    return sc.parallelize([], 1).pipe("/bin/sh -c 'echo [$HOME]'", {"A": "1"}).collect()


@case("pipe")
def pipe_runs_for_empty_partitions(sc):
    return sc.parallelize([], 2).pipe("wc -l").map(str.strip).collect()


@case("pipe")
def pipe_ignores_a_failing_command(sc):
    return sc.parallelize(["a"], 1).pipe("sh -c 'cat; exit 3'").collect()


@case("pipe")
def pipe_check_code_makes_failure_an_error(sc):
    rdd = sc.parallelize(["a"], 1)
    return outcome(lambda: rdd.pipe("sh -c 'cat; exit 3'", checkCode=True), lambda r: r.collect())


@case("pipe")
def pipe_to_a_missing_command(sc):
    rdd = sc.parallelize(["a"], 1)
    return outcome(lambda: rdd.pipe("no-such-command-anywhere"), lambda r: r.collect())

"""Commands that rows flow through."""

import pytest
from plain import PlainContext

from pyrite.rdd.pipes import PipeFailed


def test_each_partition_has_its_own_process(sc: PlainContext) -> None:
    assert sc.range(5, 2).pipe("wc -l").map(int).collect() == [2, 3]


def test_rows_end_with_one_line_feed(sc: PlainContext) -> None:
    assert sc.parallelize(["a\n", "", "b"], 1).pipe("cat").collect() == ["a", "", "b"]


def test_the_environment_is_the_one_given(sc: PlainContext) -> None:
    rdd = sc.range(1, 1)
    assert rdd.pipe("env", {"KEY": "value"}).collect() == ["KEY=value"]
    assert rdd.pipe("env").collect() == []


def test_a_command_may_stop_reading_early(sc: PlainContext) -> None:
    assert sc.range(100_000, 1).pipe("head -n 2").collect() == ["0", "1"]


def test_a_reader_may_stop_early(sc: PlainContext) -> None:
    assert sc.range(100_000, 1).pipe("cat").take(2) == ["0", "1"]


def test_more_flows_through_than_a_pipe_holds(sc: PlainContext) -> None:
    assert sc.range(50_000, 1).pipe("cat").count() == 50_000


def test_a_failing_command_is_named_when_its_code_is_checked(sc: PlainContext) -> None:
    rdd = sc.range(1, 1)
    assert rdd.pipe("false").collect() == []
    with pytest.raises(PipeFailed, match="'false' exited with code 1"):
        rdd.pipe("false", checkCode=True).collect()


def test_a_missing_command_is_named(sc: PlainContext) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        sc.range(1, 1).pipe("no-such-command -x").collect()


def test_an_error_of_the_rows_is_raised_as_it_was(sc: PlainContext) -> None:
    with pytest.raises(ZeroDivisionError):
        sc.range(3, 1).map(lambda x: 1 // x).pipe("cat").collect()

"""`pyrite plan`: what it prints, for whole stories and unfinished ones, and what it refuses."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
from storytelling import Told, records_of, write_story

from pyrite.cli import main
from pyrite.errors import UserError
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import JobModel, KeptModel, StageModel, Workload, two_stages
from pyrite.ids import RddId
from pyrite.plan.program import PlanStep
from pyrite.rent.command import QUIET_ROUNDS, run_plan
from pyrite.rent.prices import EXAMPLE, read_prices
from pyrite.rent.runs import read_run, read_runs
from pyrite.rent.stageloads import work_s
from pyrite.schedule.events import RddPersisted
from pyrite.story.records import ApplicationEnded, TaskEnded

Output = pytest.CaptureFixture[str]
MODEL = CostModel()
PRICES = """\
[[instance]]
name = "small"
cores = 2
memory = "4g"
price_per_hour = 0.10
network = "5g"
startup = 40

[[instance]]
name = "lender"
kind = "storage"
cores = 1
memory = "64g"
price_per_hour = 0.08
network = "10g"
startup = 40
"""


def tell(folder: Path, name: str, workload: Workload, nodes: int = 2) -> str:
    """Writes the story of a simulated run."""
    file = Told(folder / f"{name}.story")
    simulate(workload, [NodeKind(1, latency_s=0.0)] * nodes, MODEL, listeners=[file.record])
    file.close()
    return str(file.path)


def counting(seconds: float = 2.0) -> Workload:
    return two_stages([seconds] * 16, [seconds] * 4, 20e6)


def iterating(times: int, block_bytes: float) -> Workload:
    """A loop over an RDD that is kept in the pool."""
    kept = PlanStep(RddId(1), (), 8)
    stages = {
        number: StageModel(number, [0.5] * 8, "gradient at job.py:7", steps=(kept,))
        for number in range(times)
    }
    jobs = [
        JobModel(
            number,
            number,
            after=(number - 1,) if number else (),
            before=() if number else (RddPersisted(RddId(1)),),
        )
        for number in range(times)
    ]
    made = KeptModel(1, dict.fromkeys(range(8), 1.0), dict.fromkeys(range(8), block_bytes), "pool")
    return Workload(stages, tuple(jobs), {1: made})


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return str(path)


@pytest.fixture
def story(tmp_path: Path) -> str:
    return tell(tmp_path, "count", counting())


def cut(story: str, keep: Callable[[int, int], bool]) -> str:
    """The story up to a moment: keep is asked with the tasks that have ended and all records."""
    ended, kept = 0, []
    for record in records_of(story):
        ended += isinstance(record, TaskEnded)
        if not keep(ended, len(kept)):
            break
        kept.append(record)
    path = Path(story).with_suffix(".part.story")
    write_story(path, kept)
    return str(path)


def test_a_plan_has_machines_alternatives_and_reasons(
    story: str, prices: str, capsys: Output
) -> None:
    assert main(["plan", story, "--instances", prices, "--budget", "5.00"]) == 0
    output = capsys.readouterr().out
    assert "count.story: 2 stages (2 different), 20 tasks" in output
    assert "on 2 nodes of 1 core, the model says 22.9 s" in output
    [maps] = [line for line in output.splitlines() if line.startswith("1  maps")]
    assert "8 x small" in maps
    for name in ("the plan", "executors only", "half the budget", "the cheapest", "the fastest"):
        assert sum(line.startswith(name + " ") for line in output.splitlines()) == 1
    assert "No storage-only nodes: the pools of the executors hold all" in output
    assert "More money buys no more speed" in output


def test_little_money_buys_fewer_machines(story: str, prices: str, capsys: Output) -> None:
    main(["plan", story, "--instances", prices, "--budget", "0.004"])
    output = capsys.readouterr().out
    assert "The next step would be " in output and " s per dollar)" in output


def test_a_budget_that_is_too_small_is_refused_with_one_that_is_not(
    story: str, prices: str, capsys: Output
) -> None:
    assert main(["plan", story, "--instances", prices, "--budget", "0.0001"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("pyrite plan: a budget of $0.0001 is too small")
    enough = error.partition("cost $")[2].partition(";")[0]
    assert main(["plan", story, "--instances", prices, "--budget", enough]) == 0


def test_memory_is_lent_where_it_is_short(tmp_path: Path, prices: str, capsys: Output) -> None:
    Path(prices).write_text(PRICES.replace("startup = 40", 'disk = "20m"', 1))
    story = tell(tmp_path, "loop", iterating(10, 20e6))
    loads = read_run(story, MODEL).loads
    # The run that makes the blocks is another than those that find them.
    assert [(each.repeats, each.pooled_bytes) for each in loads.stages] == [(1, 160e6), (9, 160e6)]
    command = ["plan", story, "--instances", prices, "--scale", "100", "--most", "9"]
    assert main([*command, "--budget", "0.5"]) == 0
    output = capsys.readouterr().out
    [line] = [line for line in output.splitlines() if line.startswith("2  gradient at job.py:7")]
    assert "14.9 GiB" in line and "x lender" in line and line.split()[-1] == "0%"
    assert "Storage-only nodes lend memory for less than executors" in output


def test_a_story_that_goes_on_is_completed_with_means(
    story: str, prices: str, capsys: Output
) -> None:
    part = cut(story, lambda ended, _: ended <= 10)
    run = read_run(part, MODEL)
    assert run.unfinished
    whole = read_run(story, MODEL)
    assert [len(each.tasks) for each in run.loads.stages] == [16, 4]
    assert work_s(run.loads.stages[0]) == pytest.approx(work_s(whole.loads.stages[0]), rel=0.01)
    assert main(["plan", part, "--instances", prices, "--budget", "5"]) == 0
    output = capsys.readouterr().out
    assert "note: 1 job has not ended: what comes after is not in the plan" in output
    assert "note: maps: 10 of 16 tasks have ended; the others count as their mean" in output
    assert "note: reduces: none of 4 tasks has ended" in output


def test_a_story_without_a_task_that_ended_says_what_to_do(
    story: str, prices: str, capsys: Output
) -> None:
    part = cut(story, lambda ended, _: ended == 0)
    assert main(["plan", part, "--instances", prices, "--budget", "5"]) == 1
    assert "no task that has ended yet" in capsys.readouterr().err


def test_several_runs_are_averaged(tmp_path: Path, prices: str, capsys: Output) -> None:
    stories = [tell(tmp_path, f"run{n}", counting(seconds)) for n, seconds in enumerate((1.0, 3.0))]
    runs = read_runs(stories, MODEL)
    assert work_s(runs.loads.stages[0]) == pytest.approx(16 * 2.0, rel=0.01)
    assert main(["plan", *stories, "--instances", prices, "--budget", "5"]) == 0
    assert "the mean of 2 runs; their tasks' own work was 20.3 s to 60.3 s, 99% apart" in (
        capsys.readouterr().out
    )


def test_runs_with_different_numbers_of_tasks_are_averaged(tmp_path: Path) -> None:
    workloads = two_stages([1.0] * 8, [1.0] * 4, 1e6), two_stages([3.0] * 16, [1.0] * 4, 1e6)
    stories = [tell(tmp_path, f"grown{n}", each) for n, each in enumerate(workloads)]
    maps = read_runs(stories, MODEL).loads.stages[0]
    assert len(maps.tasks) == 16
    assert work_s(maps) == pytest.approx(16 * 2.0, rel=0.01)


def watching(story: str, prices: str, rounds: int | None) -> Namespace:
    return Namespace(
        stories=[story],
        instances=prices,
        budget=5.0,
        billing="second",
        most=64,
        scale=1,
        model=None,
        watch=1.0,
        rounds=rounds,
    )


def test_watching_prints_a_plan_when_it_changes(story: str, prices: str, capsys: Output) -> None:
    # Its driver was killed: nothing says that it has ended.
    whole = [each for each in records_of(story) if not isinstance(each, ApplicationEnded)]
    part = Path(cut(story, lambda ended, _: ended <= 4))
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            write_story(part, whole)
        if len(naps) == 3:
            Path(prices).write_text(PRICES.replace("0.10", "0.30"))

    assert run_plan(watching(str(part), prices, None), nap) == 0
    output = capsys.readouterr().out
    assert output.count("on these machines") == 3
    assert output.count("4 of 16 tasks have ended") == 1
    assert output.endswith("no longer watching\n")
    assert len(naps) == 2 + QUIET_ROUNDS


def test_watching_ends_with_the_application(story: str, prices: str, capsys: Output) -> None:
    naps: list[float] = []
    assert run_plan(watching(story, prices, None), naps.append) == 0
    assert naps == []
    assert capsys.readouterr().out.endswith("the application has ended: no longer watching\n")


def test_watching_ends_after_its_rounds_or_by_ctrl_c(
    story: str, prices: str, capsys: Output
) -> None:
    write_story(story, records_of(story)[:-1])
    naps: list[float] = []
    assert run_plan(watching(story, prices, 2), naps.append) == 0
    assert naps == [1.0]

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    assert run_plan(watching(story, prices, None), interrupted) == 0
    assert "no longer watching" in capsys.readouterr().err


def test_watching_waits_for_a_story_and_for_prices(prices: str, capsys: Output) -> None:
    assert run_plan(watching("none.story", prices, 1), lambda _: None) == 0
    assert "no plan: the story 'none.story' can't be read" in capsys.readouterr().out


def test_the_example_of_prices_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(EXAMPLE)
    first, second = read_prices(str(path))
    assert (first.name, first.cores, first.memory_bytes) == ("m5.xlarge", 4, 16 << 30)
    assert first.network_bytes_per_s == 1.25e9 / 8
    assert (second.executes, second.stores, second.spot) == (False, True, True)
    assert second.prices == ((0.0, 0.041), (1800.0, 0.055))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("cores = 2", "cores = 0", "line 1: cores of 'small' is 0: write a whole number"),
        ("cores = 2", 'cores = "two"', "cores of 'small' is 'two'"),
        ("cores = 2\n", "", "cores of 'small' is missing"),
        ('"4g"', "4", "memory of 'small' is 4: write bytes as"),
        ('"4g"', '"much"', "memory of 'small' is 'much'"),
        ('kind = "storage"', 'kind = "disk"', "line 9: kind of 'lender' is 'disk'"),
        ("price_per_hour = 0.10", "price_per_hour = -1", "price_per_hour of 'small' is -1"),
        ("price_per_hour = 0.10", "prices = [[5, 1]]", "must begin with second 0"),
        ("price_per_hour = 0.10", "prices = [1, 2]", "prices of 'small' is [1, 2]: write [[0"),
        ('network = "5g"', 'network = "fast"', "network of 'small' is 'fast'"),
        ("startup = 40", "warmup = 40", "warmup of 'small' is no field; these are: name,"),
        ('name = "lender"', 'name = "small"', "two types have the name 'small'"),
        ('name = "small"\n', "", "line 1: name is missing"),
        ("cores = 2", "cores = ", "is no TOML: Invalid value (at line 3"),
        ("[[instance]]", "[[machine]]", "it has machine; one [[instance]]"),
    ],
)
def test_wrong_prices_are_refused_with_their_place_and_cure(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        read_prices(str(path))
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named(story: str, capsys: Output) -> None:
    assert main(["plan", story, "--instances", "none.toml", "--budget", "5"]) == 1
    assert "the instance types 'none.toml' can't be read" in capsys.readouterr().err

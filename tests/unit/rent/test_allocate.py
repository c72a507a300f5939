"""Machines for stages: never above the budget, never slower for more money, never without one."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.errors import UserError
from pyrite.rent.allocate import AS_FAST, Allocator, BudgetTooSmall, Terms, rounded_up
from pyrite.rent.completion import BlockCount, Hire, Instance, Rates, StageLoad, TaskLoad
from pyrite.rent.hires import executors_only, only_executors_of, same_throughout
from pyrite.rent.loops import loops_of

GB = 1 << 30
RATES = Rates(
    task_s=2e-4,
    driver_s=1e-4,
    decode_bytes_per_s=1e9,
    write_bytes_per_s=5e8,
    local_block_s=1e-6,
    remote_block_s=5e-5,
    disk_block_s=2e-5,
    remote_bytes_per_s=1e9,
    disk_read_bytes_per_s=1e8,
    disk_write_bytes_per_s=1e8,
)
SMALL = Instance("small", 2, 4 * GB, ((0.0, 0.1),), network_bytes_per_s=5e8)
LARGE = Instance("large", 8, 16 * GB, ((0.0, 0.5),), network_bytes_per_s=1e9)
MEMORY = Instance("memory", 1, 32 * GB, ((0.0, 0.06),), network_bytes_per_s=1e9, executes=False)


def computing(tasks: int, own_s: float, name: str = "map", repeats: int = 1) -> StageLoad:
    return StageLoad(name, (TaskLoad(own_s),) * tasks, repeats=repeats)


def scanning(tasks: int, own_s: float, block_bytes: float, repeats: int = 1) -> StageLoad:
    """Each task reads a kept block."""
    task = TaskLoad(own_s, kept=BlockCount(1, block_bytes))
    return StageLoad("scan", (task,) * tasks, tasks * block_bytes, repeats=repeats)


def in_turn(stages: list[StageLoad]) -> list[int]:
    return [place for place, stage in enumerate(stages) for _ in range(stage.repeats)]


def allocator(
    stages: list[StageLoad], instances: list[Instance], terms: Terms | None = None
) -> Allocator:
    return Allocator(stages, in_turn(stages), instances, RATES, terms)


sizes = st.floats(0, 8e9)
task_loads = st.builds(
    TaskLoad,
    own_s=st.floats(0, 100),
    kept=st.builds(BlockCount, st.integers(0, 3), sizes),
    shuffled=st.builds(BlockCount, st.integers(0, 9), sizes),
    disk=st.just(BlockCount()),
    written_bytes=sizes,
    stored_bytes=sizes,
    remade_s=st.floats(0, 10),
    coding=st.floats(0, 1),
)
stage_loads = st.builds(
    StageLoad,
    name=st.just("stage"),
    tasks=st.lists(task_loads, min_size=1, max_size=12).map(tuple),
    pooled_bytes=st.floats(0, 4e11),
    live_bytes=st.floats(0, 4e11),
    repeats=st.integers(1, 3),
    idle_s=st.floats(0, 5),
)
instances = st.builds(
    Instance,
    name=st.just("any"),
    cores=st.integers(1, 16),
    memory_bytes=st.integers(GB, 64 * GB),
    prices=st.one_of(
        st.floats(0.01, 5).map(lambda price: ((0.0, price),)),
        st.tuples(st.floats(0.01, 5), st.floats(1, 500), st.floats(0.01, 5)).map(
            lambda each: ((0.0, each[0]), (each[1], each[2]))
        ),
    ),
    network_bytes_per_s=st.one_of(st.none(), st.floats(1e7, 1e10)),
    startup_s=st.sampled_from([0.0, 40.0]),
)
storage = instances.map(
    lambda each: Instance("storage", each.cores, each.memory_bytes, each.prices, executes=False)
)
allocators = st.builds(
    lambda stages, executors, lenders, period_s: allocator(
        stages, [*executors, *lenders], Terms(0.0, period_s, most_machines=8)
    ),
    st.lists(stage_loads, min_size=1, max_size=4),
    st.lists(instances, min_size=1, max_size=2),
    st.lists(storage, max_size=1),
    st.sampled_from([0.0, 60.0, 3600.0]),
)


@settings(max_examples=60)
@given(allocators, st.floats(1, 4))
def test_a_plan_keeps_to_its_budget_and_every_stage_has_an_executor(
    found: Allocator, factor: float
) -> None:
    budget = found.cheapest().dollars * factor
    plan = found.plan_within(budget)
    assert plan.dollars <= budget
    assert len(plan.hires) == len(found.stages)
    for hire in plan.hires:
        assert hire.executors >= 1 and hire.executor.executes
        assert hire.machines <= found.terms.most_machines
        assert (hire.storages > 0) == (hire.storage is not None)
    assert plan.seconds <= found.cheapest().seconds


@settings(max_examples=60)
@given(allocators, st.lists(st.floats(1, 20), min_size=2, max_size=6))
def test_more_money_is_never_slower(found: Allocator, factors: list[float]) -> None:
    least = found.cheapest().dollars
    times = [found.plan_within(least * factor).seconds for factor in sorted(factors)]
    assert times == sorted(times, reverse=True)


@settings(max_examples=40)
@given(allocators)
def test_a_budget_that_is_too_small_says_which_would_do(found: Allocator) -> None:
    with pytest.raises(BudgetTooSmall) as caught:
        found.plan_within(found.cheapest().dollars * 0.99)
    enough = rounded_up(caught.value.smallest)
    assert f"${enough}" in str(caught.value)
    assert found.plan_within(float(enough)).dollars <= float(enough)


@settings(max_examples=40)
@given(allocators, st.floats(1, 3))
def test_no_restriction_makes_a_plan_better(found: Allocator, factor: float) -> None:
    budget = found.cheapest().dollars * factor
    plan = found.plan_within(budget)
    for allowed in (executors_only, same_throughout):
        try:
            assert found.plan_within(budget, allowed).seconds * AS_FAST >= plan.seconds
        except BudgetTooSmall as error:
            assert error.smallest > budget


def test_nothing_is_paid_for_speed_within_the_error_of_any_forecast() -> None:
    """Machines that are faster by less than a hundredth, or by more, at twice the price."""
    found = {}
    for speed in (1.005, 1.05):
        quick = replace(SMALL, name="quick", prices=((0.0, 0.2),), speed=speed)
        plan = allocator([computing(1, 10.0)], [SMALL, quick]).plan_within(inf)
        found[speed] = {hire.executor.name for hire in plan.hires}
    assert found == {1.005: {"small"}, 1.05: {"quick"}}


def test_a_dollar_goes_where_it_saves_the_most() -> None:
    """One stage has work for many machines, the other for one core only."""
    found = allocator([computing(64, 10.0), computing(1, 10.0, "reduce")], [SMALL])
    plan = found.plan_within(found.cheapest().dollars * 1.05)
    wide, narrow = plan.hires
    assert wide.executors >= 16
    assert narrow.executors == 1


def test_storage_only_nodes_replace_executors_when_money_is_short() -> None:
    """The blocks need the pools of 40 small machines, or one that lends its memory."""
    small = Instance("small", 2, 4 * GB, ((0.0, 0.1),), network_bytes_per_s=5e8, startup_s=60.0)
    found = allocator([scanning(40, 0.1, 1e9, repeats=10)], [small, MEMORY])
    [cheap] = found.cheapest().hires
    [rich] = found.plan_within(inf).hires
    assert cheap.storages and cheap.executors < rich.executors
    assert not rich.storages
    with pytest.raises(BudgetTooSmall):
        found.plan_within(found.cheapest().dollars, executors_only)


def test_no_memory_is_lent_where_none_is_short() -> None:
    found = allocator([computing(64, 1.0)], [SMALL, MEMORY])
    for factor in (1.0, 1.5, 3.0):
        plan = found.plan_within(found.cheapest().dollars * factor)
        assert not plan.hires[0].storages


def test_the_better_type_is_taken() -> None:
    bargain = Instance("bargain", 8, 16 * GB, ((0.0, 0.2),))
    found = allocator([computing(64, 10.0)], [SMALL, LARGE, bargain])
    plan = found.plan_within(1.0)
    assert plan.hires[0].executor is bargain
    only = found.plan_within(1.0, lambda hires: only_executors_of(LARGE, hires))
    assert only.hires[0].executor is LARGE
    assert only.dollars > plan.dollars


def test_a_spot_price_that_rises_drives_later_stages_away() -> None:
    spot = Instance("spot", 2, 4 * GB, ((0.0, 0.02), (40.0, 9.0)))
    stages = [computing(8, 10.0), computing(8, 10.0, "later")]
    found = allocator(stages, [spot, SMALL], Terms(most_machines=1))
    first, later = found.cheapest().hires
    assert (first.executor, later.executor) == (spot, SMALL)


def test_what_starting_costs_keeps_machines_together() -> None:
    """Stages that could have machines of different sizes, if changing them were free."""
    free = Instance("free", 1, GB, ((0.0, 1.0),))
    slow = Instance("slow to start", 1, GB, ((0.0, 1.0),), startup_s=1000.0)
    stages = [computing(2, 10.0), computing(8, 10.0), computing(2, 10.0)]
    for instance, same in (free, False), (slow, True):
        found = allocator(stages, [instance])
        plan = found.cheapest()
        assert same_throughout(plan.hires) or not same
        assert plan.dollars == pytest.approx((120 + instance.startup_s) / 3600, rel=0.01)


def test_hours_that_are_begun_are_paid() -> None:
    stages = [computing(4, 10.0)]
    by_hour = allocator(stages, [SMALL], Terms(period_s=3600.0))
    assert by_hour.cheapest().dollars == pytest.approx(0.1)
    assert allocator(stages, [SMALL]).cheapest().dollars < 0.001


def test_the_next_step_is_what_more_money_buys() -> None:
    found = allocator([computing(64, 10.0)], [LARGE], Terms(most_machines=8))
    step = found.next_step(found.cheapest())
    assert step is None or step.saved_s > 0
    slowest = found.plan_within(found.cheapest().dollars)
    fastest = found.plan_within(inf)
    assert found.next_step(fastest) is None
    if step is not None:
        richer = found.plan_within(slowest.dollars + step.dollars * 1.001)
        assert richer.seconds <= slowest.seconds - step.saved_s * 0.999


def test_asking_changes_nothing() -> None:
    found = allocator([scanning(40, 0.5, 1e9), computing(16, 3.0)], [SMALL, LARGE, MEMORY])
    budget = found.cheapest().dollars * 1.3
    before = found.plan_within(budget)
    found.next_step(before)
    assert found.plan_within(budget) == before


def test_storage_only_types_alone_are_refused() -> None:
    with pytest.raises(UserError, match="each stage needs an executor"):
        allocator([computing(1, 1.0)], [MEMORY])


def test_the_stages_of_a_loop_share_their_machines() -> None:
    stages = [computing(64, 5.0, "a", 20), computing(1, 1.0, "b", 20), computing(9, 1.0, "c")]
    order = [0, 1] * 20 + [2]
    found = Allocator(stages, order, [SMALL, LARGE], RATES)
    plan = found.plan_within(found.cheapest().dollars * 1.5)
    assert plan.hires[0] == plan.hires[1]
    assert loops_of(3, order) == [[0, 1], [2]]


def test_a_hire_counts_its_machines() -> None:
    hire = Hire(SMALL, 3, MEMORY, 2)
    assert (hire.machines, hire.slots) == (5, 6)
    assert hire.pool_bytes == pytest.approx(3 * GB + 2 * 0.9 * 32 * GB)

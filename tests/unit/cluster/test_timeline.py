"""Virtual time goes from plan to plan, and never back."""

from pyrite.cluster.sim.timeline import Timeline


def play(timeline: Timeline) -> None:
    while timeline.next_s() is not None:
        timeline.step()


def test_plans_come_by_time_and_those_of_one_moment_by_when_they_were_made() -> None:
    timeline = Timeline()
    seen: list[tuple[float, str]] = []

    def note(name: str) -> None:
        seen.append((timeline.now_s, name))

    timeline.at(2.0, note, "late")
    timeline.at(1.0, note, "first of two")
    timeline.after(1.0, note, "second of two")
    play(timeline)
    assert seen == [(1.0, "first of two"), (1.0, "second of two"), (2.0, "late")]


def test_a_plan_for_the_past_comes_now() -> None:
    timeline = Timeline()
    seen: list[float] = []

    def go_back() -> None:
        timeline.at(1.0, lambda: seen.append(timeline.now_s))

    timeline.at(5.0, go_back)
    play(timeline)
    assert seen == [5.0]


def test_time_stands_still_where_nothing_is_planned() -> None:
    timeline = Timeline()
    assert timeline.next_s() is None
    timeline.after(3.0, lambda: None)
    assert (timeline.now_s, timeline.next_s()) == (0.0, 3.0)

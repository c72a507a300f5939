"""Accumulators and broadcasts."""

from tests.pyspark.api import api, submodule
from tests.pyspark.registry import case, outcome


@case("sc.accumulator", "Accumulator")
def accumulator_adds(sc):
    total = sc.accumulator(1)
    total.add(2)
    total += 3
    return total.value


@case("sc.accumulator")
def accumulator_in_tasks(sc):
    total = sc.accumulator(value=10)
    sc.parallelize([1, 2, 3, 4], 3).foreach(lambda x: total.add(x))
    return total.value


@case("sc.accumulator")
def accumulator_by_plus_in_tasks(sc):
    total = sc.accumulator(0)

    def see(x):
        nonlocal total
        total += x

    sc.parallelize([1, 2, 3], 2).foreach(see)
    return total.value


@case("sc.accumulator")
def accumulator_of_floats_and_complex(sc):
    real, imaginary = sc.accumulator(0.0), sc.accumulator(0j)

    def see(x):
        real.add(x)
        imaginary.add(x * 1j)

    sc.parallelize([0.5, 0.25], 2).foreach(see)
    return real.value, imaginary.value


@case("sc.accumulator")
def accumulator_of_text_fails(sc):
    return outcome(lambda: sc.accumulator("")), outcome(lambda: sc.accumulator([]))


@case("Accumulator")
def accumulator_value_can_be_set(sc):
    total = sc.accumulator(5)
    total.value = 7
    sc.parallelize([1, 1], 2).foreach(lambda x: total.add(x))
    return total.value


@case("Accumulator")
def accumulator_shows_itself(sc):
    total = sc.accumulator(5)
    return str(total), type(total).__name__, repr(total).startswith("Accumulator<id=")


@case("Accumulator")
def accumulator_value_in_a_task_fails(sc):
    total = sc.accumulator(5)
    rdd = sc.parallelize([1], 1)
    return outcome(lambda: rdd.map(lambda x: total.value), lambda r: r.collect())


@case("AccumulatorParam", "sc.accumulator")
def accumulator_of_an_own_kind(sc):
    class Letters(api.AccumulatorParam):
        def zero(self, value):
            return set()

        def addInPlace(self, held, added):
            return held | added

    seen = sc.accumulator(set("a"), accum_param=Letters())
    sc.parallelize("bcb", 2).foreach(lambda letter: seen.add({letter}))
    return seen.value


@case("AccumulatorParam")
def accumulator_zero_is_taken_from_the_start_value(sc):
    class Vector(api.AccumulatorParam):
        def zero(self, value):
            return [0.0] * len(value)

        def addInPlace(self, held, added):
            for index in range(len(held)):
                held[index] += added[index]
            return held

    total = sc.accumulator([1.0, 2.0, 3.0], Vector())
    sc.parallelize([1, 2, 3], 3).foreach(lambda x: total.add([x, x, x]))
    total += [7, 8, 9]
    return total.value


@case("Accumulator")
def accumulator_of_a_transformation_counts_for_each_action(sc):
    seen = sc.accumulator(0)

    def see(x):
        seen.add(1)
        return x

    rdd = sc.parallelize([1, 2], 2).map(see)
    before = seen.value
    rdd.count()
    once = seen.value
    rdd.count()
    return before, once, seen.value


@case("Accumulator")
def accumulator_of_a_failing_action(sc):
    seen = sc.accumulator(0)

    def see(x):
        seen.add(1)
        return 1 / x

    failed = outcome(lambda: sc.parallelize([1, 0], 1).foreach(see))
    return failed, seen.value


@case("Accumulator")
def accumulator_before_a_shuffle_counts_once(sc):
    seen = sc.accumulator(0)

    def see(pair):
        seen.add(1)
        return pair

    rdd = sc.parallelize([(1, 1), (2, 2)], 2).map(see).reduceByKey(max)
    rdd.collect()
    rdd.collect()
    return seen.value


@case("Accumulator")
def accumulators_have_ids(sc):
    first, second = sc.accumulator(0), sc.accumulator(0)
    return second.aid > first.aid


@case("Accumulator", context="none")
def accumulator_classes_have_their_module():
    module = submodule("accumulators")
    return module.Accumulator is api.Accumulator, module.AccumulatorParam is api.AccumulatorParam


@case("sc.broadcast", "Broadcast")
def broadcast_in_tasks(sc):
    held = sc.broadcast([1, 2, 3, 4, 5])
    return held.value, sc.parallelize([0, 0], 2).flatMap(lambda x: held.value).collect()


@case("sc.broadcast")
def broadcast_of_other_values(sc):
    values = [None, 0, "é", {"k": (1, 2)}, {1}, b"\xff"]
    helds = [sc.broadcast(value=value) for value in values]
    return [sc.parallelize([0], 1).map(lambda _: held.value).first() for held in helds]  # noqa: B023


@case("Broadcast")
def broadcast_of_a_large_value(sc):
    held = sc.broadcast(bytes(3_000_000))
    return sc.parallelize([0, 1], 2).map(lambda _: len(held.value)).collect()


@case("Broadcast")
def broadcast_unpersisted_can_be_used_again(sc):
    held = sc.broadcast("kept")
    result = held.unpersist()
    held.unpersist(blocking=True)
    return result, held.value, sc.parallelize([0], 1).map(lambda _: held.value).collect()


@case("Broadcast")
def broadcast_destroyed_can_not_be_used(sc):
    held = sc.broadcast("gone")
    rdd = sc.parallelize([0], 1).map(lambda _: held.value)
    rdd.collect()
    result = held.destroy(blocking=True)
    later = sc.parallelize([0], 1).map(lambda _: held.value)
    return result, outcome(lambda: later.collect())


@case("Broadcast")
def broadcast_is_a_snapshot_in_tasks(sc):
    value = [1]
    held = sc.broadcast(value)
    value.append(2)
    return sc.parallelize([0], 1).map(lambda _: held.value).collect()


@case("Broadcast", context="none")
def broadcast_class_has_its_module():
    return api.Broadcast.__name__, submodule("broadcast").Broadcast is api.Broadcast


@case("Broadcast")
def broadcast_dumps_and_loads(sc, folder):
    path = folder / "value"
    held = sc.broadcast(0)
    file = path.open("wb")
    returned = held.dump({"a": [1, 2]}, file)
    with path.open("rb") as reopened:
        loaded = held.load(reopened)
    return returned, file.closed, loaded, held.load_from_path(str(path))


@case("Broadcast")
def broadcast_of_what_cannot_be_pickled_is_not_dumped(sc, folder):
    held = sc.broadcast(0)
    with (folder / "value").open("wb") as file:
        return outcome(lambda: held.dump(file, file))

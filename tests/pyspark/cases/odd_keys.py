"""Keys of two sides that are equal and differ in type, or look alike and differ."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
from tests.pyspark.odd_values import NAN, Caseless, Collides, Color, Frozen, Level, Pair
from tests.pyspark.tables import add_programs

KEYS = {
    "ints_and_bools": lambda: ([1, 0, 2], [True, False]),
    "ints_and_floats": lambda: ([1, 0, 2**53 + 1], [1.0, -0.0, 2.0**53]),
    "ints_and_decimals": lambda: ([1, 0], [Decimal("1.00"), Fraction(0)]),
    "ints_and_complex": lambda: ([1, 2], [1 + 0j, 2j]),
    "ints_and_enums": lambda: ([1, 2], [Level.LOW, Level.HIGH]),
    "enums": lambda: ([Color.RED, Color.BLUE], [Color.CRIMSON, "b"]),
    "text_and_bytes": lambda: (["a", "b"], [b"a", "b"]),
    "text_and_numpy": lambda: (["a", "b"], [np.str_("a"), np.str_("c")]),
    "floats_and_numpy": lambda: ([1.5, 2], [np.float64(1.5), np.int64(2)]),
    "nones": lambda: ([None, 0], [None, False]),
    "one_nan": lambda: ([NAN], [NAN]),
    "tuples_and_namedtuples": lambda: ([(1, 2), (1,)], [Pair(1, 2), Pair(1.0, True)]),
    "nested_tuples": lambda: ([(1, (True, None))], [(1.0, (1, None)), ((), ())]),
    "frozensets": lambda: ([frozenset("ab"), frozenset()], [frozenset("ba"), frozenset([""])]),
    "dataclasses": lambda: ([Frozen(1), Frozen(2)], [Frozen(1), Frozen(2, "x")]),
    "caseless": lambda: ([Caseless("a"), Caseless("b")], [Caseless("A"), Caseless("c")]),
    "collisions": lambda: ([Collides(1), Collides(2)], [Collides(2), Collides(3), -1, -2]),
    "unhashable": lambda: ([[1]], [[1]]),
    "half_unhashable": lambda: ([1, 2], [1, [2]]),
    "tuples_of_lists": lambda: ([(1, [2])], [(1, [2])]),
    "more_on_the_right": lambda: ([], ["a", "a", "b"]),
    "many_of_one": lambda: (["a"] * 3, ["a"] * 2),
}


def sides(sc, keys):
    left, right = keys
    return (
        sc.parallelize([(key, f"left {n}") for n, key in enumerate(left)], 2),
        sc.parallelize([(key, f"right {n}") for n, key in enumerate(right)], 3),
    )


def both(method):
    def use(sc, folder, keys):
        left, right = sides(sc, keys)
        return getattr(left, method)(right).collect()

    return use


def on_keys(method):
    def use(sc, folder, keys):
        left, right = sides(sc, keys)
        return getattr(left.keys(), method)(right.keys()).collect()

    return use


def grouped(sc, folder, keys):
    left, right = sides(sc, keys)
    return left.union(right).groupByKey(3).mapValues(lambda held: sorted(held)).collect()


def cogrouped(sc, folder, keys):
    left, right = sides(sc, keys)
    return left.cogroup(right).mapValues(lambda held: [sorted(side) for side in held]).collect()


def looked_up(sc, folder, keys):
    left, right = sides(sc, keys)
    both_sides = left.union(right)
    return [sorted(both_sides.lookup(key)) for key in (*keys[1], *keys[0])][:2]


def looked_up_in_its_partition(sc, folder, keys):
    left, right = sides(sc, keys)
    laid = left.union(right).partitionBy(3)
    return [sorted(laid.lookup(key)) for key in (*keys[1], *keys[0])][:2]


USES = {
    **{name: both(name) for name in ("join", "fullOuterJoin", "subtractByKey")},
    **{name: on_keys(name) for name in ("intersection", "subtract")},
    "groupByKey": grouped,
    "cogroup": cogrouped,
}
LOOKUPS = {"lookup": looked_up, "lookup_in_its_partition": looked_up_in_its_partition}

add_programs("odd_keys", USES, KEYS, "sorted")
add_programs("odd_keys", LOOKUPS, KEYS)

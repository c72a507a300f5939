"""Questions about the rows of an RDD: which sources are behind them, and which breaks a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrite.replay.culprit import find_culprit, short
from pyrite.replay.rdds import ReplayedRdd
from pyrite.replay.replayer import Replayer
from pyrite.replay.why import KeyIn, OneOf, SourceRow, SourcesBehind, Wanted

# More source rows than these are counted, and not listed; of rows that were asked for, fewer.
LISTED = 100
REPEATED = 10


def list_sources(replayer: Replayer, rdd: ReplayedRdd, key: Any) -> bool:
    """Prints the source rows behind a key; whether there are any."""
    has_key, is_key = KeyIn([key]), OneOf([key])

    def wanted(row: Any) -> bool:
        return has_key(row) or is_key(row)

    try:
        made = [row for _, row in rdd.rows() if wanted(row)]
    except Exception as error:
        print(f"the rows of {rdd!r} can't all be computed: {type(error).__name__}: {error}")
    else:
        if not made:
            print(f"{rdd!r} has no row with the key {key!r}")
            return False
        for row in made[:REPEATED]:
            print(f"{short(row)} in RDD {rdd.label}")
        if len(made) > REPEATED:
            print(f"and {len(made) - REPEATED} more in RDD {rdd.label}")
        if not has_key(made[0]):
            return print_sources(replayer, rdd, is_key)
    return print_sources(replayer, rdd, has_key)


def print_sources(replayer: Replayer, rdd: ReplayedRdd, wanted: Wanted) -> bool:
    """Prints the source rows behind rows of an RDD; whether there are any."""
    behind = SourcesBehind(replayer)
    count = 0
    for row in behind.rows(rdd._operator, range(rdd.getNumPartitions()), wanted):
        count += 1
        if count <= LISTED:
            print(f"  {source_line(row)}")
    if count > LISTED:
        print(f"  and {count - LISTED} more")
    rows = "1 source row is" if count == 1 else f"{count} source rows are"
    print(f"{rows} behind it")
    for note in behind.notes:
        print(note)
    return count > 0


def source_line(row: SourceRow) -> str:
    """A source row, and where it came from."""
    place = f"{row.operator.title} at {row.operator.site}, partition {row.partition}"
    files = f" of {', '.join(row.files)}" if row.files else ""
    return f"{short(row.row)} from {place}, row {row.number}{files}"


def check_rows(replayer: Replayer, rdd: ReplayedRdd, function: Callable[[Any], Any]) -> bool:
    """Prints the first row for which the function is not true, and what is behind it; whether it
    is true for all."""
    count = 0
    for partition, row in rdd.rows():
        try:
            broken = "" if function(row) else "it is not true"
        except Exception as error:
            broken = f"it raises {type(error).__name__}: {error}"
        if broken:
            print(f"{short(row)} breaks it: {broken}")
            print(f"in {rdd!r}, partition {partition}, after {count} rows for which it holds")
            print_sources(replayer, rdd, OneOf([row]))
            return False
        count += 1
    print(f"it is true for all {count} rows of {rdd!r}")
    return True


def say_culprit(error: BaseException) -> None:
    """Prints whose record an exception rose from."""
    culprit = find_culprit(error)
    if culprit is not None:
        print("\n".join(culprit.lines()))

"""Rows on their way into a shuffle: packed by the row machine where they can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyrite.bounded.space import Space
from pyrite.bounded.traced import send_chain
from pyrite.machine.chain import Chain
from pyrite.machine.records import RecordRows
from pyrite.rdd.partitioner import ByRange, RangeFunc, Router


def sent_rows(chain: Chain, router: Router, parts: int, space: Space) -> Iterator[Any]:
    """The chain's results as they are sent to the router's parts."""
    if router.packs:
        return send_chain(chain, space)
    rows = chain.last_rows()
    if isinstance(rows, RecordRows) and isinstance(router, ByRange) and chain.tracing.is_usable():
        return _ranged(rows, router.ranges, parts, space)
    return rows


def _ranged(rows: RecordRows, ranges: RangeFunc, parts: int, space: Space) -> Iterator[Any]:
    """Records that are dealt out as they are read, where their keys are pieces of them."""
    from pyrite.bounded.recordranges import DealtRecords
    from pyrite.machine.recordkeys import span_of

    span = span_of(ranges.keyfunc)
    are_bytes = all(type(bound) is bytes for bound in ranges.bounds)
    if span is None or not are_bytes or len(ranges.bounds) + 1 != parts:
        return rows
    return DealtRecords(rows, span, ranges.bounds, ranges.ascending, space)

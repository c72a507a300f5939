"""An action over a task's last rows: the engine's own ones are offered to the row machine."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyrite.machine import take
from pyrite.machine.chain import Chain
from pyrite.rdd import functions
from pyrite.rdd.quantiles import draw_keys


def act(work: Any, partition: int, chain: Chain) -> Any:
    """The result of an action."""
    taken = _taken(work, partition, chain)
    return work(partition, chain.run()) if taken is None else taken.result


def _taken(work: Any, partition: int, chain: Chain) -> take.Taken | None:
    if work is functions.sum_rows:
        return take.sum_rows(chain)
    if work is functions.count_rows:
        return take.count_rows(chain)
    if type(work) is not partial or work.keywords:
        return None
    if work.func is draw_keys:
        # Records come in blocks, of which few are cut.
        return take.Taken(work(partition, chain.last_rows()))
    if work.func is functions.reduce_rows:
        return take.reduce_rows(chain, *work.args)
    if work.func is functions.fold_rows:
        zero, function = work.args
        return take.fold_rows(chain, functions.Zero(zero)(), function)
    return None

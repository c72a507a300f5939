"""Variables that the driver shares with tasks: broadcasts and accumulators."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, cast

from pyrite.accumulators import Accumulator, AccumulatorParam, param_for
from pyrite.blocks.codec import encode
from pyrite.blocks.pickling import Unpicklable
from pyrite.broadcast import Broadcast
from pyrite.driver.engine.engine import Engine
from pyrite.execute.closures import dumps
from pyrite.ids import BroadcastId
from pyrite.interrupts import Uninterrupted
from pyrite.schedule.events import BroadcastForgotten
from pyrite.taskcontext import TaskContext

T = TypeVar("T")


class SharedVariables:
    """The part of a context that makes broadcasts and accumulators."""

    _engine: Engine
    _broadcast_ids: int
    _accumulator_ids: ClassVar[Iterator[int]] = itertools.count()

    def broadcast(self, value: T) -> Broadcast[T]:
        """Lays a value on every node, for tasks to read.

        >>> sc.broadcast([1, 2, 3]).value
        [1, 2, 3]
        """
        name = os.urandom(8).hex()
        try:
            buffers = encode([value, name])
        except Unpicklable:
            # This names what in the value is to blame.
            dumps(value, "the value of a broadcast")
            raise
        with Uninterrupted():
            ref = self._engine.put(buffers)
            id = BroadcastId(self._broadcast_ids)
            self._broadcast_ids += 1
            broadcast = Broadcast(cast(Any, self), id, name, value, ref)
            broadcast._free = self._engine.release_when_gone(broadcast, [ref])
            self._engine.forget_when_gone(broadcast, BroadcastForgotten(id))
        return broadcast

    def _drop_broadcast(self, id: BroadcastId) -> None:
        self._engine.post(BroadcastForgotten(id))

    def accumulator(self, value: T, accum_param: AccumulatorParam[T] | None = None) -> Any:
        """A variable that tasks add to and the driver reads.

        >>> total = sc.accumulator(0)
        >>> sc.parallelize([1, 2, 3]).foreach(lambda x: total.add(x))
        >>> total.value
        6
        """
        param = param_for(value) if accum_param is None else accum_param
        id = next(self._accumulator_ids)
        if TaskContext.get() is not None:
            # Of a context inside a task: accumulators of the outer one have ids here too.
            id += os.getpid() << 32
        return Accumulator(id, value, param)

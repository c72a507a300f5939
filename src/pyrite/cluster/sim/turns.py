"""Threads that take turns: one runs at a time, and the seed alone decides which is next."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.errors import EngineError, UserError
from pyrite.interrupts import Interruptible, is_main, is_pending


class ThreadTurn:
    """One thread, and whether it may run."""

    def __init__(self, turns: Turns, name: str) -> None:
        self.turns = turns
        self.name = name
        self.gate = threading.Lock()
        self.gate.acquire()
        self.ident = 0
        self.ready: Callable[[], object] | None = None
        self.is_ready = True
        self.done = False
        self.error: BaseException | None = None
        # The thread that let this executor's thread run, and waits until it pauses.
        self.visitor: ThreadTurn | None = None

    def check(self) -> bool:
        """Whether the thread can go on; once its condition was true, it is not checked again."""
        if not self.is_ready and self.ready is not None:
            # After the loop has ended, no condition will ever become true.
            self.is_ready = bool(self.ready()) or self.turns.is_over
        return self.is_ready

    def join(self) -> None:
        self.turns.wait(WaitQueue(), lambda: self.done)


class Turns:
    """Passes the turn between the driver's threads, its loop and the executors' threads.

    A thread that waits passes the turn to a random thread of the driver that can go on; if there is
    none, to the loop, which lets virtual time pass.
    """

    def __init__(self, timeline: Timeline, dice: Random) -> None:
        self.timeline = timeline
        self.dice = dice
        self.running = ThreadTurn(self, "main")
        self.running.ident = threading.get_ident()
        self.driver = [self.running]
        self.loop: ThreadTurn | None = None

    @property
    def is_over(self) -> bool:
        return self.loop is not None and self.loop.done

    def start(self, work: Callable[[], None], name: str) -> ThreadTurn:
        """Starts a thread of the driver; it runs when the others wait."""
        turn = self._make(work, name)
        self.driver.append(turn)
        return turn

    def start_executor(self, work: Callable[[], None], name: str) -> ThreadTurn:
        """Starts an executor's thread; it runs only while it is visited."""
        return self._make(work, name)

    def _make(self, work: Callable[[], None], name: str) -> ThreadTurn:
        turn = ThreadTurn(self, name)
        works = [work]
        del work

        def live() -> None:
            turn.gate.acquire()
            turn.ident = threading.get_ident()
            try:
                # Popped, so that what the work holds is freed before the next thread runs.
                works.pop()()
            except BaseException as error:
                turn.error = error
            turn.done = True
            if turn in self.driver:
                self.driver.remove(turn)
            self.running = turn.visitor or self._next()
            self.running.gate.release()

        threading.Thread(target=live, name=name, daemon=True).start()
        return turn

    def become_loop(self) -> None:
        """Makes the calling thread the loop: it runs when no other can."""
        if self.loop is None:
            self.loop = self.running
            self.driver.remove(self.running)

    def wait(
        self,
        changed: WaitQueue,
        ready: Callable[[], object],
        timeout_s: float | None = None,
    ) -> bool:
        me = self.running
        if me.ident != threading.get_ident():
            raise UserError(
                "in the simulator one thread runs at a time, and this one is not among them: "
                "start it with pyrite.InheritableThread"
            )
        expired: list[bool] = []
        if timeout_s is not None:
            self.timeline.after(timeout_s, expired.append, True)
        # An interrupted thread must get its turn.
        interruptible = changed.is_interruptible and is_main()
        me.ready = lambda: expired or ready() or (interruptible and is_pending())
        me.is_ready = False
        while not me.check():
            self._pass(self._next())
            if me.check() and interruptible and is_pending():
                with Interruptible():
                    me.is_ready = False
        me.ready = None
        return bool(ready())

    def give_way(self) -> None:
        """Called by the loop: lets all other threads run until they wait."""
        while (turn := self._candidate()) is not None:
            self._pass(turn)

    def visit(self, turn: ThreadTurn) -> None:
        """Lets an executor's thread run until it leaves or ends."""
        turn.visitor = self.running
        self._pass(turn)
        if turn.error is not None:
            error, turn.error = turn.error, None
            raise EngineError(f"{turn.name} ended with {type(error).__name__}: {error}") from error

    def leave(self) -> None:
        """Called by an executor's thread that has to wait: returns the turn to its visitor."""
        assert self.running.visitor is not None
        self._pass(self.running.visitor)

    def _next(self) -> ThreadTurn:
        turn = self._candidate() or self.loop
        if turn is None or turn.done:
            raise EngineError("every thread waits, and the loop has ended")
        return turn

    def _candidate(self) -> ThreadTurn | None:
        able = [each for each in self.driver if each is not self.running and each.check()]
        return self.dice.choice(able) if able else None

    def _pass(self, to: ThreadTurn) -> None:
        me = self.running
        if to is me:
            return
        self.running = to
        to.gate.release()
        me.gate.acquire()

"""Threads that take turns: one runs at a time, and who is next does not depend on the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.errors import EngineError, UserError
from pyrite.interrupts import Interruptible, is_main, is_pending


class ThreadTurn:
    """One thread's place among the others."""

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
        # Whoever let an executor's thread run, and waits until it has to wait itself.
        self.visitor: ThreadTurn | None = None

    def check(self) -> bool:
        """Whether the thread could go on; what it waits for is not asked again once it is there."""
        if not self.is_ready and self.ready is not None:
            # Where the loop has ended, nothing that anyone waits for will ever come.
            self.is_ready = bool(self.ready()) or self.turns.is_over
        return self.is_ready

    def join(self) -> None:
        self.turns.wait(WaitQueue(), lambda: self.done)


class Turns:
    """The driver's threads, of which the loop is the last resort, and those of executors.

    Who waits passes the turn on: to another thread of the driver that can go on, by the dice; when
    there is none, to the loop, which lets virtual time pass.
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
        """A thread of the driver; it runs when the others wait."""
        turn = self._make(work, name)
        self.driver.append(turn)
        return turn

    def start_executor(self, work: Callable[[], None], name: str) -> ThreadTurn:
        """A thread that runs only while it is visited."""
        return self._make(work, name)

    def _make(self, work: Callable[[], None], name: str) -> ThreadTurn:
        turn = ThreadTurn(self, name)
        works = [work]
        del work

        def live() -> None:
            turn.gate.acquire()
            turn.ident = threading.get_ident()
            try:
                # What the work holds has gone when the next thread runs.
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
        """The thread that calls this runs when no other can."""
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
        # A thread must have its turn when it is interrupted.
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
        """The loop lets all others run until they wait."""
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
        """An executor's thread has to wait."""
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

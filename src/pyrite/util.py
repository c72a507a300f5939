"""Threads that keep what their parent had set for its jobs."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

from pyrite.cluster.port import Joinable
from pyrite.cluster.threads import FreeThreads
from pyrite.rdd.stops import fail_on_stopiteration as fail_on_stopiteration


def inheritable_thread_target(f: Any = None) -> Any:
    """Wraps a thread's target so that its jobs get this thread's group, tags and properties.

    >>> import threading
    >>> sc.setLocalProperty("who", "parent")
    >>> seen = []
    >>> target = inheritable_thread_target(lambda: seen.append(sc.getLocalProperty("who")))
    >>> thread = threading.Thread(target=target)
    >>> thread.start(); thread.join(); seen
    ['parent']
    >>> sc.setLocalProperty("who", None)
    """
    if not callable(f):
        # Used with a session: @inheritable_thread_target(spark)
        return inheritable_thread_target
    from pyrite.context import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return f
    copied = context._flags.copy()

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context._flags.adopt(copied)
        return f(*args, **kwargs)

    return wrapped


class InheritableThread(threading.Thread):
    """A thread whose jobs get the group, tags and properties of the thread that starts it."""

    def __init__(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        kwargs.pop("session", None)
        self._given_target = target
        self._wrapped: Callable[..., Any] = target
        kwargs["target"] = self._run_target
        super().__init__(*args, **kwargs)

        self._simulated: Joinable | None = None

    def start(self) -> None:
        from pyrite.context import SparkContext

        self._wrapped = inheritable_thread_target(self._given_target)
        context = SparkContext._active_spark_context
        threads = None if context is None else context._engine.threads
        if threads is None or isinstance(threads, FreeThreads):
            super().start()
        else:
            # In the simulator threads take turns, which it has to know of.
            self._simulated = threads.start(self._run_simulated, self.name)

    def _run_simulated(self) -> None:
        try:
            self.run()
        except Exception:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self)))

    def join(self, timeout: float | None = None) -> None:
        if self._simulated is not None:
            self._simulated.join()
        else:
            super().join(timeout)

    def _run_target(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(*args, **kwargs)


class VersionUtils:
    """What programs ask of a version's text."""

    @staticmethod
    def majorMinorVersion(sparkVersion: str) -> tuple[int, int]:
        """The first two numbers of a version.

        >>> VersionUtils.majorMinorVersion("4.3.0-SNAPSHOT")
        (4, 3)
        """
        found = re.match(r"(\d+)\.(\d+)(\.|$)", sparkVersion)
        if found is None:
            raise ValueError(f"{sparkVersion!r} is no version, such as 4.3.0")
        return int(found[1]), int(found[2])

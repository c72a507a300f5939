"""The scheduler's own checks, made where nothing changes under them."""

from __future__ import annotations

from typing import Any


def check_scheduler(engine: Any) -> None:
    """In the driver's thread, between two events: another would look in the middle of one."""
    found: list[AssertionError | None] = []

    def check(now_s: float, event: Any, commands: list[Any]) -> None:
        try:
            engine.scheduler.check()
            found.append(None)
        except AssertionError as problem:
            found.append(problem)

    engine.story.listeners.append(check)
    engine.memory()
    engine.story.listeners.remove(check)
    assert found and not any(found), found

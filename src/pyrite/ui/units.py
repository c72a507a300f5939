"""Times and durations as Spark's REST API writes them."""

from __future__ import annotations

import time

from pyrite.story.model import RunModel


def ms(seconds: float) -> int:
    """Milliseconds.

    >>> ms(1.2345)
    1234
    """
    return round(seconds * 1000)


def date_text(run: RunModel, at_s: float | None) -> str | None:
    """A moment of the engine's clock as a date.

    >>> date_text(RunModel(), 1.5)
    '1970-01-01T00:00:01.500GMT'
    """
    if at_s is None:
        return None
    whole_ms = ms(run.wall_s(at_s))
    date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole_ms // 1000))
    return f"{date}.{whole_ms % 1000:03d}GMT"


def since_start_s(run: RunModel, at_s: float | None) -> float | None:
    """Seconds since the application began, as the page's time axes have them."""
    return None if at_s is None else round(at_s - (run.first_s or 0.0), 6)

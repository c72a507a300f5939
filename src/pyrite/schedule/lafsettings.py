"""How tasks go by the keys of their input, as the settings say."""

from __future__ import annotations

from math import inf

from pyrite.schedule.rules import LafRule
from pyrite.settings import Settings

# How long delay scheduling waits for a range's own node (EclipseMR, II-F).
DELAY_S = 5.0


def read_laf(settings: Settings) -> LafRule | None:
    """How tasks go by the keys of their input; None if they do not."""
    way = settings.str("pyrite.laf").upper()
    alpha = settings.float("pyrite.laf.alpha")
    if not 0 <= alpha <= 1:
        settings.refuse("pyrite.laf.alpha", "expected a number from 0 to 1")
    if way == "FALSE":
        return None
    migrates = settings.bool("pyrite.laf.migrate")
    if way == "DELAY":
        return LafRule(0.0, DELAY_S, migrates)
    wait_s = 0.0
    if settings.bool("pyrite.laf.strict"):
        # An excluded executor never takes its tasks.
        is_bounded = settings.bool("spark.excludeOnFailure.enabled")
        wait_s = settings.seconds("spark.locality.wait") if is_bounded else inf
    return LafRule(alpha, wait_s, migrates)

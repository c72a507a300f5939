"""How a notebook shows a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.notebook import table
from pyrite.version import __version__

if TYPE_CHECKING:
    from pyrite.context import SparkContext


def context_table(sc: SparkContext) -> str:
    """Where it runs, what runs, and where its story is."""
    active = [job for job in sc._progress.jobs() if job.ended_s is None]
    return table(
        f"Pyrite {__version__}",
        [
            ("master", sc.master),
            ("application", f"{sc.appName} ({sc.applicationId})"),
            ("executors", sc._executors),
            ("running jobs", ", ".join(f"{job.id} ({job.action})" for job in active) or "none"),
            ("story", sc._chronicle.path),
            ("page", sc.uiWebUrl),
            ("ended", sc._ending()),
        ],
    )

"""An application and its environment as Spark's REST API has them."""

from __future__ import annotations

import os
from typing import Any

from pyrite.story.model import RunModel
from pyrite.ui.units import date_text, ms


def application_info(run: RunModel, id: str, completed: bool) -> dict[str, Any]:
    """The application; `completed` also where its driver was killed."""
    assert run.header is not None
    header = run.header
    first_s = header.clock_s
    end_s = run.last_s if completed else None
    return {
        "id": id,
        "name": header.name,
        "attempts": [
            {
                "startTime": date_text(run, first_s),
                "endTime": date_text(run, end_s),
                "lastUpdated": date_text(run, run.last_s),
                "startTimeEpoch": ms(run.wall_s(first_s)),
                "endTimeEpoch": -1 if end_s is None else ms(run.wall_s(end_s)),
                "lastUpdatedEpoch": ms(run.wall_s(run.last_s)),
                "duration": max(0, ms(run.last_s - first_s)),
                "sparkUser": header.user,
                "completed": completed,
                "appSparkVersion": header.pyrite,
            }
        ],
    }


def environment_info(run: RunModel, path: str) -> dict[str, Any]:
    assert run.header is not None
    header = run.header
    return {
        "runtime": {
            "pythonVersion": header.python,
            "pyriteVersion": header.pyrite,
            "host": header.host,
            "pid": header.pid,
            "user": header.user,
        },
        "sparkProperties": [[name, text] for name, text in sorted(header.settings.items())],
        "hadoopProperties": [],
        "systemProperties": [],
        "classpathEntries": [],
        "pyrite": {
            "application": header.application,
            "master": header.master,
            "script": header.script,
            "story": path,
            "story_bytes": os.path.getsize(path) if os.path.exists(path) else 0,
            "values": header.values,
            "code": header.code,
        },
    }

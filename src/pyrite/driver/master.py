"""Master URLs: where an application runs."""

from __future__ import annotations

import re
from typing import NamedTuple

from pyrite.errors import UserError
from pyrite.settings import usable_cores

LOCAL = re.compile(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*(\d+)\s*)?\])?")


class Master(NamedTuple):
    """A parsed master URL."""

    executors: int
    max_failures: int | None


def parse_master(url: str) -> Master:
    """Reads `local`, `local[4]`, `local[*]`, and `local[4,2]` where a task may fail once."""
    found = LOCAL.fullmatch(url.strip())
    if found is None or found[1] == "0":
        raise UserError(
            f"the master {url!r} is not one that Pyrite knows: "
            "use local, local[4] (four executors), local[*] (one per core), "
            "or local[4,3] (each task may fail twice before its job does)"
        )
    count, failures = found.groups()
    executors = usable_cores() if count == "*" else int(count or 1)
    return Master(executors, None if failures is None else int(failures))

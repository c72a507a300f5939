"""Files of settings as Spark has them: spark-defaults.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator


def read_properties(path: str) -> list[tuple[str, str]]:
    """The settings in a file, in its order; names that are not Spark's or ours are left out."""
    with open(path, encoding="utf-8") as file:
        return list(parse_properties(file.read()))


def parse_properties(text: str) -> Iterator[tuple[str, str]]:
    """The settings in a text of lines with a name and a value.

    >>> list(parse_properties("# where\\nspark.master  local[2]\\nspark.app.name=mine"))
    [('spark.master', 'local[2]'), ('spark.app.name', 'mine')]
    """
    for line in re.sub(r"\\\n[ \t]*", "", text).splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        name, *value = re.split(r"\s*[=:]\s*|\s+", stripped, maxsplit=1)
        if name.startswith(("spark.", "pyrite.")):
            yield name, "".join(value)

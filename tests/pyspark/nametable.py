"""Writes into docs/pyspark.md what became of every public name of PySpark's core.

    python -m tests.pyspark.nametable

PySpark's names are those in names.json. Whether Pyrite has one is looked up; what differs, and why
one is missing, is said here. A name that is neither there nor explained is an error.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.pyspark.recordnames import read_names

from pyrite import alias

PAGE = Path(__file__).parents[2] / "docs" / "pyspark.md"
BEGIN, END = "<!-- names -->\n", "<!-- /names -->\n"

JVM = "it lives in the JVM"

# By module, and class where it is a member: a reason for each.
MISSING = {
    module: {names: "; ".join(reason) for names, reason in missing.items()}
    for module, missing in alias.MISSING_NAMES.items()
} | {
    "pyspark.context.SparkContext": {"PACKAGE_EXTENSIONS": "a detail of addPyFile"},
    "pyspark.profiler.ProfilerCollector": {
        "new_memory_profiler new_udf_profiler": "for functions in Spark SQL"
    },
    "pyspark.rddsampler.*": {
        "getPoissonSample getUniformSample initRandomGenerator": "a detail of func"
    },
    "pyspark.shuffle.ExternalMerger": {"MAX_TOTAL_PARTITIONS": "a detail of items"},
    "pyspark.serializers.*": {"allowed_names": "a part of the processes beside Spark's JVM"},
}
# There, and always refused, by an error that says what to use instead.
REFUSED = {
    "pyspark.context.SparkContext": {
        "hadoopFile hadoopRDD newAPIHadoopFile newAPIHadoopRDD sequenceFile": JVM
    },
    "pyspark.rdd.RDD": {
        "saveAsHadoopDataset saveAsHadoopFile saveAsNewAPIHadoopDataset saveAsNewAPIHadoopFile "
        "saveAsSequenceFile": JVM,
        "withResources": "it needs a cluster that has resources to give; local masters of Spark "
        "refuse it too",
    },
}
# There, and not quite the same: the page tells more above.
DIFFERS = {
    "pyspark": {"__version__": "Pyrite's version"},
    "pyspark.version": {"__version__": "Pyrite's version"},
    "pyspark.context.SparkContext": {
        "uiWebUrl": "None, unless `spark.ui.enabled` is true, which is not the default",
        "setSystemProperty getSystemProperty": "defaults of settings; there are no "
        "properties of a JVM",
        "pickleFile": "Pyrite's own format is read",
        "version": "Pyrite's version",
    },
    "pyspark.rdd.RDD": {
        "cache persist": "live rows are kept, which a task can change in place",
        "countApproxDistinct": "another hash makes the estimate",
        "getResourceProfile": "always None",
        "id": "grows as PySpark's does, but for what sortBy gives and unions of unlike sources",
        "localCheckpoint": "is done by the next job; the next action of a pipeline leaves it out "
        "in PySpark",
        "saveAsPickleFile": "Pyrite's own format is written",
        "toDF": "needs the extra `pyrite[sql]`; [docs/sql.md](sql.md) says what its tables can do",
        "toDebugString": "Pyrite's operators are shown",
    },
    "pyspark.rdd": {"PipelinedRDD": "another name of RDD"},
    "pyspark.errors": {
        "PySparkException": "without SQLSTATE; says only the parameters where it has no message"
    },
    "pyspark.serializers": {
        "Serializer": "no serializer is used for rows; Pyrite chooses how to encode them"
    },
    "pyspark.shuffle": {
        "ExternalMerger ExternalSorter": "no serializer is used; none says how often it spilled",
        "get_used_memory": "without memory that the process shares with others",
    },
    "pyspark.status.StatusTracker": {
        "getExecutorInfos": "an entry for each node; live rows in the cache are not counted"
    },
}


def explained(table: dict[str, dict[str, str]], owner: str, name: str) -> str | None:
    """The reason that a table has for a name of a module or of a class."""
    for key in (owner, re.sub(r"\w+$", "*", owner)):
        for names, reason in table.get(key, {}).items():
            if name in names.split():
                return reason
    return None


def has(owner: Any, name: str) -> bool:
    """Whether a module or a class has a name, be it one that only its objects have."""
    if hasattr(owner, name) or not inspect.isclass(owner):
        return hasattr(owner, name)
    bases = [each for each in owner.__mro__ if each.__module__.startswith("pyrite")]
    made = re.compile(rf"\bself\.{name}\b\s*(:[^=]+)?=")
    return any(made.search(inspect.getsource(each)) for each in bases)


def rows_of(owner: str, found: Any, names: list[str]) -> Iterator[str]:
    """The lines of the table for a module or a class: all that is there in one line."""
    same: list[str] = []
    others: dict[str, list[str]] = {}
    for name in names:
        missing = explained(MISSING, owner, name)
        refused = explained(REFUSED, owner, name)
        differs = explained(DIFFERS, owner, name)
        if has(found, name) == bool(missing):
            state = "there" if missing else "not there, and nothing says why"
            raise AssertionError(f"{owner}.{name} is {state}")
        if missing or refused:
            others.setdefault(f"missing: {missing or refused}", []).append(name)
        elif differs:
            others.setdefault(f"differs: {differs}", []).append(name)
        else:
            same.append(name)
    title = f"**{owner.removeprefix('pyspark.')}**"
    for state, listed in (({"there": same} if same else {}) | others).items():
        yield f"| {title} | {', '.join(f'`{name}`' for name in listed)} | {state} |"
        title = ""


def module_rows(module: str, names: dict[str, list[str]]) -> Iterator[str]:
    target = alias.MIRRORED.get(module)
    if target is None:
        what, cure = alias.MISSING[module]
        yield f"| **{module.removeprefix('pyspark.')}** | all | missing: {what}; {cure} |"
        return
    found = importlib.import_module(target)
    yield from rows_of(module, found, list(names))
    if module == "pyspark":
        # Its classes are told of where they are defined.
        return
    for name, members in names.items():
        if members and hasattr(found, name) and not name.endswith(("Exception", "Error")):
            yield from rows_of(f"{module}.{name}", getattr(found, name), members)


def table() -> str:
    """The table, as it should stand on the page."""
    rows = [row for module, names in read_names().items() for row in module_rows(module, names)]
    return "\n".join(["| of pyspark | names | here |", "|---|---|---|", *rows]) + "\n"


def with_table(page: str) -> str:
    """The page with the table in its place."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)

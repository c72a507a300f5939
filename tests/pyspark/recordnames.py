"""Records the public names of PySpark's core, into names.json beside this file.

Run it from the root of the project with a Python that has PySpark 4:

    python -m tests.pyspark.recordnames

Names only: modules, what they define, and the public members of their classes.
"""

import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

NAMES = Path(__file__).with_name("names.json")
# Not the core: tables, learning, streams, and what only Spark's own build and tests use.
OTHERS = {
    *("ml", "mllib", "pandas", "pipelines", "sql", "streaming", "testing"),
    *("errors_doc_gen", "examples", "instrumentation_utils", "memory_profiler_ext", "messages"),
    *("python", "threaddump", "worker_message", "worker_util"),
}
# Importing it opens a prompt's context.
UNOPENED = {"shell"}


def read_names() -> dict[str, dict[str, list[str]]]:
    """By module, the names that it has and the members of those that are classes."""
    return dict(json.loads(NAMES.read_text(encoding="utf-8"))["modules"])


def names_of(module: Any) -> dict[str, list[str]]:
    """What a module lists in __all__, and what it defines."""
    listed = getattr(module, "__all__", ["__version__"])
    homes = (module.__name__, module.__name__.replace("pyspark.", "pyspark.core."))
    found = {
        name: value
        for name, value in vars(module).items()
        if name in listed or getattr(value, "__module__", None) in homes
    }
    return {
        name: members(value, found) if inspect.isclass(value) else []
        for name, value in sorted(found.items())
        if not isinstance(value, TypeVar) and (name in listed or not name.startswith("_"))
    }


def members(kind: type, told: Mapping[str, Any]) -> list[str]:
    """The public members that a class and its bases define; not those of bases told of too."""
    bases = [each for each in kind.__mro__ if each.__module__.startswith("pyspark")]
    others = [each for each in bases if each is kind or each not in told.values()]
    return sorted({name for each in others for name in vars(each) if not name.startswith("_")})


def main() -> int:
    package = importlib.import_module("pyspark")
    # These are modules of pyspark.core, under the names that programs know.
    names = {"broadcast", "context", "files", "rdd", "status"}
    names |= {each.name for each in pkgutil.iter_modules(package.__path__)}
    public = sorted(each for each in names - OTHERS if not each.startswith("_") and each != "core")
    modules: dict[str, dict[str, list[str]]] = {"pyspark": names_of(package)}
    for name in public:
        whole = f"pyspark.{name}"
        modules[whole] = {} if name in UNOPENED else names_of(importlib.import_module(whole))
    recorded = {"pyspark": package.__version__, "modules": modules}
    NAMES.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"recorded {sum(map(len, modules.values()))} names of {len(modules)} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main())

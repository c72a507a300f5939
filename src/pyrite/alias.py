"""The name pyspark for Pyrite's own modules, so that PySpark's programs run unchanged."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from pyrite.errors import NotSupported

# Executors read it when they start, so that what the driver may import, tasks may too.
ENVIRONMENT = "PYRITE_AS_PYSPARK"
# Holds packages pyspark and py4j, for Python processes that do not install the alias.
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pysparkpath")

MIRRORED = {
    "py4j": "pyrite.py4j",
    "py4j.protocol": "pyrite.py4j",
    "pyspark": "pyrite",
    "pyspark.accumulators": "pyrite.accumulators",
    "pyspark.broadcast": "pyrite.broadcast",
    "pyspark.cloudpickle": "cloudpickle",
    "pyspark.conf": "pyrite.conf",
    "pyspark.context": "pyrite.context",
    "pyspark.core": "pyrite",
    "pyspark.core.broadcast": "pyrite.broadcast",
    "pyspark.core.context": "pyrite.context",
    "pyspark.core.files": "pyrite.sparkfiles",
    "pyspark.core.rdd": "pyrite.rdd",
    "pyspark.core.status": "pyrite.status",
    "pyspark.errors": "pyrite.errors",
    "pyspark.errors.exceptions": "pyrite.errors",
    "pyspark.errors.exceptions.base": "pyrite.errors",
    "pyspark.files": "pyrite.sparkfiles",
    "pyspark.join": "pyrite.join",
    "pyspark.profiler": "pyrite.profiler",
    "pyspark.rdd": "pyrite.rdd",
    "pyspark.rddsampler": "pyrite.rddsampler",
    "pyspark.resource": "pyrite.resource",
    "pyspark.resource.information": "pyrite.resource",
    "pyspark.resource.profile": "pyrite.resource",
    "pyspark.resource.requests": "pyrite.resource",
    "pyspark.resultiterable": "pyrite.resultiterable",
    "pyspark.serializers": "pyrite.serializers",
    "pyspark.shuffle": "pyrite.shuffle",
    "pyspark.sql": "pyrite.sql",
    "pyspark.sql.catalog": "pyrite.sql.catalog",
    "pyspark.sql.column": "pyrite.sql.column",
    "pyspark.sql.context": "pyrite.sql.context",
    "pyspark.sql.dataframe": "pyrite.sql.dataframe",
    "pyspark.sql.functions": "pyrite.sql.functions",
    "pyspark.sql.group": "pyrite.sql.group",
    "pyspark.sql.readwriter": "pyrite.sql.readwriter",
    "pyspark.sql.session": "pyrite.sql.session",
    "pyspark.sql.types": "pyrite.sql.types",
    "pyspark.sql.udf": "pyrite.sql.udf",
    "pyspark.sql.utils": "pyrite.errors",
    "pyspark.sql.window": "pyrite.sql.window",
    "pyspark.statcounter": "pyrite.statcounter",
    "pyspark.status": "pyrite.status",
    "pyspark.storagelevel": "pyrite.storagelevel",
    "pyspark.taskcontext": "pyrite.taskcontext",
    "pyspark.util": "pyrite.util",
    "pyspark.version": "pyrite.version",
}

_DATAFRAMES = "use RDDs, or collect() into pandas, Polars or DuckDB"
_NO_WORKERS = "what tasks have in common belongs in a module that they import"
MISSING = {
    "py4j": ("Spark's bridge to the JVM", "use what the RDD API offers"),
    "pyspark.ml": ("MLlib", "use numpy or scikit-learn inside mapPartitions"),
    "pyspark.mllib": ("MLlib", "use numpy or scikit-learn inside mapPartitions"),
    "pyspark.pandas": ("the pandas API on Spark", "use pandas itself inside mapPartitions"),
    "pyspark.pipelines": ("Spark's declarative pipelines", "write the steps as RDDs"),
    "pyspark.sql": ("Spark SQL", _DATAFRAMES),
    "pyspark.streaming": ("Spark Streaming", "run a job over each new batch of files"),
    "pyspark.daemon": ("the process that forks Spark's Python workers", _NO_WORKERS),
    "pyspark.errors": ("how Spark words its errors", "catch the classes of pyspark.errors"),
    "pyspark.find_spark_home": ("what looks for a Spark that is installed", "Pyrite needs none"),
    "pyspark.install": ("what downloads Spark", "Pyrite needs none"),
    "pyspark.java_gateway": ("Spark's bridge to the JVM", "use what the RDD API offers"),
    "pyspark.logger": ("Spark's logger of JSON lines", "use Python's logging"),
    "pyspark.loose_version": ("how Spark compares versions", "use packaging.version"),
    "pyspark.shell": ("the prompt of PySpark", "run `pyrite shell`"),
    "pyspark.testing": ("the test helpers of Spark SQL", "compare what collect() gives"),
    "pyspark.traceback_utils": ("how Spark names lines of programs", "use traceback"),
    "pyspark.worker": ("the program of Spark's Python workers", _NO_WORKERS),
}
_WORKERS = "a part of the processes beside Spark's JVM"
_CONNECT = "for Spark Connect", "there is no server to connect to: leave it out"
# Names of modules that are there: what they are, and what to use instead.
MISSING_NAMES = {
    "pyspark": {
        "since": ("for Spark's own docstrings", "leave it out"),
        "keyword_only": ("for Spark's own classes", "write * into the signature"),
    },
    "pyspark.accumulators": {
        "AccumulatorTCPServer AccumulatorUnixServer SpecialAccumulatorIds UpdateRequestHandler": (
            _WORKERS,
            "use sc.accumulator",
        )
    },
    "pyspark.broadcast": {"BroadcastPickleRegistry": (_WORKERS, "use sc.broadcast")},
    "pyspark.profiler": {
        "MemUsageParam MemoryProfiler UDFBasicProfiler": (
            "for functions in Spark SQL",
            "use BasicProfiler, or a Profiler of your own",
        )
    },
    "pyspark.serializers": {
        "CartesianDeserializer ChunkedStream FlattenedValuesSerializer PairDeserializer "
        "SpecialLengths pack_long read_bool read_int read_long write_int write_long "
        "write_with_length": (_WORKERS, "use pickle and struct")
    },
    "pyspark.shuffle": {
        "ExternalGroupBy ExternalList ExternalListOfList GroupByKey": (
            "how Spark's Python workers group rows",
            "use groupByKey, which spills by itself",
        )
    },
    "pyspark.util": {
        "PythonEvalType disable_gc handle_worker_exception local_connect_and_auth": (
            _WORKERS,
            _NO_WORKERS,
        ),
        "enable_faulthandler start_faulthandler_periodic_traceback with_faulthandler": (
            _WORKERS,
            "use faulthandler",
        ),
        "print_exec try_simplify_traceback walk_tb": (_WORKERS, "use traceback"),
        "default_api_mode is_remote_only spark_connect_mode": _CONNECT,
    },
}


class MissingName(NotSupported, ImportError):
    """A name of a module of PySpark's that Pyrite's module does not have."""

    def __init__(self, module: str, name: str, what: str, cure: str) -> None:
        super().__init__(f"{module}.{name} is {what}, which Pyrite does not have: {cure}")
        self.name = module


class NoSuchModule(NotSupported, ModuleNotFoundError):
    """A module of PySpark's that Pyrite does not have."""

    def __init__(self, name: str) -> None:
        self.what, cure = _part_of(name)
        super().__init__(f"{name} is {self.what}, which Pyrite does not have: {cure}")
        self.name = name


def install() -> None:
    """From now on ``import pyspark`` gives Pyrite, here and in processes started later.

    A pyspark that is really installed is hidden, unless it has been imported already.

    >>> from pyrite import alias, rdd
    >>> alias.install()
    >>> import pyspark.rdd
    >>> pyspark.rdd is rdd
    True
    >>> alias.uninstall()
    """
    os.environ[ENVIRONMENT] = "1"
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _forget_folder()
    # What was there stays, an empty part too: that is the current folder.
    found = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{FOLDER}{os.pathsep}{found}" if found else FOLDER
    # Where PYTHONPATH would have put it. Children of multiprocessing get this list.
    sys.path.insert(0 if sys.flags.safe_path else 1, FOLDER)


def install_if_wanted() -> None:
    """Installs the alias in a process whose parent has it."""
    if os.environ.get(ENVIRONMENT):
        install()


def uninstall() -> None:
    """Takes `install` back: names imported under the alias are forgotten."""
    os.environ.pop(ENVIRONMENT, None)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    _forget_folder()
    for name, target in MIRRORED.items():
        module = sys.modules.get(name)
        if module is not None and module is sys.modules.get(target):
            del sys.modules[name]


def _forget_folder() -> None:
    sys.path[:] = [each for each in sys.path if each != FOLDER]
    paths = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if left := os.pathsep.join(each for each in paths if each != FOLDER):
        os.environ["PYTHONPATH"] = left


class _Finder(MetaPathFinder):
    """Finds pyspark's modules among Pyrite's, and says which of them there can't be."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # `from pyspark import ml` asks for pyrite.ml, since pyspark is pyrite.
        asked = re.sub(r"^pyrite\b", "pyspark", fullname)
        found = MIRRORED.get(asked)
        if found is not None and found != fullname:
            return ModuleSpec(fullname, _Loader(found), is_package=True)
        # `from pyspark.util import walk_tb` asks for a module, once there is no such name.
        if missing := _missing_name(*asked.rpartition(".")[::2]):
            raise missing
        is_theirs = fullname.startswith(("pyspark.", "py4j."))
        if is_theirs or (found is None and asked in MISSING and not is_ours(fullname, path)):
            raise NoSuchModule(asked)
        return None


class _Loader(Loader):
    """Gives the module itself, not a copy, so that classes and pickles are the same."""

    def __init__(self, target: str) -> None:
        self.target = target

    def exec_module(self, module: ModuleType) -> None:
        # The import system takes whatever stands in sys.modules afterwards.
        found = sys.modules[module.__name__] = importlib.import_module(self.target)
        if not hasattr(found, "__path__"):
            # Python asks for modules beneath it, as in py4j.protocol, only if it has a path.
            found.__path__ = []
        if module.__name__ == "pyspark":
            # As with PySpark, `import pyspark` is enough for pyspark.sql.SparkSession.
            importlib.import_module("pyspark.sql")


def is_ours(name: str, path: Sequence[str] | None) -> bool:
    """Whether Pyrite has a module of this name, whatever PySpark means by it."""
    return PathFinder.find_spec(name, path) is not None


def _missing_name(module: str, name: str) -> MissingName | None:
    for names, (what, cure) in MISSING_NAMES.get(module, {}).items():
        if name in names.split():
            return MissingName(module, name, what, cure)
    return None


def _part_of(name: str) -> tuple[str, str]:
    parent = name
    while parent != "pyspark":
        if parent in MISSING:
            return MISSING[parent]
        parent = parent.rpartition(".")[0]
    modules = [
        each.removeprefix("pyspark.") for each in MIRRORED if re.fullmatch(r"pyspark\.\w+", each)
    ]
    return "a part of PySpark", f"of pyspark's modules it has {', '.join(modules)}"

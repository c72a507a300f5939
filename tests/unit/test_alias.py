"""The name pyspark: the same modules as pyrite's, and clear words about those that are missing."""

import doctest
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyrite
from pyrite import alias
from pyrite.errors import NotSupported


@pytest.fixture
def pyspark_is_pyrite() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


def test_every_mirrored_module_is_the_very_same(pyspark_is_pyrite: None) -> None:
    for name, target in alias.MIRRORED.items():
        assert importlib.import_module(name) is importlib.import_module(target), name


def test_modules_keep_their_own_names(pyspark_is_pyrite: None) -> None:
    importlib.import_module("pyspark.rdd")
    assert pyrite.rdd.__spec__ is not None
    assert (pyrite.rdd.__name__, pyrite.rdd.__spec__.name) == ("pyrite.rdd", "pyrite.rdd")
    assert pyrite.__spec__ is not None and pyrite.__spec__.name == "pyrite"


def test_names_come_from_the_package_and_from_its_modules(pyspark_is_pyrite: None) -> None:
    names: dict[str, object] = {}
    exec(
        "from pyspark import SparkContext, cloudpickle, sql\n"
        "from pyspark.core.rdd import RDD\n"
        "from pyspark.sql import Row\n"
        "import pyspark.storagelevel as levels",
        names,
    )
    assert names["SparkContext"] is pyrite.SparkContext
    assert names["RDD"] is pyrite.RDD
    assert names["levels"] is pyrite.storagelevel
    assert names["cloudpickle"] is importlib.import_module("cloudpickle")


def test_importing_pyspark_is_enough_for_its_sql(pyspark_is_pyrite: None) -> None:
    names: dict[str, object] = {}
    exec("import pyspark\nsession = pyspark.sql.SparkSession", names)
    assert names["session"] is importlib.import_module("pyrite.sql").SparkSession


def test_pickles_name_pyrite(pyspark_is_pyrite: None) -> None:
    level = importlib.import_module("pyspark").StorageLevel.MEMORY_ONLY
    assert b"pyspark" not in pickle.dumps(level)


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("import pyspark.ml", "pyspark.ml is MLlib"),
        ("from pyspark.ml.feature import Tokenizer", "MLlib"),
        ("from pyspark.mllib.linalg import Vectors", "scikit-learn"),
        ("from pyspark import pandas as ps", "the pandas API on Spark"),
        ("from pyspark.streaming import StreamingContext", "Spark Streaming"),
        ("import pyspark.sql.streaming", "pyspark.sql.streaming is Spark SQL"),
        ("from pyspark.sql.avro.functions import from_avro", "Spark SQL"),
        ("from pyspark.errors.exceptions.captured import X", "classes of pyspark.errors"),
        ("import pyspark.errors.error_classes", "classes of pyspark.errors"),
        ("from pyspark.traceback_utils import SCCallSiteSync", "use traceback"),
        ("import pyspark.worker", "Spark's Python workers"),
        ("import pyspark.no_such_thing", "of pyspark's modules it has accumulators, "),
    ],
)
def test_a_missing_module_says_what_it_is_and_what_to_use(
    pyspark_is_pyrite: None, statement: str, part: str
) -> None:
    with pytest.raises(ModuleNotFoundError, match="which Pyrite does not have") as caught:
        exec(statement, {})
    assert part in str(caught.value)
    assert isinstance(caught.value, NotSupported)
    assert caught.value.name is not None and caught.value.name.startswith("pyspark.")


MISSING_NAMES = [
    (module, name)
    for module, missing in alias.MISSING_NAMES.items()
    for names in missing
    for name in names.split()
]


@pytest.mark.parametrize(("module", "name"), MISSING_NAMES)
def test_a_missing_name_says_what_it_is_and_what_to_use(
    pyspark_is_pyrite: None, module: str, name: str
) -> None:
    with pytest.raises(ImportError, match=f"{module}.{name} is .*which Pyrite does not have: "):
        exec(f"from {module} import {name}", {})


def test_a_name_that_pyspark_lacks_too_is_an_ordinary_error(pyspark_is_pyrite: None) -> None:
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec("from pyspark.util import no_such_name", {})


def test_installing_twice_changes_nothing(pyspark_is_pyrite: None) -> None:
    before = list(sys.meta_path)
    alias.install()
    assert sys.meta_path == before


def test_uninstalling_forgets_the_names() -> None:
    alias.install()
    importlib.import_module("pyspark.rdd")
    alias.uninstall()
    assert not [name for name in sys.modules if name.partition(".")[0] == "pyspark"]
    assert alias.ENVIRONMENT not in os.environ


def test_a_process_takes_the_alias_from_its_parent_only(monkeypatch: pytest.MonkeyPatch) -> None:
    alias.install_if_wanted()
    assert not any(type(finder).__module__ == alias.__name__ for finder in sys.meta_path)
    monkeypatch.setenv(alias.ENVIRONMENT, "1")
    alias.install_if_wanted()
    try:
        assert importlib.import_module("pyspark") is pyrite
    finally:
        alias.uninstall()


def test_tasks_and_the_modules_they_import_find_pyspark(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "from pyspark.taskcontext import TaskContext\n"
        "def where(): return TaskContext.get().partitionId()\n"
    )
    program = tmp_path / "program.py"
    program.write_text(
        "from pyrite import alias, SparkContext\n"
        "alias.install()\n"
        "def task(_):\n"
        "    import helper, pyspark.rdd\n"
        "    return helper.where(), pyspark.rdd.__name__\n"
        "with SparkContext('local[2]') as sc:\n"
        "    print(sc.parallelize([0, 0], 2).map(task).collect())\n"
    )
    source = str(Path(pyrite.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[(0, 'pyrite.rdd'), (1, 'pyrite.rdd')]\n", "")


def test_the_examples_in_docstrings() -> None:
    from pyrite import serializers

    assert doctest.testmod(alias).failed == 0
    assert doctest.testmod(serializers).failed == 0


def test_serializers_by_pysparks_names() -> None:
    from pyrite.serializers import (
        CloudPickleSerializer,
        CPickleSerializer,
        MarshalSerializer,
        PickleSerializer,
    )

    for serializer in (CPickleSerializer(), MarshalSerializer(), CloudPickleSerializer()):
        assert serializer.loads(serializer.dumps([1, "a"])) == [1, "a"]
    assert PickleSerializer is CPickleSerializer
    assert CPickleSerializer() == CPickleSerializer() != MarshalSerializer()
    double = CloudPickleSerializer().loads(CloudPickleSerializer().dumps(lambda x: 2 * x))
    assert double(2) == 4

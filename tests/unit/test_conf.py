import pytest

from pyrite.conf import SparkConf


@pytest.fixture
def conf(monkeypatch):
    monkeypatch.delenv("PYRITE_CONF", raising=False)
    return SparkConf()


def test_values_become_text(conf):
    conf.set("a", 1).set("b", True).set("c", None)
    assert conf.getAll() == [("a", "1"), ("b", "True"), ("c", "None")]


def test_get_gives_the_default_only_where_nothing_is_set(conf):
    conf.set("a", 1)
    assert (conf.get("a"), conf.get("a", "d"), conf.get("z"), conf.get("z", "d")) == (
        "1",
        "1",
        None,
        "d",
    )
    assert (conf.contains("a"), conf.contains("z")) == (True, False)


def test_set_if_missing_keeps_what_is_there(conf):
    assert conf.set("a", 1).setIfMissing("a", 9).setIfMissing("b", 2).getAll() == [
        ("a", "1"),
        ("b", "2"),
    ]


def test_the_named_setters(conf):
    conf.setMaster("local[2]").setAppName("n").setSparkHome("/h").setAll([("x", 1)])
    assert conf.toDebugString() == "spark.master=local[2]\nspark.app.name=n\nspark.home=/h\nx=1"


def test_executor_environment(conf):
    conf.setExecutorEnv("A", "1").setExecutorEnv(pairs=[("B", "2"), ("C", "3")])
    assert conf.getAll() == [
        ("spark.executorEnv.A", "1"),
        ("spark.executorEnv.B", "2"),
        ("spark.executorEnv.C", "3"),
    ]


@pytest.mark.parametrize("arguments", [{}, {"key": "k", "value": "v", "pairs": [("a", "b")]}])
def test_executor_environment_wants_one_form(conf, arguments):
    with pytest.raises(RuntimeError, match="Key-value pair or a list of pairs is required"):
        conf.setExecutorEnv(**arguments)


def test_defaults_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PYRITE_CONF", "spark.master=local-cluster[1,2,3],spark.files=a,b, x=y=z,")
    assert SparkConf().getAll() == [
        ("spark.master", "local-cluster[1,2,3]"),
        ("spark.files", "a,b"),
        ("x", "y=z"),
    ]
    assert SparkConf(loadDefaults=False).getAll() == []


def test_an_environment_without_names_is_refused(monkeypatch):
    monkeypatch.setenv("PYRITE_CONF", "local[2]")
    with pytest.raises(ValueError, match=r"'local\[2\]'.*write it as"):
        SparkConf()

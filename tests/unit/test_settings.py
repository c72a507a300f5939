import re
from pathlib import Path

import pytest

import pyrite
from pyrite.conf import EXECUTOR_ENV, SparkConf
from pyrite.settings import (
    BY_NAME,
    LOCAL_PROPERTIES,
    TABLE,
    BadSetting,
    Machine,
    Settings,
    parse_bytes,
    parse_seconds,
)
from pyrite.submitoptions import IGNORED, OPTIONS


def settings(**values):
    conf = SparkConf(loadDefaults=False)
    conf.setAll((name.replace("_", "."), value) for name, value in values.items())
    return Settings(conf, Machine(memory_bytes=8 << 30, executors=4))


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)
def test_every_setting_is_documented_and_its_default_can_be_read(setting):
    assert setting.meaning.endswith(".")
    assert re.fullmatch(r"(spark|pyrite)(\.\w+)+", setting.name)
    getattr(settings(), setting.kind)(setting.name)


def test_names_are_unique():
    assert len(BY_NAME) == len(TABLE)


def test_every_setting_named_in_the_code_is_in_the_table():
    ours = "pool|cache|inline|cancel|network|shuffle"
    named = re.compile(rf"""["'](spark(?:\.\w+)+|pyrite\.(?:{ours})\.\w+)["']""")
    unused = {option.setting for option in OPTIONS if option.meaning == IGNORED}
    for path in Path(pyrite.__file__).parent.rglob("*.py"):
        for name in named.findall(path.read_text()):
            # A session is called spark by its programs: spark.read is its attribute.
            is_known = is_documented(name) or name in unused or name == "spark.read"
            assert is_known, f"{path.name} uses {name}"


def is_documented(name):
    begins_others = any(other.startswith(f"{name}.") for other in BY_NAME)
    return begins_others or name in BY_NAME or name in LOCAL_PROPERTIES or EXECUTOR_ENV in name


def test_the_defaults_of_spark():
    default = settings()
    assert default.seconds("spark.locality.wait") == 3.0
    assert default.seconds("spark.speculation.interval") == 0.1
    assert default.float("spark.speculation.multiplier") == 3.0
    assert default.float("spark.speculation.quantile") == 0.9
    assert default.int("spark.task.maxFailures") == 4
    assert default.bytes("spark.driver.maxResultSize") == 1 << 30
    assert default.bool("spark.speculation") is False
    assert default.str("spark.scheduler.mode") == "FIFO"


def test_defaults_from_the_machine():
    default = settings()
    assert default.bytes("spark.executor.memory") == 1 << 30
    assert default.bytes("pyrite.pool.memory") == 2 << 30
    assert default.int("spark.default.parallelism") == 4


def test_this_machine_has_memory_and_executors():
    here = Machine.here()
    assert here.memory_bytes > 0
    assert here.executors >= 1
    assert Machine.here(executors=7).executors == 7


def test_a_special_wait_inherits_the_general_one():
    given = settings(spark_locality_wait="7s")
    assert given.seconds("spark.locality.wait.process") == 7.0
    both = settings(spark_locality_wait="7s", spark_locality_wait_process="1s")
    assert both.seconds("spark.locality.wait.process") == 1.0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512m", 512 << 20),
        ("2G", 2 << 30),
        ("64k", 65536),
        ("1.5kb", 1536),
        ("3 MiB", 3 << 20),
        ("100b", 100),
        ("100", 100),
        ("1t", 1 << 40),
        ("0", 0),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


def test_a_bare_executor_memory_is_in_mebibytes_as_in_spark():
    assert settings(spark_executor_memory="512").bytes("spark.executor.memory") == 512 << 20


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3s", 3.0),
        ("100ms", 0.1),
        ("2m", 120.0),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1d", 86400.0),
        ("1.5 s", 1.5),
        ("250us", 0.00025),
        ("500", 0.5),
        ("0", 0.0),
    ],
)
def test_durations(text, seconds):
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "m", "5x", "-1m", "1ib", "1 2"])
def test_bad_sizes_and_durations(text):
    with pytest.raises(ValueError, match="write it as 512m"):
        parse_bytes(text)
    with pytest.raises(ValueError, match="write it as 100ms"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("spark.speculation", "yes", "true or false"),
        ("spark.task.maxFailures", "four", "a whole number, such as 4"),
        ("spark.speculation.quantile", "", "a number, such as 0.5"),
        ("spark.executor.memory", "lots", "a size, such as 512m or 2g"),
        ("spark.locality.wait", "soon", "a duration, such as 100ms, 3s or 5min"),
        ("spark.scheduler.mode", "fare", "one of FIFO, FAIR"),
    ],
)
def test_a_wrong_value_names_the_setting_and_an_example(name, value, expected):
    bad = Settings(SparkConf(loadDefaults=False).set(name, value))
    with pytest.raises(BadSetting) as error:
        bad.check()
    assert str(error.value) == f"{name}={value!r}: expected {expected}"


def test_choices_are_read_in_any_case():
    assert settings(spark_scheduler_mode="fair").str("spark.scheduler.mode") == "FAIR"


def test_an_unknown_name_of_ours_suggests_the_nearest():
    unknown = Settings(SparkConf(loadDefaults=False).set("pyrite.pool.memroy", "1g"))
    with pytest.raises(BadSetting, match=r"did you mean pyrite\.pool\.memory\?"):
        unknown.check()


def test_an_unknown_name_of_sparks_is_let_pass():
    Settings(SparkConf(loadDefaults=False).set("spark.sql.shuffle.partitions", "8")).check()


def test_the_environment_of_executors():
    conf = SparkConf(loadDefaults=False).setExecutorEnv("LANG", "C")
    assert Settings(conf).executor_env() == {"LANG": "C"}

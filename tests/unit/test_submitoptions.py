"""Settings come from spark-submit's options and from Spark's files, in Spark's order."""

from pathlib import Path

import pytest

from pyrite import SparkConf
from pyrite.properties import parse_properties
from pyrite.submitoptions import OPTIONS, BadOption, settings_of

# What Spark reads of these lines is what is expected.
DEFAULTS = """\
# where
spark.mine.a   from the file
spark.mine.b=equal to
spark.mine.c: colon
not.spark x
spark.mine.d
spark.mine.e  one \\
   two
! another comment
"""


def test_lines_of_a_file_are_read_as_spark_reads_them() -> None:
    assert dict(parse_properties(DEFAULTS)) == {
        "spark.mine.a": "from the file",
        "spark.mine.b": "equal to",
        "spark.mine.c": "colon",
        "spark.mine.d": "",
        "spark.mine.e": "one two",
    }


def test_options_of_a_text() -> None:
    text = (
        "--master=local[2] -v --conf 'spark.mine.a=x y' --driver-memory 2g pyspark-shell --name x"
    )
    assert settings_of(text) == [
        ("spark.master", "local[2]"),
        ("spark.mine.a", "x y"),
        ("spark.driver.memory", "2g"),
    ]


def test_a_class_gives_the_name_that_nothing_else_gives(tmp_path: Path) -> None:
    (tmp_path / "mine.conf").write_text("spark.app.name file\n")
    for others, name in [
        ("", "Main"),
        ("--name x", "x"),
        (f"--properties-file {tmp_path}/mine.conf", "file"),
    ]:
        for text in (
            f"--class Main {others} pyspark-shell",
            f"{others} --class=Main pyspark-shell",
        ):
            assert dict(settings_of(text)) == {"spark.app.name": name}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda each: each.name)
def test_every_option_gives_its_setting(option: tuple[str, str, str, str]) -> None:
    name, setting, *_ = option
    assert settings_of(f"{name} client pyspark-shell") == [(setting, "client")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--mastr local", "there is no option --mastr; did you mean --master?"),
        ("--master", "--master needs a value"),
        ("--conf spark.mine", "--conf spark.mine: write it as NAME=VALUE"),
        ("--class", "--class needs a value"),
        ("--deploy-mode cluster", "the driver runs here"),
        ("--properties-file /no/such/file", "No such file"),
        ("--name 'open", "No closing quotation"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", text)
    with pytest.raises(ValueError, match=r"PYSPARK_SUBMIT_ARGS: .*") as caught:
        SparkConf()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_options_are_value_errors() -> None:
    with pytest.raises(BadOption):
        settings_of("--kill driver-1")


def test_files_give_way_to_options_and_these_to_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.mine.a file\nspark.mine.b file\nspark.mine.c file\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "-c spark.mine.b=args -c spark.mine.c=args x")
    monkeypatch.setenv("PYRITE_CONF", "spark.mine.c=list")
    conf = SparkConf()
    assert [conf.get(f"spark.mine.{name}") for name in "abc"] == ["file", "args", "list"]
    assert SparkConf(loadDefaults=False).getAll() == []


def test_a_folder_without_the_file_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not SparkConf().contains("spark.mine.a")

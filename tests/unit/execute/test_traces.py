"""An exception as the user reads it: every frame of theirs, of causes and groups too."""

import pickle
import traceback

import pytest

from pyrite.execute.traces import pickle_error, summary, user_places, user_traceback
from pyrite.execute.unquoted import unquoted
from pyrite.rdd.functions import call_each


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def caught(function) -> BaseException:
    """What the function raises, through a frame of the engine's."""
    try:
        call_each(function, 0, iter([1]))
    except BaseException as error:
        assert error.__traceback__ is not None
        return error.with_traceback(error.__traceback__.tb_next)
    raise AssertionError("nothing was raised")


def missing(key):
    raise KeyError(key)


def raise_group(_):
    errors = []
    for key in ("first", "second"):
        try:
            missing(key)
        except KeyError as error:
            errors.append(error)
    raise ExceptionGroup("several", [*errors, ExceptionGroup("nested", [ValueError("deep")])])


def raise_chained(_):
    try:
        missing("inner")
    except KeyError as error:
        raise RuntimeError("outer") from error


def raise_in_handler(_):
    try:
        missing("inner")
    except KeyError:
        raise_group(1)


def raise_noted(_):
    error = ValueError("bad")
    error.add_note("row 7 of the file")
    raise error


def raise_syntax_error(_):
    exec("a = = 1")


def raise_unprintable(_):
    raise Unprintable


def raise_itself_as_cause(_):
    error = ValueError("loop")
    error.__cause__ = error
    raise error


def test_a_group_shows_its_frames_and_all_of_its_exceptions():
    text = user_traceback(caught(raise_group))
    for part in ("in raise_group", "in missing", "KeyError: 'first'", "KeyError: 'second'", "deep"):
        assert part in text
    assert "functions.py" not in text


def test_frames_of_the_engine_are_hidden_inside_of_groups_too():
    inner = caught(missing)

    def raise_outer(_):
        raise ExceptionGroup("outer", [ExceptionGroup("nested", [inner])])

    text = user_traceback(caught(raise_outer))
    assert "in missing" in text and "functions.py" not in text


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        (raise_chained, ["KeyError: 'inner'", "direct cause", "RuntimeError: outer"]),
        (raise_in_handler, ["KeyError: 'inner'", "During handling", "KeyError: 'second'"]),
        (raise_noted, ["ValueError: bad", "row 7 of the file"]),
        (raise_syntax_error, ["in raise_syntax_error", "a = = 1", "SyntaxError: invalid"]),
        (raise_unprintable, ["in raise_unprintable", "Unprintable"]),
        (raise_itself_as_cause, ["in raise_itself_as_cause", "ValueError: loop"]),
    ],
)
def test_what_belongs_to_an_exception_is_shown(function, parts):
    text = user_traceback(caught(function))
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "functions.py" not in text


def raise_beside_rows(_):
    return ["Ada, 1815", f"born {_}"][1815], "née"[0] / 9  # Ada


@pytest.mark.parametrize("function", [raise_group, raise_chained, raise_noted, raise_beside_rows])
def test_places_have_no_values_and_no_literals(function):
    text = user_places(caught(function))
    words = ("'first", "'second", "'inner", '"outer', '"bad', "row 7", "Ada", "1815", "née")
    assert [word for word in words if word in text] == []
    assert f"in {function.__name__}" in text
    assert "    raise" in text or "    return [" in text


def test_marks_below_a_line_without_literals_are_where_they_were():
    def marks(text):
        return [line.replace("~", "^") for line in text.splitlines() if "^" in line]

    error = caught(raise_beside_rows)
    assert marks(user_places(error)) == marks(user_traceback(error)) != []


def test_what_is_no_python_has_no_lines():
    assert unquoted(("a = (1\n", "b = '\n")) == ()
    assert unquoted(()) == ()
    assert unquoted(('x = """Ada\n', 'née"""\n')) == ("x = ******\n", "*******\n")


def test_without_a_frame_of_the_users_there_is_no_traceback():
    assert user_traceback(caught(5)) == ""


def test_the_summary_of_a_syntax_error_is_its_message():
    assert summary(caught(raise_syntax_error)) == "SyntaxError: invalid syntax"


def test_the_summary_is_the_last_line_of_the_traceback():
    error = caught(raise_chained)
    assert summary(error) == "".join(traceback.format_exception(error)).splitlines()[-1]


def test_an_exception_of_a_local_class_is_pickled_by_value():
    class Local(Exception):
        pass

    assert isinstance(pickle.loads(pickle_error(Local("here"))), Local)


def test_an_exception_that_holds_what_cannot_be_pickled_is_left_out(tmp_path):
    with open(tmp_path / "file", "w") as file:
        assert pickle_error(ValueError(file)) == b""

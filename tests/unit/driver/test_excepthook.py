"""An interrupt is shown with the user's lines only; everything else as it always was."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pyrite.driver.start.excepthook import ExceptHook, hide_in_ipython, hide_our_frames
from pyrite.util import fail_on_stopiteration


def users_function() -> None:
    raise KeyboardInterrupt


# A frame of Pyrite's between two of the user's.
call_through_pyrite = fail_on_stopiteration(users_function)


def shown(action: Callable[[], Any]) -> str:
    """What the hook gives to the one before it, as text."""
    seen: list[str] = []
    hook = ExceptHook(lambda *given: seen.extend(traceback.format_exception(*given)))
    try:
        action()
    except BaseException as error:
        hook(type(error), error, error.__traceback__)
    return "".join(seen)


def test_our_frames_are_left_out_and_the_users_stay() -> None:
    text = shown(lambda: call_through_pyrite())
    assert "pyrite/util.py" not in text
    assert "call_through_pyrite()" in text and "in users_function" in text
    assert text.endswith("KeyboardInterrupt\n")


def test_a_second_interrupt_while_the_first_is_dealt_with_is_the_only_one_shown() -> None:
    def twice() -> None:
        try:
            call_through_pyrite()
        finally:
            call_through_pyrite()

    assert shown(twice).count("Traceback") == 1


def test_what_led_to_an_interrupt_is_shown() -> None:
    def after_an_error() -> None:
        try:
            raise LookupError("mine")
        finally:
            call_through_pyrite()

    assert "LookupError: mine" in shown(after_an_error)


def test_other_errors_are_shown_as_they_are() -> None:
    assert "pyrite/util.py" in shown(lambda: fail_on_stopiteration(lambda: 1 / 0)())


def test_an_interrupt_without_a_frame_of_the_users() -> None:
    hook = ExceptHook(lambda *given: None)
    error = KeyboardInterrupt()
    hook(KeyboardInterrupt, error, None)
    assert error.__traceback__ is None


def test_the_hook_is_put_in_once_and_calls_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def before(*_: Any) -> None:
        return None

    monkeypatch.setattr(sys, "excepthook", before)
    hide_our_frames()
    hook = sys.excepthook
    hide_our_frames()
    assert sys.excepthook is hook
    assert isinstance(hook, ExceptHook) and hook.shown_by is before


@pytest.mark.parametrize("own", [(), (ValueError,)])
def test_a_handler_that_ipythons_user_has_set_stays(own: tuple[Any, ...]) -> None:
    shell = SimpleNamespace(custom_exceptions=own)
    shell.set_custom_exc = lambda kinds, _: setattr(shell, "custom_exceptions", kinds)
    hide_in_ipython(shell)
    assert shell.custom_exceptions == (own or (KeyboardInterrupt,))

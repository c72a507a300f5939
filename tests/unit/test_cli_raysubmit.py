"""`pyrite submit --ray`: the command that the cluster runs, and what is shown of its output."""

from __future__ import annotations

import sys

import pytest

from pyrite.cli import make_parsers
from pyrite.cli.raysubmit import ShownOutput, command_of


def command(*options: str) -> list[str]:
    line = ["submit", "--ray", "10.0.0.5:8265", *options, "/jobs/program.py", "one"]
    return command_of(make_parsers()[0].parse_args(line))


PLAIN = ["python", "-m", "pyrite", "submit", "--master", "ray", "program.py", "one"]


def test_progress_is_wanted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert command() == PLAIN
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert command() == ["env", "PYRITE_PROGRESS=lines", *PLAIN]
    assert command("--detach") == PLAIN


def test_progress_is_shown_beside_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ShownOutput()
    # Ray sends what there is, wherever it ends.
    pieces = ["a\n[py", "rite] stage 1\nb", "c", "\n", "[", "x]\n", "half [pyrite] it\n", "\n[pyr"]
    for piece in pieces:
        shown.add(piece)
    assert capsys.readouterr() == ("a\nbc\n[x]\nhalf [pyrite] it\n\n", "[pyrite] stage 1\n")
    shown.end()
    assert capsys.readouterr().out == "[pyr"

import tomllib
from pathlib import Path

from pyrite.version import __version__


def test_the_version_is_the_packages():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project.get("version", __version__) == __version__

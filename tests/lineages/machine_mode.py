"""How the tests use the row machine."""

import os


def machine_settings() -> dict[str, str]:
    """Settings of each test's context: PYRITE_TEST_MACHINE may be eager, doubting or false, so that
    whole suites run with the machine from the first row on, with every third row given back, or
    without it."""
    mode = os.environ.get("PYRITE_TEST_MACHINE")
    return {"pyrite.machine": mode} if mode else {}

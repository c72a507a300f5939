"""Tests of the row machine are left out where it was not built."""

import sys
from pathlib import Path

import pytest

from pyrite.machine.chain import IS_BUILT

sys.path.append(str(Path(__file__).parent))

# Packed rows, and the total of a sum, are read without the extension too.
PURE = {"test_packed_rows.py", "test_running_total.py"}
collect_ignore = [] if IS_BUILT else [each.name for each in Path(__file__).parent.glob("*.py")]
collect_ignore = [name for name in collect_ignore if name not in PURE | {"conftest.py"}]


def pytest_report_header(config: pytest.Config) -> str:
    return f"row machine: {'built' if IS_BUILT else 'not built'}"

"""The marks of rarely taken ways, as the source has them."""

from __future__ import annotations

import ast
from pathlib import Path

import pyrite


def all_marks() -> dict[str, str]:
    """Every mark and the file that has it."""
    root = Path(pyrite.__file__).parent
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="probe"), args=[ast.Constant(value=str(mark))]):
                    assert mark not in found, f"{mark!r} marks two places"
                    found[mark] = str(path.relative_to(root))
    return found

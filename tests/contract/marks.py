"""Marks: files by which tasks tell a test what they did, and by which a test tells tasks to go on.

Tasks import this module, so it needs nothing but the standard library.
"""

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 60.0


def wait_until(
    condition: Callable[[], object], what: str = "the condition", patience_s: float = PATIENCE_S
) -> None:
    """Waits for a condition, and fails where it never comes true."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience_s:.0f} s in vain for {what}")
        time.sleep(0.005)


class Marks:
    """A folder of marks; it travels to tasks as its path."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = str(folder)

    def add(self, name: object) -> None:
        """Says that something happened once more."""
        Path(self.folder, f"{name}@{secrets.token_hex(8)}").touch()

    def count(self, name: object) -> int:
        """How often it happened."""
        prefix = f"{name}@"
        return sum(each.startswith(prefix) for each in os.listdir(self.folder))

    def counts(self) -> dict[str, int]:
        """All that happened, with how often."""
        found: dict[str, int] = {}
        for each in sorted(os.listdir(self.folder)):
            name = each.partition("@")[0]
            found[name] = found.get(name, 0) + 1
        return found

    def clear(self) -> None:
        for each in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, each))

    def first(self, name: object) -> bool:
        """True for whoever asks first, in any process."""
        try:
            Path(self.folder, f"{name}@first").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def wait(self, name: object, times: int = 1) -> None:
        """Waits until it has happened so often."""
        wait_until(lambda: self.count(name) >= times, f"{times} of the mark {name}")

"""The descriptors 0, 1 and 2, which every process takes for input, output and errors."""

import os
import sys


def hold_standard_descriptors() -> None:
    """Opens those that are closed onto nothing.

    A program may have closed its sys.stdout. The next socket would get that number, and whatever
    C code and child processes print would go into it.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            # The lowest number that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def print_to_errors() -> None:
    """Lets all that this process and its children print go to the descriptor of errors."""
    hold_standard_descriptors()
    os.dup2(2, 1)
    if sys.stdout is None:
        # The descriptor was closed when Python started.
        sys.stdout = os.fdopen(1, "w", errors="backslashreplace", closefd=False)

"""The page of a running context: a process of its own that follows the story."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys

from pyrite.conf import SparkConf
from pyrite.descriptors import hold_standard_descriptors
from pyrite.driver.log.bars import in_notebook
from pyrite.errors import UserError
from pyrite.remote.ending import wait_or_kill
from pyrite.settings import Settings
from pyrite.ui.address import MORE_PORTS, Address, new_address
from pyrite.ui.extra import check_extra, missing_packages

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from pyrite.cli import main; sys.exit(main())"
)
MOST_END_S = 5.0


def show_in_notebooks(conf: SparkConf) -> None:
    """A notebook has a page, where nothing else is said and the packages are there."""
    if in_notebook() and not missing_packages():
        conf.setIfMissing("spark.ui.enabled", "true")


def page_wanted(settings: Settings) -> bool:
    """Whether there will be a page; one that can't be is said, and costs no job."""
    if not settings.bool("spark.ui.enabled"):
        return False
    if missing_packages():
        try:
            check_extra()
        except UserError as error:
            warn(error)
        return False
    return True


def warn(error: UserError) -> None:
    logging.getLogger("pyrite").warning("there will be no page (spark.ui.enabled): %s", error)


class PageProcess:
    """Serves a page until it is stopped, or its driver is gone.

    The driver listens before the process starts: the address holds at once, and whoever is early
    waits.
    """

    def __init__(self, story: str, address: Address, folder: str | None) -> None:
        hold_standard_descriptors()
        self.url = address.url
        options = ["ui", story, "--listener", str(address.listener.fileno())]
        if folder is not None:
            # It removes the folder if the driver can't.
            options += ["--remove", folder]
        with address.listener:
            self.process = subprocess.Popen(
                [sys.executable, "-c", BOOT, json.dumps([path or os.getcwd() for path in sys.path]),
                 *options],
                pass_fds=(address.listener.fileno(),),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                # The driver alone handles Ctrl-C in the terminal.
                start_new_session=True,
            )  # fmt: skip
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            # Other users see a command line, and no pipe.
            self.process.stdin.write(f"{address.token}\n".encode())
            self.process.stdin.flush()

    def stop(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        # Forks of the driver may hold the other end of its input.
        self.process.terminate()
        wait_or_kill(self.process, MOST_END_S)


def open_page(settings: Settings, story: str | None, folder: str | None) -> PageProcess | None:
    """Starts the page of a story; None where that can't be done, which is said."""
    if story is None:
        return None
    try:
        return PageProcess(story, new_address(settings.int("spark.ui.port"), MORE_PORTS), folder)
    except UserError as error:
        warn(error)
        return None

"""`pyrite submit --ray`: sends a program to a Ray cluster as a job, and follows it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from typing import TYPE_CHECKING

from pyrite.driver.log import lines
from pyrite.submitoptions import OPTIONS

if TYPE_CHECKING:
    from pyrite.cluster.ray.jobs import RayJobs

# Options whose values are files here, which the job finds by their names.
FILES = ("spark.submit.pyFiles", "spark.files", "spark.archives")
INTERRUPTED = 130


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("on Ray").add_argument
    add(
        "--ray",
        metavar="ADDRESS",
        help="send the program to the Ray cluster whose dashboard has this address",
    )
    add("--detach", action="store_true", help="with --ray: leave it, and say how to follow it")


def submit_to_ray(chosen: argparse.Namespace) -> int:
    """Sends the script and its files; shows what it prints, and returns its exit code."""
    from pyrite.cluster.ray.jobs import RayJobs, pack_program

    jobs = RayJobs(chosen.ray)
    with tempfile.TemporaryDirectory(prefix="pyrite-submit-") as folder:
        pack_program(folder, chosen.script, files_of(chosen))
        job = jobs.send(command_of(chosen), folder)
    if chosen.detach:
        print(job)
        print(
            f"pyrite submit: follow it with: ray job logs --address {jobs.address} --follow {job}",
            file=sys.stderr,
        )
        return 0
    try:
        asyncio.run(show(jobs, job))
        return jobs.wait(job)
    except KeyboardInterrupt:
        print(f"pyrite submit: stopping {job}", file=sys.stderr)
        jobs.stop(job)
        return INTERRUPTED


async def show(jobs: RayJobs, job: str) -> None:
    shown = ShownOutput()
    async for text in jobs.output(job):
        shown.add(text)
    shown.end()


class ShownOutput:
    """Prints what a job prints; its progress to standard error."""

    def __init__(self) -> None:
        # The begin of a line that may tell of progress; whether a line was begun that does not.
        self.held = ""
        self.is_inside = False

    def add(self, text: str) -> None:
        for piece in text.splitlines(keepends=True):
            line = self.held + piece
            is_whole = line.endswith("\n")
            self.held = ""
            if self.is_inside or not line.startswith(lines.MARK[: len(line)]):
                self.is_inside = not is_whole
                print(line, end="", flush=True)
            elif is_whole:
                print(line, end="", file=sys.stderr, flush=True)
            else:
                self.held = line

    def end(self) -> None:
        print(self.held, end="", flush=True)


def files_of(chosen: argparse.Namespace) -> list[str]:
    """The files that travel with the script."""
    texts = [getattr(chosen, name) or "" for name in FILES]
    paths = [part.strip() for text in texts for part in text.split(",")]
    return [path.partition("#")[0] for path in paths if path and "://" not in path]


def command_of(chosen: argparse.Namespace) -> list[str]:
    """The command that the cluster runs, with the files by their names."""
    is_watched = sys.stderr.isatty() and not chosen.detach
    progress = ["env", f"{lines.ENVIRONMENT}={lines.WANTED}"] if is_watched else []
    command = [*progress, "python", "-m", "pyrite", "submit"]
    for option in OPTIONS:
        value = getattr(chosen, option.setting)
        if option.setting == "spark.master":
            value = value or "ray"
        elif option.setting in FILES and value is not None:
            value = ",".join(map(named, value.split(",")))
        if value is not None:
            command += [option.name, value]
    for pair in chosen.conf:
        command += ["--conf", pair]
    return [*command, os.path.basename(chosen.script), *chosen.arguments]


def named(path: str) -> str:
    path = path.strip()
    return path if "://" in path else os.path.basename(path.rstrip("/"))

"""Programs as jobs of Ray: sent with their files, followed, stopped."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pyrite.cluster.ray.head import token_error, wants_token
from pyrite.cluster.ray.session import load_ray, one_line
from pyrite.errors import ClusterError, UserError

# How often the end of a job is asked for.
LOOK_S = 0.25
STOP_S = 30.0


class RayJobs:
    """Ray's jobs at one address, that of its dashboard."""

    def __init__(self, address: str) -> None:
        load_ray()
        from ray.job_submission import JobSubmissionClient

        self.address = address if "://" in address else f"http://{address}"
        try:
            self.client: Any = JobSubmissionClient(self.address)
        except Exception as error:
            if wants_token(error):
                raise token_error(self.address, one_line(error)) from error
            raise ClusterError(
                f"nobody takes jobs at {self.address} ({one_line(error)}): is it the address of "
                "the cluster's dashboard, such as 10.0.0.5:8265?"
            ) from error

    def send(self, command: Sequence[str], folder: str) -> str:
        """Starts a command in a copy of the folder on the cluster; returns the job's id."""
        try:
            job: str = self.client.submit_job(
                entrypoint=shlex.join(command), runtime_env={"working_dir": folder}
            )
        except Exception as error:
            raise ClusterError(f"{self.address} did not take the job: {one_line(error)}") from error
        return job

    async def output(self, job: str) -> AsyncIterator[str]:
        """What the job prints, as it does."""
        async for text in self.client.tail_job_logs(job):
            yield text

    def wait(self, job: str) -> int:
        """Waits for the job's end; returns the exit code of its program."""
        while not self.client.get_job_status(job).is_terminal():
            time.sleep(LOOK_S)
        details = self.client.get_job_info(job)
        code: int | None = details.driver_exit_code
        if code is not None:
            # A program that was killed has the code that a shell would give.
            return code if code >= 0 else 128 - code
        return 0 if details.status.value == "SUCCEEDED" else 1

    def stop(self, job: str) -> None:
        """Ends the job, and waits for its end."""
        self.client.stop_job(job)
        end_s = time.monotonic() + STOP_S
        while time.monotonic() < end_s and not self.client.get_job_status(job).is_terminal():
            time.sleep(LOOK_S)


def pack_program(folder: str, script: str, others: Sequence[str]) -> None:
    """Copies a script and the files that go with it into one folder, by their names."""
    names: dict[str, str] = {}
    for path in (script, *others):
        name = os.path.basename(path.rstrip("/"))
        if not os.path.exists(path):
            raise UserError(f"there is no file {path!r} to send")
        if names.setdefault(name, path) != path:
            raise UserError(f"{path!r} and {names[name]!r} have one name: rename one of them")
        target = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.copytree(path, target)
        else:
            shutil.copy(path, target)

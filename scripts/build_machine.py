"""Compiles the row machine when Pyrite is built or installed; without a compiler Pyrite is pure.

CC names the compiler, as for other extensions.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("src/pyrite/machine")
# One file for all versions from 3.11 on: the limited API.
NAME = "_rows.abi3.so"
TAG = "cp311-abi3"
# A fused multiply-add rounds once where the interpreter rounds twice.
FLAGS = ["-O2", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing"]


class BuildMachine(BuildHookInterface):
    """Adds the extension to a wheel; an editable installation has it beside its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / PACKAGE
        if version == "editable":
            made = source / NAME
            made.unlink(missing_ok=True)
            self.compile(source, made)
            return
        self.folder = tempfile.TemporaryDirectory(prefix="pyrite-build-")
        made = Path(self.folder.name) / NAME
        if self.compile(source, made):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"{TAG}-{platform}"
            build_data["force_include"][str(made)] = f"pyrite/machine/{NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.folder.cleanup()

    def compile(self, source: Path, made: Path) -> bool:
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        include = sysconfig.get_paths()["include"]
        command = [*compiler, *FLAGS, f"-I{include}", str(source / "_rows.c"), "-o", str(made)]
        try:
            subprocess.run([*command, "-lm"], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            print(f"pyrite: without the row machine, {compiler[0]}: {reason}", file=sys.stderr)
            return False
        return True

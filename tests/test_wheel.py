"""What a wheel of Pyrite holds: all that an installation needs, and nothing that it does not."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = "pyrite/ui/static"
MACHINE = "pyrite/machine/_rows.abi3.so"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))[0]


def built(folder: Path, **environment: str) -> tuple[Path, str]:
    """A wheel, and what was said while it was made."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [made] = folder.glob("*.whl")
    return made, done.stderr


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_holds_every_file_of_the_package_and_the_page(wheel: Path) -> None:
    wanted = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in (".c", ".h", ".so", ".pyc")
    }
    assert {f"{PAGE}/index.html", f"{PAGE}/main.js", f"{PAGE}/style.css"} <= wanted
    held = {each for each in names(wheel) if ".dist-info/" not in each}
    assert held - {MACHINE} == wanted


def test_the_page_needs_no_file_that_is_not_there(wheel: Path) -> None:
    held = names(wheel)
    with zipfile.ZipFile(wheel) as archive:
        for name in (each for each in held if each.startswith(PAGE)):
            text = archive.read(name).decode()
            asked = re.findall(r'(?:from|import) "\./([^"]+)"|(?:src|href)="/static/([^"]+)"', text)
            missing = [each for pair in asked for each in pair if each]
            assert [each for each in missing if f"{PAGE}/{each}" not in held] == [], name


@pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is missing")
def test_it_holds_the_row_machine_for_all_versions_of_python(wheel: Path) -> None:
    assert MACHINE in names(wheel)
    assert "-cp311-abi3-linux_" in wheel.name


@pytest.mark.parametrize("compiler", ["false", "no-such-compiler -v"])
def test_a_compiler_that_fails_gives_a_wheel_without_the_row_machine(
    compiler: str, tmp_path: Path
) -> None:
    wheel, said = built(tmp_path, CC=compiler)
    assert MACHINE not in names(wheel)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "without the row machine" in said


def test_an_installation_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import pyrite, pyrite.machine, pyrite.ui.server\n"
        "assert pyrite.__file__.startswith(sys.argv[1]), pyrite.__file__\n"
        "assert pyrite.ui.server.STATIC.joinpath('main.js').is_file()\n"
        "with pyrite.SparkContext('local[1]', 'wheel') as sc:\n"
        "    print(sc.range(10).map(lambda x: (x % 2, x)).reduceByKey(max).collect())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "[(0, 8), (1, 9)]\n"), done.stderr

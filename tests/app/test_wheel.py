"""The wheel, installed away from the checkout: what `pip install tagwright` gives."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
NUMBER = re.compile(r"\d+\.\d+")

pytestmark = [
    pytest.mark.skipif(not find_spec("pip") or not find_spec("setuptools"), reason="needs pip and setuptools"),
    pytest.mark.skipif(os.name != "posix", reason="the README's example is for a POSIX shell"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, in which no earlier build has left anything."""
    copy, output = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src" / "tagwright", copy / "src" / "tagwright")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    build = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(output), str(copy)]
    subprocess.run([*PIP, *build], check=True, env=variables())
    (path,) = output.iterdir()
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and with what is installed here apart from Tagwright."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    install = ["--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*PIP, *install], check=True, env=variables())
    # A folder that a .pth file names is searched last, and its own .pth files, one of them Tagwright's, are not read.
    (packages,) = folder.glob("lib/python*/site-packages")
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(here)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def shell(environment: Path, tmp_path: Path) -> dict[str, object]:
    """What commands run with: the environment's programs, an empty folder, nothing of the checkout."""
    (tmp_path / "empty").mkdir()
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"cwd": tmp_path / "empty", "env": {**variables(), "PATH": path, "VIRTUAL_ENV": str(environment)}}


def variables() -> dict[str, str]:
    """The environment variables without those that would lead Python back to the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def output(command: list[str], shell: dict[str, object]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **shell)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    package = ROOT / "src" / "tagwright"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    expected = {path.relative_to(package.parent).as_posix() for path in files}
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert "tagwright/py.typed" in expected
    assert held == expected


def test_the_installed_package_is_the_wheel(environment: Path, shell: dict[str, object]) -> None:
    found = output(["python", "-c", "import tagwright; print(tagwright.__file__)"], shell)
    assert Path(found.strip()).is_relative_to(environment)


def test_the_results_show_the_demo_as_printed(shell: dict[str, object]) -> None:
    page = (ROOT / "docs" / "results" / "zero-shot.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n\$ tagwright demo\n(.*?)```", page, re.DOTALL)
    found = output(["tagwright", "demo"], shell)
    assert "<- as in the manual" in found
    newest = re.search("^scipy==([0-9.]+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    if newest[1] != version("scipy"):
        return  # another SciPy has another manual
    for part in block.split("...\n"):
        shown = re.search(r"(\d+\.\d+)".join(map(re.escape, NUMBER.split(part))), found)
        assert shown, part
        assert [*map(float, shown.groups())] == pytest.approx([*map(float, NUMBER.findall(part))], abs=3)


def test_the_first_example_of_the_readme_prints_what_it_says(shell: dict[str, object]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n(\$ printf.*?)```", readme, re.DOTALL)
    commands = re.findall(r"^\$ (.*)$", block, re.MULTILINE)
    expected = block[block.index("\n", block.index(commands[-1])) + 1 :]
    found = output(["sh", "-c", "\n".join(commands)], shell)
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
    numbers = ([float(number) for number in NUMBER.findall(text)] for text in (found, expected))
    assert next(numbers) == pytest.approx(next(numbers), rel=0.05, abs=0.05)


def test_the_python_of_the_readme_suggests_and_saves(shell: dict[str, object]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    again = "print(sorted(each.name for each in tw.load('my-tagger').suggest('Honey bees visit apple orchards.', k=2)))"
    *lines, last = output(["python", "-c", f"{program}\n{again}"], shell).splitlines()
    assert sorted(line.split()[0] for line in lines) == ["Bees", "Orchards"]
    assert last == "['Bees', 'Orchards']"

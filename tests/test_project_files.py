"""What the files of the project say of its version, its dependencies and its licence agrees with the package."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tagwright

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = CONFIGURATION["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def content(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_one_version_everywhere() -> None:
    versions = {
        PROJECT["version"],
        content("CITATION.cff")["version"],
        content("recipe/recipe.yaml")["context"]["version"],
    }
    assert versions == {tagwright.__version__}


def test_the_changelog_has_what_is_not_released_first_and_versions_in_order() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    numbers = [tuple(map(int, heading.split("."))) for heading in headings[1:]]
    assert numbers == sorted(numbers, reverse=True)


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    asked = {re.sub(r"\s", "", each) for each in content("recipe/recipe.yaml")["requirements"]["run"]}
    assert asked == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_the_citation_names_the_paper_of_each_method() -> None:
    assert [paper["notes"] for paper in content("CITATION.cff")["references"]] == [
        "MICoL",
        "RTS",
        "MACLR",
        "FuTex",
        "DEPL",
    ]


def test_the_image_holds_only_what_its_build_needs() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"}
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE) for name in line.split()
    }
    assert copied == kept
    extras = re.search(r"\[([\w,]+)\]\"", dockerfile)
    assert extras
    assert set(extras.group(1).split(",")) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_more_rights_than_it_needs(workflow: Path) -> None:
    found = content(str(workflow.relative_to(ROOT)))
    assert found["permissions"] in ({}, {"contents": "read"})
    writes = {name: job for name, job in found["jobs"].items() if "write" in str(job.get("permissions", {}))}
    assert set(writes) <= {"publish"}


def test_workflows_cover_the_pythons_that_are_promised() -> None:
    promised = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    jobs = content(".github/workflows/tests.yml")["jobs"]
    assert promised == {python for name in ("whole", "wheel") for python in jobs[name]["strategy"]["matrix"]["python"]}


def test_types_do_not_depend_on_what_the_makefile_does_not_install() -> None:
    made = set(re.findall(r"--group (\w+)", (ROOT / "Makefile").read_text(encoding="utf-8")))
    groups: dict[str, list[str]] = CONFIGURATION["dependency-groups"]
    more = {re.split(r"[<>=]", each)[0] for name in groups.keys() - made for each in groups[name]}
    overrides = CONFIGURATION["tool"]["mypy"]["overrides"]
    skipped = {module for each in overrides if each.get("follow_imports") == "skip" for module in each["module"]}
    assert {f"{name.replace('-', '_')}.*" for name in more} <= skipped


def test_the_check_of_a_change_begins_with_the_commands_of_the_readme() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = re.findall(r"^make \w+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    runs = [line for line in lines if re.match(r"(bare )?make |.*(apt-get|pip) install", line)]
    assert runs[: len(commands)] == [f"bare {command}" for command in commands]


def built(kind: str, tree: Path, folder: Path) -> Path:
    """The wheel or sdist of a tree, made as a frontend does it, but with the setuptools that is installed."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=tree, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


SETUPTOOLS = int(version("setuptools").partition(".")[0]) if find_spec("setuptools") else 0
"Its major version. It is not imported, which fails where a library has imported Python's own distutils before."


@pytest.mark.skipif(SETUPTOOLS < 77, reason="needs setuptools 77")
@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(tmp_path: Path) -> None:
    for name in ("tree", "wheel", "sdist", "unpacked", "again"):
        (tmp_path / name).mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "tree")
    shutil.copytree(ROOT / "src", tmp_path / "tree" / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    with tarfile.open(built("sdist", tmp_path / "tree", tmp_path / "sdist")) as sdist:
        sdist.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheels = built("wheel", tmp_path / "tree", tmp_path / "wheel"), built("wheel", unpacked, tmp_path / "again")
    first, second = ({name: wheel.read(name) for name in wheel.namelist()} for wheel in map(zipfile.ZipFile, wheels))
    assert first == second
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "tagwright").rglob("*.*")}
    assert {name for name in sources if not re.search(r"__pycache__|\.po$", name)} <= first.keys()


def test_versions_of_the_pages_are_listed_newest_first(tmp_path: Path) -> None:
    write = runpy.run_path(str(ROOT / "docs" / "versions.py"))["write"]
    with pytest.raises(ValueError, match=r"no pages of a release, expected folders such as 0\.9\.0"):
        write(tmp_path)
    for name in ("0.9.0", "0.10.0", "0.10.1", "drafts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    (tmp_path / "1.0.0").mkdir()  # without pages
    write(tmp_path)
    assert json.loads((tmp_path / "versions.json").read_text(encoding="utf-8")) == ["0.10.1", "0.10.0", "0.9.0"]
    assert 'url=0.10.1/"' in (tmp_path / "index.html").read_text(encoding="utf-8")

"""What the files of the project say of its version, its dependencies and its licence agrees with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tagwright

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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

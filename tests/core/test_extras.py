from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tagwright.batch import batch
from tagwright.batch.output_folder import BatchOptions
from tagwright.core.extras import EXTRAS, require
from tagwright.errors import ConfigError, InputError
from tagwright.server.options import ServerOptions

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OTHERWISE = {"faiss": "faiss-cpu", "pypandoc": "pypandoc-binary"}
"Distributions that are not called like what they install."


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_each_extra_brings_its_package(package: str, extra: str) -> None:
    brought = [Requirement(text).name for text in PROJECT["optional-dependencies"][extra]]
    assert OTHERWISE.get(package, package.replace("_", "-")) in brought


def test_what_is_missing_is_said_with_the_extra_and_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    said = r'reading PDF needs pypdfium2, which is not installed; pip install "tagwright\[pdf\]"$'
    with pytest.raises(ConfigError, match="^" + said):
        require("reading PDF", "numpy", "pypdfium2")
    with pytest.raises(InputError, match=r"^a\.pdf: " + said):
        require("reading PDF", "pypdfium2", path="a.pdf")
    require("reading PDF", "numpy")


@pytest.mark.parametrize("package", ["uvicorn", "fastapi"])
def test_the_server_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = rf'^serve needs {package}, which is not installed; pip install "tagwright\[serve\]"$'
    with pytest.raises(ConfigError, match=said):
        ServerOptions()


def test_ray_is_named_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r'^--ray needs ray, which is not installed; pip install "tagwright\[ray\]"$'
    with pytest.raises(ConfigError, match=said):
        batch.run(
            [], tmp_path / "model", tmp_path / "out", BatchOptions(), batch.shards_of("0/1"), unread=[], ray="local"
        )
    assert not list(tmp_path.iterdir())

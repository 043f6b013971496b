from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tagwright.app.commands.cache import show_cache
from tagwright.encoders.cache import EmbeddingCache


def test_cache_is_shown_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path))
    EmbeddingCache("f", 2).put(["bee", "wasp"], np.ones((2, 2), np.float32))
    show_cache(clear=False, as_json=False)
    assert "f  2 vectors" in capsys.readouterr().out
    show_cache(clear=False, as_json=True)
    content = json.loads(capsys.readouterr().out)
    assert (content["limit"], content["encoders"][0]["vectors"]) == (2 << 30, 2)
    show_cache(clear=True, as_json=False)
    assert "freed" in capsys.readouterr().out
    show_cache(clear=False, as_json=False)
    assert ": 0 encoders" in capsys.readouterr().out

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.app.commands.cache import cache
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders import static
from tagwright.encoders.cache import EmbeddingCache
from tagwright.server import label_search
from tagwright.types import Label


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an entry of every kind."""
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))
    EmbeddingCache("f", 2).put(["bee", "wasp"], np.ones((2, 2), np.float32))
    skos = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<http://x/1> a skos:Concept ; skos:prefLabel "
    (tmp_path / "birds.ttl").write_text(skos + '"Birds"@en .')
    Vocabulary.read(tmp_path / "birds.ttl")
    label_search.kept_index([Label("1", ("Birds",))], fewest=1)
    distil, tiny = static.distil, str(tiny_encoder(tmp_path / "tiny"))
    monkeypatch.setattr(static, "distil", lambda folder: distil(folder, tiny))
    static.encoder_folder("static")
    return tmp_path / "cache"


def test_the_cache_shows_all_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["embeddings", "label search", "static encoder", "vocabularies"]
    cache(clear=False, as_json=True)
    content = json.loads(capsys.readouterr().out)
    assert (content["folder"], content["limit"]) == (str(folder), 2 << 30)
    assert [(kind["name"], kind["entries"]) for kind in content["kinds"]] == list(zip(kinds, (2, 1, 1, 1), strict=True))
    assert content["size"] == sum(path.stat().st_size for path in folder.iterdir())
    assert all(0 < kind["size"] <= content["size"] for kind in content["kinds"])
    cache(clear=False, as_json=False)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{folder}: ")
    assert first.endswith(" of at most 2,048.0 MB")
    assert [line.partition(":")[0] for line in lines] == kinds
    assert lines[0] == "embeddings: 2 entries, 0.0 MB"


def test_clear_removes_all_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache(clear=True, as_json=True)
    assert json.loads(capsys.readouterr().out)["freed"] > 0
    cache(clear=False, as_json=True)
    assert json.loads(capsys.readouterr().out)["kinds"] == []

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagwright.core.cache import Cache
from tagwright.encoders.cache import EmbeddingCache

ONE, TWO = np.array([[1, 0.5]], np.float32), np.array([[0.25, 2]], np.float32)


def test_what_was_put_is_found_by_another_object_and_nothing_else_is(tmp_path: Path) -> None:
    EmbeddingCache("f", 2, Cache(tmp_path)).put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    vectors, known = EmbeddingCache("f", 2, Cache(tmp_path)).get(["wasp", "ant", "bee"])
    assert known.tolist() == [True, False, True]
    assert vectors.tolist() == [[0.25, 2], [0, 0], [1, 0.5]]
    assert not EmbeddingCache("other", 2, Cache(tmp_path)).get(["bee"])[1].any()
    assert not EmbeddingCache("f", 3, Cache(tmp_path)).get(["bee"])[1].any()  # of another length


def test_more_texts_than_fit_one_query(tmp_path: Path) -> None:
    texts = [str(i) for i in range(25_000)]
    cache = EmbeddingCache("f", 1, Cache(tmp_path))
    cache.put(texts, np.arange(25_000, dtype=np.float32)[:, None] % 2048)  # whole numbers that float16 holds exactly
    vectors, known = cache.get(texts)
    assert known.all()
    assert vectors[[0, 9_999, 10_000, 24_999], 0].tolist() == [0, 9_999 % 2048, 10_000 % 2048, 24_999 % 2048]

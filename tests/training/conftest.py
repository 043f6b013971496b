from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.tiny import tiny_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny encoder."""
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train on one thread and in single precision, so that two ways of computing can be compared."""
    import torch

    from tagwright.training import trainable_encoder

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(trainable_encoder, "best_dtype", lambda _: torch.float32)
    yield
    torch.set_num_threads(threads)

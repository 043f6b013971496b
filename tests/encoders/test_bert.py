from __future__ import annotations

import platform
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny import tiny_encoder

from tagwright.encoders import kernels
from tagwright.encoders.bert import batches
from tagwright.encoders.bi_encoder import BiEncoder

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100]


@given(lengths=st.lists(st.integers(1, 30), max_size=60), budget=st.integers(1, 100))
def test_batches_hold_every_text_once_and_one_length_each(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    assert all(len({lengths[i] for i in batch}) == 1 for batch in found)
    assert all(len(batch) == 1 or sum(lengths[i] for i in batch) <= budget for batch in found)


@pytest.mark.parametrize("machine", ["x86_64", "arm64"])
def test_float32_is_exact_with_and_without_packed_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    import torch

    monkeypatch.setattr(kernels, "best_dtype", lambda _: torch.float32)
    if platform.machine() not in {"x86_64", "AMD64"} and machine == "x86_64":
        pytest.skip("weights are packed on x86 only")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)
    expected = encoder.model.encode(TEXTS, normalize_embeddings=True)
    assert np.abs(encoder.encode(TEXTS) - expected).max() < 2**-11  # half a step of float16 below 1


def test_encoding_leaves_the_number_of_threads_as_it_was(tmp_path: Path) -> None:
    """A training that encodes now and then must not go on with other threads, which sum in another order."""
    import torch

    encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)
    encoder.encode(["a first text decides how many workers there are"])
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            encoder.encode([f"bees number {threads}"])
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_an_interrupted_run_stops_at_once() -> None:
    import torch

    begun: list[int] = []

    def work(batch: int) -> None:
        begun.append(batch)
        time.sleep(0.01)

    def interrupted() -> None:
        with kernels.workers(torch.device("cpu")) as each:
            for _ in each(work, range(10_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(begun) < 10_000

"""Settings for all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tagwright.encoders import precision
from tagwright.encoders.device import is_held_before_bfloat16

# A deadline would be a timed test, and so would be the check that examples are made quickly: on a busy machine a first
# import takes longer than any example. The same examples everywhere, so that a failure can be seen again; others, and
# more of them, are tried by `pytest --hypothesis-profile=search`.
settings.register_profile("tagwright", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("search", settings.get_profile("tagwright"), derandomize=False, max_examples=2000)
settings.load_profile("tagwright")

# What collecting brings in, torch and each rewritten test, lives until the end: no search for cycles walks it.
gc.disable()


def pytest_collection_finish() -> None:
    """Search for cycles from here on, among what tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache."""
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks the Hugging Face Hub for anything; those about fetching replace its library's functions."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(autouse=True)
def _exact(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every machine computes in float32, whatever is fastest there; tests about int8 ask for `with_int8`."""
    if "with_int8" not in request.fixturenames:
        monkeypatch.setattr(precision, "formats", lambda: {} if is_held_before_bfloat16() else {"bfloat16": False})


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """The folder of a tiny encoder."""
    from tests.tiny import tiny_encoder

    return str(tiny_encoder(tmp_path / "tiny"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch computes with one thread: with several, the last digit of a sum may differ from run to run."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def quick_auto() -> Iterator[None]:
    """The combiner of `train auto` has 30 trees instead of 120."""
    from tagwright.auto import ranker
    from tagwright.combining.ranking_trees import BoostedTrees, BoostingOptions, grow

    def grow_few(features: Any, scores: Any, gradients: Any, options: BoostingOptions, seed: int) -> BoostedTrees:
        return grow(features, scores, gradients, replace(options, trees=30), seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranker, "grow", grow_few)
        yield


@pytest.fixture
def with_int8() -> None:
    """Products in 8 bits are tried; the test is skipped, saying so, where they are not right."""
    if "int8" not in precision.formats():
        pytest.skip("no 8-bit product here")

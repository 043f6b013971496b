"""Settings for all tests."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tagwright.encoders import precision
from tagwright.encoders.device import is_held_before_bfloat16
from tagwright.errors import TagwrightError

# A deadline would be a timed test, and so would be the check that examples are made quickly: on a busy machine a first
# import takes longer than any example. The same examples everywhere, so that a failure can be seen again; others, and
# more of them, are tried by `pytest --hypothesis-profile=search`.
settings.register_profile("tagwright", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("search", settings.get_profile("tagwright"), derandomize=False, max_examples=2000)
settings.load_profile("tagwright")


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


OPTIONAL = (
    *("accelerate", "docx", "faiss", "httpx", "omikuji", "pyarrow", "pylatexenc", "pypdfium2", "ray", "rdflib"),
    *("sentence_transformers", "starlette", "torch", "transformers", "uvicorn"),
)
"What extras bring, and tests of them import."

_ABSENT = [name for name in OPTIONAL if find_spec(name) is None]
_NEEDS_ABSENT = re.compile(rf"^\s*(import|from) ({'|'.join(_ABSENT)})\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the tests that import what is not installed, and folders whose settings do: see tools/fresh.py."""
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if not _ABSENT or file.suffix != ".py" or not file.is_file():
        return None
    return bool(_NEEDS_ABSENT.search(file.read_text(encoding="utf-8"))) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Skip a test that needs what is not installed, saying what."""
    with _skipped():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """The same while it runs."""
    with _skipped():
        return (yield)


@contextmanager
def _skipped() -> Iterator[None]:
    try:
        yield
    except (ModuleNotFoundError, TagwrightError) as error:
        package = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
        if _ABSENT and (package in _ABSENT or 'pip install "tagwright[' in str(error)):
            pytest.skip(str(error))
        raise

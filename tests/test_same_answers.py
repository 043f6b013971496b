"""The same answer always: it depends on the model and the text, on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.tiny import WORDS as KNOWN
from tests.tiny import tiny_encoder

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.precision import Precision
from tagwright.errors import ConfigError
from tagwright.stages.dense import PAYS, Dense
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.zero_shot import PROPOSED, Config
from tagwright.types import Document, Label, Run

WORDS = [word for word in KNOWN if word != "bees"]
LABELS = Vocabulary([Label(" ".join(each), (" ".join(each),)) for each in product(WORDS, repeat=3)])
TEXTS = [
    f"The {a} and a {b} of {c}s. {c} {a}!" for a, b, c in zip(WORDS * 8, WORDS[3:] * 10, WORDS[5:] * 13, strict=False)
]
PRECISION = 1e-3
"Scores that are nearer to each other are ties: vectors are kept in 16 bits."


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache."""
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def from_nothing(encoder: str) -> Tagger:
    """A tagger over more labels than are compared one by one."""
    assert len(LABELS) > PAYS * PROPOSED
    return zero_shot.fit(LABELS, Config(encoder=encoder, language="en"))


def documents(texts: Sequence[str]) -> list[Document]:
    return [Document(str(i), title=text) for i, text in enumerate(texts)]


def same(found: Run, expected: Run) -> None:
    """The same labels in the same order, but for ties within the precision."""
    assert found.indptr.tolist() == expected.indptr.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, atol=PRECISION)
    for row in np.flatnonzero(found.labels != expected.labels):
        low, high = expected.indptr[expected.rows[row]], expected.indptr[expected.rows[row] + 1]
        ours, scores = expected.labels[low:high], expected.scores[low:high]
        tied = scores[ours == found.labels[row]] if found.labels[row] in ours else scores[-1:]
        assert abs(float(tied[0] - found.scores[row])) <= PRECISION


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_alone_or_in_a_batch_cold_or_warm(precision: Precision, encoder: str, cache: Path) -> None:
    """The first tagger knows no label, the next ones what those before have encoded, the last one all of them."""
    some = documents(TEXTS[:64])
    config = Config(encoder=encoder, language="en", precision=precision)
    try:
        tagger = zero_shot.fit(LABELS, config)
    except ConfigError as error:
        pytest.skip(str(error))
    alone = Run.concat([tagger.tag([each]) for each in some])
    for size in (2, 64, 256):
        many = (some * -(-size // len(some)))[: max(size, len(some))]
        later = zero_shot.fit(LABELS, config)
        parts = [later.tag(many[start : start + size]) for start in range(0, len(many), size)]
        same(Run.concat(parts).take(np.arange(len(some))), alone)
    for stage in later.stages.values():
        if isinstance(stage, Dense):
            stage.complete()
    same(later.tag(some), alone)


def test_saved_and_loaded_or_from_nothing(encoder: str, cache: Path, tmp_path: Path) -> None:
    some = documents(TEXTS[:20])
    cold = Run.concat([from_nothing(encoder).tag([each]) for each in some[:3]])
    tagger = from_nothing(encoder)
    tagger.save(tmp_path / "saved")
    for path in cache.rglob("*.sqlite"):
        path.unlink()
    loaded = Tagger.load(tmp_path / "saved")
    same(loaded.tag(some), tagger.tag(some))
    same(loaded.tag(some[:3]), cold)


def test_sixteen_threads_answer_as_one(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 suggestions, 20 a document; at first no label is encoded, and the threads encode them together."""
    monkeypatch.setattr(BiEncoder, "cache", None)
    one, many = from_nothing(encoder), from_nothing(encoder)
    batches = [documents(TEXTS)[start : start + 2] for start in range(0, 100, 2)] * 2
    expected = [one.tag(batch, k=20) for batch in batches[:50]] * 2
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(partial(many.tag, k=20), batches))
    assert sum(len(run.labels) for run in found) >= 4_000
    for ours, theirs in zip(found, expected, strict=True):
        same(ours, theirs)

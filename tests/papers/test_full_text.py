from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.stages.dense.test_retriever import BagOfWords

from tagwright.data.paragraphs import HEAD, headings_at, parents
from tagwright.encoders.prompts import Role
from tagwright.errors import ConfigError
from tagwright.papers import full_text
from tagwright.papers.full_text import FullText, FullTextOptions, tree_shares
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.types import Document, Floats, Label, Retriever, Run, Section

LABELS = [Label("b", ("bees",)), Label("o", ("oak",)), Label("m", ("moss",)), Label("s", ("stone",))]
PAPER = Document(
    "p",
    title="bees",
    sections=(
        Section("Introduction", 1, ("oak",)),
        Section("Body", 1, ("moss",)),
        Section("Details", 2, ("stone", "stone stone oak")),
    ),
)
PLAIN = Document("t", title="oak", abstract="moss")
EMPTY = Document("e", title=" ")


def stage(**options: Any) -> FullText:
    dense = Dense(LABELS, BagOfWords(), DenseOptions(label_text="name", storage="float32"))
    return FullText(dense, FullTextOptions(shortest=0, **options))


def word(text: str) -> Floats:
    vectors: Floats = BagOfWords().encode([text])[0]
    return vectors


def cosine(vector: NDArray[np.floating], label: str) -> float:
    return float(vector @ word(label) / np.linalg.norm(vector))


BEES, OAK, MOSS, STONE = map(word, ("bees", "oak", "moss", "stone"))
MIXED = word("stone stone oak")
EXPECTED: dict[str, NDArray[np.floating]] = {
    "tree": (BEES + OAK + (MOSS + (STONE + MIXED) / 2) / 2) / 3,
    "paragraphs": (BEES + OAK + MOSS + STONE + MIXED) / 5,
    "abstract": BEES,
    "first": word("bees Introduction oak Body moss Details stone stone stone oak"),
}


@pytest.mark.parametrize("aggregate", EXPECTED)
def test_a_label_scores_its_cosine_to_the_aggregated_paragraphs(aggregate: Any) -> None:
    pool = Run.from_rows([{0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7}])
    full = stage(aggregate=aggregate)
    expected = [cosine(EXPECTED[aggregate], label.name) for label in LABELS]
    np.testing.assert_allclose(full.score(full.read([PAPER]), pool), expected, atol=1e-6)


class Lengthy(BagOfWords):
    """A text of n words has a vector n times as long, which only `encode_raw` gives."""

    def encode_raw(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        lengths = np.array([[len(text.split())] for text in texts], np.float32)
        return self.encode(texts, role=role, progress=progress) * lengths


def test_paragraphs_may_be_averaged_at_the_length_that_the_encoder_gives_them() -> None:
    """Eq. 6 as it is printed: "stone stone oak" counts three times as much as "stone" beside it."""
    dense = Dense(LABELS, Lengthy(), DenseOptions(label_text="name", storage="float32"))
    full = FullText(dense, FullTextOptions(shortest=0, unit_paragraphs=False))
    pool = Run.from_rows([{0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7}])
    mean = (BEES + OAK + (MOSS + (STONE + 3 * MIXED) / 2) / 2) / 3
    expected = [cosine(mean, label.name) for label in LABELS]
    np.testing.assert_allclose(full.score(full.read([PAPER]), pool), expected, atol=1e-6)
    with pytest.raises(
        ConfigError, match="unit_paragraphs is false, but the encoder bag only gives vectors of length 1"
    ):
        stage(unit_paragraphs=False)


def test_it_finds_the_labels_of_largest_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_text, "BATCH", 2)
    full: Retriever = stage()
    documents = [PAPER, EMPTY, PLAIN, PAPER, Document("s", abstract="stone")]
    run = full(documents)
    assert np.diff(run.indptr).tolist() == [4, 0, 4, 4, 4]
    np.testing.assert_allclose(full.score(full.read(documents), run), run.scores, atol=1e-6)
    assert run[0][0].tolist() == run[3][0].tolist()
    assert run[4][0][0] == 3
    assert full([]).indptr.tolist() == [0]
    few = FullText(Dense(LABELS, BagOfWords(), DenseOptions(k=1, label_text="name")), FullTextOptions(shortest=0))
    assert np.diff(few(documents).indptr).tolist() == [1, 0, 1, 1, 1]


def test_the_nearest_paragraphs_are_quoted_with_their_section() -> None:
    spans = stage().spans(PAPER, [3])[0]
    texts = [PAPER.text[quote.start : quote.end] for quote in spans]
    assert texts[:2] == ["stone", "stone stone oak"]
    assert [quote.weight for quote in spans[:2]] == pytest.approx([1.0, cosine(MIXED, "stone")], abs=1e-5)
    assert headings_at(PAPER, spans[0].start) == ("Body", "Details")
    assert stage().spans(EMPTY, [3])[0] == ()


trees = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=12)


def means(levels: list[int], sizes: list[int], leaves: list[float]) -> float | None:
    """Eq. 6 as it is written: the mean of the children, from the leaves up."""
    starts = np.cumsum([0, *sizes])
    above = parents(levels)

    def value(section: int) -> float | None:
        own = [] if section == HEAD else leaves[starts[section] : starts[section + 1]]
        below = [value(child) for child, parent in enumerate(above) if parent == section]
        children = [*own, *(child for child in below if child is not None)]
        return sum(children) / len(children) if children else None

    return value(HEAD)


@given(trees, st.integers(0, 99))
def test_shares_give_the_mean_of_means(tree: list[tuple[int, int]], seed: int) -> None:
    levels, sizes = [level for level, _ in tree], [size for _, size in tree]
    leaves = np.random.default_rng(seed).normal(size=sum(sizes)).tolist()
    shares = tree_shares(levels, sizes)
    assert len(shares) == len(leaves)
    expected = means(levels, sizes, leaves)
    assert (expected is None) == (not leaves)
    if expected is not None:
        assert shares.sum() == pytest.approx(1, abs=1e-5)
        assert float(shares @ np.array(leaves)) == pytest.approx(expected, abs=1e-5)

"""EDA and UDA, the text-only baselines of MICoL, as the benchmarks make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from benchmarks.augmentation import (
    delete_words,
    eda_pairs,
    insert_words,
    near_words,
    replace_words,
    replacement_chance,
    swap_words,
    uda_pairs,
)
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import ConfigError
from tagwright.papers.pairs import Source, group_of_document
from tagwright.types import Document, Floats

TEXTS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30)
SEEDS = st.integers(0, 99)


def upper(word: str) -> Sequence[str]:
    """The synonym of a vowel is its capital; consonants have none."""
    return [word.upper()] if word in "ae" else []


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(TEXTS, SEEDS, st.integers(1, 5))
def test_words_are_replaced_by_synonyms_wherever_they_stand(text: list[str], seed: int, count: int) -> None:
    augmented = replace_words(text, count, upper, rng(seed))
    assert [word.lower() for word in augmented] == text
    changed = {word for word, now in zip(text, augmented, strict=True) if word != now}
    assert len(changed) == min(count, len({"a", "e"} & set(text)))
    assert not changed & set(augmented)


@given(TEXTS, SEEDS, st.integers(1, 5))
def test_synonyms_are_inserted_between_words_that_keep_their_order(text: list[str], seed: int, count: int) -> None:
    augmented = insert_words(text, count, upper, rng(seed))
    assert [word for word in augmented if word.islower()] == text
    assert len(augmented) - len(text) == (count if {"a", "e"} & set(text) else 0)


@given(TEXTS, SEEDS)
def test_one_swap_moves_two_words(text: list[str], seed: int) -> None:
    numbered = [f"{i}{word}" for i, word in enumerate(text)]
    augmented = swap_words(numbered, 1, rng(seed))
    assert sorted(augmented) == sorted(numbered)
    assert sum(a != b for a, b in zip(numbered, augmented, strict=True)) == (2 if len(text) > 1 else 0)


@given(TEXTS, SEEDS, st.floats(0, 1))
def test_some_word_stays_and_the_order_too(text: list[str], seed: int, share: float) -> None:
    rest = iter(text)
    assert all(word in rest for word in delete_words(text, share, rng(seed)))
    assert delete_words(text, share, rng(seed))


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20), st.floats(0, 1))
def test_important_words_are_spared_and_p_is_the_mean_chance_unless_cut_at_1(weights: list[float], p: float) -> None:
    chances = replacement_chance(np.array(weights), p)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert chances.mean() <= p + 1e-9
    if chances.max() < 1:
        assert np.isclose(chances.mean(), p)


BEES = Document("1", "Bees", "Bees fly far")
WASPS = Document("2", "Wasps", "wasps fly")


def test_uda_keeps_the_most_important_word() -> None:
    # In BEES the TF-IDF of bees is 2/4 log 2, of far 1/4 log 2, of fly 0: C - TFIDF is 0, 0, 2, 1 in 1/4 log 2, mean
    # 3/4. With p = 3/8 fly is replaced always, far in half of the copies.
    copies = [pair for epoch in range(300) for pair in uda_pairs([BEES, WASPS], share=3 / 8)(epoch)]
    of_bees = [pair.positive.split() for pair in copies if pair.group == group_of_document(BEES)]
    assert len(of_bees) == 300
    assert all(copy[:2] == ["bees", "bees"] for copy in of_bees)
    # Their S, times x idf, are 2, 1, 0, 2 log 2: far is drawn with 1/3, fly with 2/3, bees and wasps never.
    drawn = Counter(copy[2] for copy in of_bees)
    assert set(drawn) == {"far", "fly"}
    assert abs(drawn["far"] - 100) < 5 * np.sqrt(300 * 2 / 9)
    # far is replaced in half of the copies, by itself in a third of these.
    assert abs(Counter(copy[3] for copy in of_bees)["fly"] - 100) < 5 * np.sqrt(300 * 2 / 9)


def test_a_copy_hangs_on_seed_and_epoch_alone() -> None:
    documents = [Document(str(i), abstract=" ".join("abcdefgh")) for i in range(5)]
    sources: list[Callable[..., Source]] = [partial(uda_pairs, documents), partial(eda_pairs, documents, upper)]
    for source in sources:
        first, again, other = (list(source(seed=seed)(3)) for seed in (0, 0, 1))
        assert first == again != other


def test_near_words_are_near_in_the_embedding() -> None:
    places = {"red": (1.0, 0.0), "rose": (0.9, 0.1), "blue": (0.0, 1.0), "sky": (0.1, 0.9)}

    def encode(texts: Sequence[str]) -> Floats:
        return np.array([places[text] for text in texts], np.float32)

    documents = [Document(str(i), abstract=word) for i, word in enumerate(places)]
    near = near_words(documents, encode, k=1)
    assert [list(near(word)) for word in (*places, "unknown")] == [["rose"], ["red"], ["sky"], ["blue"], []]


def test_documents_without_text_are_left_out() -> None:
    assert [pair.anchor for pair in uda_pairs([BEES, Document("mute")])(0)] == [BEES.title_and_abstract]
    for empty in ([], [Document("mute")]):
        with pytest.raises(ConfigError, match="has any text"):
            eda_pairs(empty, upper)
        with pytest.raises(ConfigError, match="has any text"):
            uda_pairs(empty)

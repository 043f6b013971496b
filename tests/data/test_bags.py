from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.saved import again

from tagwright.data import bags
from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.errors import InputError
from tagwright.text.words import words

TEXTS = [
    "Bees make honey, bees and wasps sting.",
    "Wasps sting; honey does not.",
    "The market: money, money, stock.",
    "Money in the bank and honey in the hive",
    "The river bank",
]


def test_the_weights_are_those_of_scikit_learn() -> None:
    theirs = TfidfVectorizer(
        tokenizer=lambda text: words(text), lowercase=False, token_pattern=None, min_df=2, max_df=0.7
    )
    expected = theirs.fit_transform(TEXTS)
    bag = BagOfWords.of(TEXTS)
    assert bag.words == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(bag.transform(TEXTS).toarray(), expected.toarray(), rtol=1e-6)


def test_plain_weights_are_counts_times_the_logarithm_of_how_few_hold_the_word() -> None:
    bag = BagOfWords.of(TEXTS, BagOptions(min_documents=1, max_share=1, weighting="plain"))
    row = dict(zip(bag.words, bag.transform(["money bees money"]).toarray()[0].tolist(), strict=True))
    assert row["money"] == pytest.approx(2 * math.log(5 / 2))  # twice in the text, in 2 of 5 documents
    assert row["bees"] == pytest.approx(math.log(5 / 1))
    assert sum(weight != 0 for weight in row.values()) == 2


@pytest.mark.parametrize(("share", "kept"), [(0.6, ["honey"]), (0.59, [])])
def test_a_word_at_the_largest_share_counts_and_one_above_does_not(share: float, kept: list[str]) -> None:
    bag = BagOfWords.of(TEXTS, BagOptions(min_documents=1, max_share=share))  # honey: 3 of 5
    assert [word for word in bag.words if word == "honey"] == kept


def test_the_size_of_the_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bag = BagOfWords.of(TEXTS)
    whole = bag.transform(TEXTS).toarray()
    monkeypatch.setattr(bags, "TEXTS", 2)
    np.testing.assert_array_equal(bag.transform(TEXTS).toarray(), whole)


def test_texts_without_a_known_word_are_rows_of_zeros() -> None:
    features = BagOfWords.of(TEXTS).transform(["", "unheard of", "honey"])
    assert np.diff(features.indptr).tolist() == [0, 0, 1]
    assert features.data.tolist() == [1.0]
    assert BagOfWords.of(TEXTS).transform([]).shape == (0, len(BagOfWords.of(TEXTS).words))


def test_a_text_of_words_that_all_have_is_a_row_of_zeros() -> None:
    bag = BagOfWords.of(
        ["the bees", "the wasps", "the bees"], BagOptions(min_documents=1, max_share=1.0, weighting="plain")
    )
    assert bag.transform(["the", "the bees"]).getnnz(axis=1).tolist() == [0, 1]


def test_a_saved_bag_gives_the_same_weights() -> None:
    bag = BagOfWords.of(TEXTS, BagOptions(weighting="plain"))
    loaded = again(bag)
    assert loaded.words == bag.words
    np.testing.assert_array_equal(loaded.transform(TEXTS).toarray(), bag.transform(TEXTS).toarray())


def test_no_word_that_counts_is_an_error() -> None:
    with pytest.raises(InputError, match="of 2 words in 2 documents none stands in at least 2"):
        BagOfWords.of(["bees", "wasps"])

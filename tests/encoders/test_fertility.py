"""How well a tokenizer knows a language, with the tokenizer of tests/tiny.py: a few words, any other spelled."""

from pathlib import Path

import numpy as np
import pytest
from tests.tiny import tiny_encoder
from tokenizers import Tokenizer

from tagwright.encoders.tokens import Fertility
from tagwright.text.batch import Numbered


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder: Path = tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def letters_per_token(tokenizer: Tokenizer, text: str) -> float:
    return float(Fertility(tokenizer)(Numbered.of([text], 2))[0])


def test_known_words_have_all_their_letters_in_one_token(tokenizer: Tokenizer) -> None:
    assert letters_per_token(tokenizer, "Honey, a flower! market") == pytest.approx((5 + 6 + 6) / 3)


def test_spelled_words_have_one_letter_in_a_token(tokenizer: Tokenizer) -> None:
    assert letters_per_token(tokenizer, "hunaja kukka") == 1
    assert letters_per_token(tokenizer, "market kukka") == pytest.approx((6 + 5) / (1 + 5))


def test_words_of_another_script_are_not_known(tokenizer: Tokenizer) -> None:
    assert letters_per_token(tokenizer, "мёдоносная 図書館") == 0
    assert letters_per_token(tokenizer, "market 図") == 6 / 2


def test_short_words_and_numbers_say_nothing(tokenizer: Tokenizer) -> None:
    assert np.isnan(letters_per_token(tokenizer, "bee bees 12345 b2b2b2"))


def test_padding_and_truncation_of_the_tokenizer_change_nothing_and_stay(tokenizer: Tokenizer) -> None:
    padded = Tokenizer.from_str(tokenizer.to_str())
    padded.enable_padding(length=64)
    padded.enable_truncation(2)
    assert letters_per_token(padded, "hunaja kukka") == 1
    assert (padded.padding or {})["length"] == 64
    assert (padded.truncation or {})["max_length"] == 2


def test_each_text_has_its_own_number_and_none_where_no_word_tells(tokenizer: Tokenizer) -> None:
    found = Fertility(tokenizer)(Numbered.of(["Honey, a flower!", "kukka", "bee", "мёдоносная honey"], 2))
    assert found.tolist()[:2] == [(5 + 6) / 2, 1]
    assert np.isnan(found[2])
    assert found[3] == np.float32(5 / 2)  # the unknown word is one token
    assert Fertility(tokenizer)(Numbered.of([], 2)).tolist() == []

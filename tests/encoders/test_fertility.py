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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Honey, a flower! market", (5 + 6 + 6) / 3),  # known words have all their letters in one token
        ("hunaja kukka", 1),  # spelled ones a letter in each
        ("market kukka", (6 + 5) / (1 + 5)),
        ("мёдоносная 図書館", 0),  # of another script
        ("market 図", 6 / 2),
        ("bee bees 12345 b2b2b2", np.nan),  # short words and numbers say nothing
    ],
)
def test_letters_per_token(tokenizer: Tokenizer, text: str, expected: float) -> None:
    assert letters_per_token(tokenizer, text) == pytest.approx(expected, nan_ok=True)


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

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny import VOCABULARY, tiny_encoder
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.tokens import (
    Tokens,
    check_growth,
    fertility_of,
    tokenizer_of,
    tokenizes_words_independently,
)
from tagwright.errors import ModelError
from tagwright.text.batch import Numbered
from tagwright.text.words import clean
from tagwright.training.trainable_encoder import chunks

TOKENIZER = Tokenizer(models.WordPiece({token: i for i, token in enumerate(VOCABULARY)}, unk_token="[UNK]"))
TOKENIZER.normalizer = normalizers.BertNormalizer(lowercase=True)
TOKENIZER.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
TOKENIZER.add_special_tokens(["[CLS]", "[SEP]"])


@given(st.lists(st.text().map(clean), max_size=6))
def test_word_by_word_the_tokens_are_those_of_the_tokenizer(texts: list[str]) -> None:
    assert tokenizes_words_independently(TOKENIZER)
    expected = [TOKENIZER.encode(text, add_special_tokens=False).ids for text in texts]
    assert tokenizer_of(TOKENIZER)(texts).lists() == expected


def test_a_tokenizer_that_sees_more_than_a_word_is_asked_for_the_whole_text() -> None:
    byte_level = Tokenizer(models.BPE({"a": 0, "Ġa": 1, "Ġ": 2}, [("Ġ", "a")]))
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert not tokenizes_words_independently(byte_level)
    assert tokenizer_of(byte_level)(["a a", ""]).ids.tolist() == [0, 1]
    of_two_words = Tokenizer.from_str(TOKENIZER.to_str())
    of_two_words.add_tokens([AddedToken("New York")])
    assert not tokenizes_words_independently(of_two_words)


@given(st.lists(st.text("behony was."), max_size=6), st.integers(1, 4), st.sampled_from(["left", "right"]))
def test_texts_are_cut_as_the_tokenizer_cuts_them(texts: list[str], most: int, direction: str) -> None:
    tokenizer = Tokenizer.from_str(TOKENIZER.to_str())
    tokenizer.enable_truncation(most, direction=direction)
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert tokenizes_words_independently(tokenizer) == (direction == "right")
    tokens = tokenizer_of(tokenizer)(texts)
    assert tokens.lists() == expected
    assert tokens.ids.tolist() == [token for ids in expected for token in ids]
    assert (tokenizer.truncation or {})["max_length"] == most


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 5000))
def test_chunks_hold_every_text_once_and_no_more_than_their_budget(lengths: list[int], budget: int) -> None:
    found = chunks(Tokens.of([[0] * length for length in lengths]).lengths, budget)
    assert sorted(i for chunk in found for i in chunk.tolist()) == list(range(len(lengths)))
    for chunk in found:
        padded = max(lengths[i] for i in chunk) * len(chunk)
        assert padded <= budget or len(chunk) == 1


def charsmap(replacement: str) -> bytes:
    """Rules of SentencePiece: the size of a search tree, an empty tree, and what characters are replaced by."""
    return struct.pack("<I", 16) + bytes(16) + f"ab\0{replacement}\0".encode()


def grown(folder: Path, **parts: Any) -> Path:
    """A tiny encoder whose tokenizer has these parts."""
    file = tiny_encoder(folder) / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.save(str(file))
    # transformers builds those of BERT anew
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "model_max_length": 64}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("parts", "times"),
    [
        ({"normalizer": normalizers.Sequence([normalizers.Replace("a", 1000 * "b")] * 6)}, r"1e\+18"),
        (
            {"normalizer": normalizers.Sequence([normalizers.Sequence([normalizers.Replace("ab", 22 * "c")] * 2)])},
            "121",
        ),
        ({"normalizer": normalizers.Sequence([normalizers.Replace(Regex(""), "a")] * 7)}, "128"),
        ({"normalizer": normalizers.Sequence([normalizers.Prepend("abcd")] * 3)}, "125"),
        ({"normalizer": normalizers.Precompiled(charsmap(1836 * "x"))}, "102"),
        ({"post_processor": processors.TemplateProcessing(single=" ".join(["$A"] * 306), pair="$A $B")}, "103"),
    ],
)
def test_a_tokenizer_that_makes_texts_much_longer_is_refused(parts: Any, times: str, tmp_path: Path) -> None:
    folder = grown(tmp_path / "tiny", **parts)
    refused = pytest.raises(ModelError, match=f"may make a text {times} times as long, expected at most 100 times")
    with refused:
        BiEncoder.load(str(folder)).encode(["a"])
    with refused:
        _ = BiEncoder.load(str(folder)).model
    with refused:
        _ = CrossEncoder.load(str(folder)).model


def test_tokenizers_of_known_models_are_admitted(tmp_path: Path) -> None:
    quotes = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD()]
    spaces = [normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")]
    for number, rules in enumerate(([*quotes, *spaces], [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])):
        folder = grown(tmp_path / str(number), normalizer=normalizers.Sequence(rules))
        assert BiEncoder.load(str(folder)).encode(["a"]).shape == (1, 16)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap(18 * "x")), *spaces])
    check_growth(tokenizer, tmp_path)


def letters_per_token(text: str, tokenizer: Tokenizer = TOKENIZER) -> float:
    return float(fertility_of(tokenizer)(Numbered.of([text]))[0])


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
def test_letters_per_token(text: str, expected: float) -> None:
    assert letters_per_token(text) == pytest.approx(expected, nan_ok=True)


def test_truncation_of_the_tokenizer_changes_nothing() -> None:
    cut = Tokenizer.from_str(TOKENIZER.to_str())
    cut.enable_truncation(2)
    assert letters_per_token("hunaja kukka", cut) == 1


def test_each_text_has_its_own_number_and_none_where_no_word_tells() -> None:
    found = fertility_of(TOKENIZER)(Numbered.of(["Honey, a flower!", "kukka", "bee", "мёдоносная honey"]))
    assert found.tolist()[:2] == [(5 + 6) / 2, 1]
    assert np.isnan(found[2])
    assert found[3] == np.float32(5 / 2)  # the unknown word is one token
    assert fertility_of(TOKENIZER)(Numbered.of([])).tolist() == []

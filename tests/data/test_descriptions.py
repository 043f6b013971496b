from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.tiny import _tokenizer

from tagwright.data.descriptions import cut, pseudo_description, read_keywords, with_keywords, write_keywords
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.types import Label

BEES, OAK = Label("1", ("Bees", "Apoidea"), "Flying insects."), Label("2", ("Oak",))
LABELS = Vocabulary([BEES, OAK])


@pytest.mark.parametrize(
    ("label", "keywords", "expected"),
    [
        (BEES, ("honey", "wing"), "Bees. honey wing. Flying insects"),
        (BEES, (), "Bees. Flying insects"),
        (OAK, ("acorn",), "Oak. acorn"),
        (OAK, (), "Oak"),
    ],
)
def test_a_label_s_text_is_name_description_and_keywords(
    label: Label, keywords: tuple[str, ...], expected: str
) -> None:
    assert pseudo_description(label, keywords) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, "honey"), (2, "honey b"), (3, "honey bx"), (4, "honey bx!"), (9, "honey bx!")]
)
def test_a_text_is_cut_after_its_last_token(tokens: int, expected: str) -> None:
    tokenizer = _tokenizer()
    assert cut("honey bx!", tokenizer, tokens) == expected  # honey, b, ##x, !
    assert len(tokenizer.encode(expected, add_special_tokens=False)) == min(tokens, 4)


def test_padding_is_no_token_of_the_text() -> None:
    tokenizer = _tokenizer()
    tokenizer.enable_padding(length=20)  # so does the tokenizer of MiniLM, before its first use
    assert cut("honey bx!", tokenizer, 8) == "honey bx!"
    assert cut("honey bx!", tokenizer, 2) == "honey b"


def test_keywords_can_be_written_edited_and_read(tmp_path: Path) -> None:
    path = tmp_path / "keywords.jsonl"
    write_keywords(LABELS, {"1": ("honey", "wing"), "2": ()}, path)
    assert json.loads(path.read_text()) == {"id": "1", "name": "Bees", "keywords": ["honey", "wing"]}
    path.write_text('{"id": "2", "keywords": ["acorn", " "]}\n\n{"id": 1, "keywords": null}\n')
    assert read_keywords(path) == {"2": ("acorn",), "1": ()}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": "1", "keywords": "honey, wing"}', r"keywords.jsonl:1: keywords is .*expected a list"),
        ('{"keywords": []}', "id is missing"),
        (
            '{"id": "1", "keyword": ["honey"]}',
            ":1: keywords is missing, expected a list of words; there are id, keyword",
        ),
        ('{"id": "3", "keywords": ["honey"]}', ":1: no label has the id"),
        ('{"id": "1", "keywords": []}\n{"id": "1", "keywords": []}', r":2: the id 1 is on an earlier line"),
    ],
)
def test_a_file_of_keywords_that_cannot_be_read_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "keywords.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_keywords(path, LABELS.index)


def test_a_vocabulary_can_carry_the_keywords_in_its_descriptions() -> None:
    richer = with_keywords(LABELS, {"1": ("honey",), "2": ("acorn", "leaf")})
    assert [label.text for label in richer] == ["Bees; Apoidea. Flying insects. honey", "Oak. acorn leaf"]
    assert with_keywords(LABELS, {})[0] == BEES

from __future__ import annotations

from pathlib import Path

import pytest

from tagwright.data.keywords import keyword_records
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.readers.keywords import read_keywords
from tagwright.types import Label

BEES, OAK = Label("1", ("Bees", "Apoidea"), "Flying insects."), Label("2", ("Oak",))
LABELS = Vocabulary([BEES, OAK])


def test_keywords_can_be_written_edited_and_read(tmp_path: Path) -> None:
    path = tmp_path / "keywords.jsonl"
    written = keyword_records(LABELS, {"1": ("honey", "wing"), "2": ()})
    assert list(written) == [{"id": "1", "name": "Bees", "keywords": ["honey", "wing"]}]
    path.write_text('{"id": "2", "keywords": ["acorn", " "]}\n\n{"id": 1, "keywords": null}\n')
    assert read_keywords(path, ["1", "2"]) == {"2": ("acorn",), "1": ()}


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

"""Products as documents and labels, as in the Extreme Classification repository: a product is not its own answer."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tagwright as tw
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary

TITLES = {"3": "Red lamp", "0": "Lamp", "B7": "Green desk", "1": "Desk"}
"By uid: some are numbers, which are positions of other labels."
BOUGHT = {"3": [1], "B7": [3]}
"Uid of a document -> positions of the labels that were bought with it."


def written(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Vocabulary:
    return Vocabulary.read(
        written(tmp_path / "lbl.json.gz", ({"uid": uid, "title": title} for uid, title in TITLES.items()))
    )


@pytest.fixture
def documents(tmp_path: Path) -> Corpus:
    records = (
        {"uid": uid, "title": TITLES[uid], "content": "", "target_ind": places, "target_rel": [1.0] * len(places)}
        for uid, places in BOUGHT.items()
    )
    return Corpus.read(written(tmp_path / "tst.json.gz", records))


def test_labels_keep_their_ids_and_documents_refer_to_them_by_position(labels: Vocabulary, documents: Corpus) -> None:
    assert labels.ids == (*TITLES,)
    assert [[labels.ids[label] for label in row.labels] for row in map(labels.gold(documents).take, ([0], [1]))] == [
        ["0"],
        ["1"],
    ]


def test_a_product_is_its_own_first_suggestion_unless_that_is_left_out(labels: Vocabulary, documents: Corpus) -> None:
    """The name in two words is found before the one in a word: 0 of 2 are right, and without the product itself 2."""
    tagger = tw.zero_shot(labels, stages=["exact_match"], language="en")
    assert tw.evaluate(tagger, documents)["P@1"].value == 0
    assert tw.evaluate(tagger, documents, exclude_self=True)["P@1"].value == 1


def test_leaving_out_what_is_not_there_is_an_error(labels: Vocabulary) -> None:
    tagger = tw.zero_shot(labels, stages=["exact_match"], language="en")
    with pytest.raises(tw.ConfigError, match="none of the 1 documents has the id of a label; leave out exclude_self"):
        tw.evaluate(tagger, [tw.Document("x", "A lamp", labels=("Lamp",))], exclude_self=True)


def test_a_training_that_leaves_out_what_is_not_there_is_an_error() -> None:
    pytest.importorskip("torch")
    with pytest.raises(tw.ConfigError, match="exclude_self is on, but none of the 4 documents has the id of a label"):
        tw.train("maclr", [{"title": "a", "text": "b"}] * 4, ["Lamp"], exclude_self=True, encoder="static")

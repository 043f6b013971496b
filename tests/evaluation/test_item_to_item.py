"""Products as documents and labels, as in the Extreme Classification repository: a product is not its own answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagwright as tw
from tagwright.api.evaluating import read_evaluation_set
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation import dataset
from tagwright.readers.published import read_candidates
from tagwright.types import Distribution, Floats

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


TOY = {
    "10": ("18 13 11 14 17 10 19", "18 17"),
    "12": ("18 12 14 13 15 10 17", "14"),
    "13": ("15 13 16 17 18 12 11", "15 17"),
    "15": ("11 15 18 12 17 16 14", "12 18 19"),
    "16": ("16 12 19 13 10 18 11", "12 10 11"),
    "30": ("15 10 14 13 17 12 19", "17"),
    "31": ("10 11 16 13 14 12 17", "10"),
    "32": ("16 19 18 13 12 15 10", "16 13"),
}
"Uid of a document -> what is suggested for it, best first, with scores 7 to 1, and what was bought with it."

UIDS = [str(uid) for uid in range(10, 20)]
"Uids of the labels: five of the documents are labels too."

FILTER = "0 0\n0 3\n1 2\n1 8\n2 3\n3 5\n4 6\n"
"Positions of a document and of a label that does not count for it: itself, and of two documents another one."

CANDIDATES = {
    "10": "19 17 11",
    "12": "12 14 10",
    "13": "17 15 13",
    "15": "18 12 15",
    "16": "16 11 10",
    "30": "15 17 13",
}
CANDIDATES |= {"31": "11 10", "32": "18 13 16"}

ELSEWHERE = {
    "": (0.5, 0.29167, 0.325, 0.67575, 0.91667),
    "exclude_self": (0.625, 0.375, 0.325, 0.7334, 0.91667),
    "label_filter": (0.75, 0.375, 0.325, 0.78289, 0.91667),
    "candidates": (0.375, 0.5, 0.3, 0.67733, 0.85417),
}
"""P@1, P@3, P@5, nDCG@5 and R@5 of TOY by BEIR 2.2.0 (`EvaluateRetrieval.evaluate`) and by pyxclib 5d13086
(`xc_metrics.precision`, `ndcg`, `recall`), which agree in all five decimals. BEIR leaves out the document itself by
`ignore_identical_ids=True`; for pyxclib, and for both with a filter and with candidates, other suggestions were left
out of the dictionary, or the sparse matrix, that they were given."""


class Table(tw.Retriever):
    """A retriever whose scores are those of TOY."""

    distribution: Distribution = "sparse"

    def __init__(self, labels: Sequence[tw.Label]) -> None:
        self.places = {label.id: place for place, label in enumerate(labels)}

    def read(self, documents: Sequence[tw.Document]) -> tw.Run:
        rows = [TOY[document.id][0].split() for document in documents]
        return tw.Run.from_rows([{self.places[uid]: 7.0 - rank for rank, uid in enumerate(row)} for row in rows])

    def find(self, reading: tw.Run) -> tw.Run:
        return reading

    def score(self, reading: tw.Run, candidates: tw.Run) -> Floats:
        rows = [dict(zip(labels.tolist(), scores.tolist(), strict=True)) for labels, scores in reading]
        pairs = zip(candidates.rows.tolist(), candidates.labels.tolist(), strict=True)
        return np.array([rows[row].get(label, 0.0) for row, label in pairs], np.float32)

    def with_labels(self, labels: Sequence[tw.Label]) -> Table:
        return Table(labels)

    def state(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[tw.Label]) -> Table:
        raise NotImplementedError


@pytest.mark.parametrize("without", ELSEWHERE)
def test_a_toy_set_is_measured_as_by_beir_and_pyxclib(without: str, tmp_path: Path) -> None:
    labels = Vocabulary.read(written(tmp_path / "lbl.json.gz", ({"uid": uid, "title": f"n{uid}"} for uid in UIDS)))
    gold = {uid: [UIDS.index(label) for label in bought.split()] for uid, (_, bought) in TOY.items()}
    texts = ({"uid": uid, "title": "x", "content": "", "target_ind": places} for uid, places in gold.items())
    documents = Corpus.read(written(tmp_path / "tst.json.gz", texts))
    (tmp_path / "filter_labels_test.txt").write_text(FILTER)
    label_filter = tmp_path / "filter_labels_test.txt" if without == "label_filter" else None
    task = read_evaluation_set(documents, labels, exclude_self=without == "exclude_self", label_filter=label_filter)
    lines = [json.dumps({"id": uid, "candidates": among.split()}) for uid, among in CANDIDATES.items()]
    (tmp_path / "candidates.json").write_text("\n".join(lines))
    given = read_candidates(tmp_path / "candidates.json", list(TOY), labels.index) if without == "candidates" else None
    measures = ["P@1", "P@3", "P@5", "nDCG@5", "R@5"]
    tagged = dataset.tag(tw.Tagger(labels, {"table": Table(labels)}), task, candidates=given)
    found = dataset.score(tagged, task, measures)
    assert [found[name].value for name in measures] == pytest.approx(ELSEWHERE[without], abs=5e-5)


@pytest.mark.parametrize(("own", "ndcg", "recall"), [("", 0.7334, 0.91667), ("13", 0.70642, 0.875)])
def test_a_document_among_its_own_gold_labels_is_no_gold_label(own: str, ndcg: float, recall: float) -> None:
    """The second figures are BEIR's and pyxclib's, which count it as missed; as we do if it is left in."""
    places = {uid: place for place, uid in enumerate(UIDS)}
    gold = {uid: [*bought.split(), *([own] if uid == own else [])] for uid, (_, bought) in TOY.items()}
    run = tw.Run.from_rows(
        [
            {places[label]: -rank for rank, label in enumerate(row.split()) if label != uid}
            for uid, (row, _) in TOY.items()
        ]
    )
    documents = [tw.Document(uid, "x", labels=tuple(bought)) for uid, bought in gold.items()]
    vocabulary = Vocabulary([tw.Label(uid, (f"n{uid}",)) for uid in UIDS])
    measures = ["nDCG@5", "R@5"]
    left_out = tw.evaluate(run, documents, labels=vocabulary, exclude_self=True, measures=measures)
    assert [left_out[name].value for name in measures] == pytest.approx([0.7334, 0.91667], abs=5e-5)
    left_in = tw.evaluate(run, documents, labels=vocabulary, measures=measures)
    assert [left_in[name].value for name in measures] == pytest.approx([ndcg, recall], abs=5e-5)

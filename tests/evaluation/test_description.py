"""What `describe` counts, warns of and allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.description import describe
from tagwright.types import Document, Label, Section

LABELS = Vocabulary(
    [
        Label("bee", ("Bees", "Apoidea"), "Insects."),
        Label("spelling", ("Spelling bee", "BEES"), broader=("game",)),
        Label("game", ("Games",)),
    ]
)
BEES = Document("1", title="Bees", abstract="They fly far.", metadata={"author": ("Ann", "Bo")}, labels=("bee",))
WASPS = Document("2", title="Wasps", sections=(Section("Wings", 1, ("Four.",)),), metadata={"author": ("Ann",)})


def warnings(documents: Sequence[Document], labels: Vocabulary | None = None) -> tuple[str, ...]:
    return describe(documents, labels).warnings


def test_documents_are_counted() -> None:
    """Words: 4 (title 1, abstract 3) and 3 (title, heading, paragraph); the median 3.5 is cut to 3."""
    assert describe([BEES, WASPS], None).facts == {
        "documents": 2,
        "words per document (median)": 3,
        "words per document (largest)": 4,
        "documents with abstract": 1,
        "documents with labels": 1,
        "documents with sections": 1,
        "documents with title": 2,
        "labels per labelled document (mean)": 1.0,
        "metadata fields": "1, none of them read as text",
        "fields that join documents": "author",
        "fields that nothing uses": "none",
    }


def test_labels_are_counted() -> None:
    facts = describe([BEES], LABELS).facts
    assert {name: facts[name] for name in list(facts)[-5:]} == {
        "labels": 3,
        "names per label (mean)": pytest.approx(5 / 3),
        "labels without description": 2,
        "labels with broader": 1,
        "labels that occur in the documents": 1,
    }


def test_documents_without_text_and_with_the_same_text_are_named() -> None:
    documents = [Document("1", "The bees"), Document("2", "The  bees"), Document("3", "The", "bees")]
    assert warnings([*documents, Document("e", title=" ")]) == (
        "1 document without any text, such as e",
        "2 documents with the text of another, such as 2 and 1",
    )


def test_a_metadata_value_that_links_too_many_is_named() -> None:
    """Of 300 documents 1% are 3: Ann, who wrote 4, links too many, and Bo with 3 does not."""
    authors = ["Ann"] * 4 + ["Bo"] * 3 + [str(number) for number in range(293)]
    found = warnings([Document(str(n), str(n), metadata={"author": (each,)}) for n, each in enumerate(authors)])
    assert found == ('1 value of author links more than 1% of all documents, "Ann" most: 4 (1%)',)


def test_names_of_several_labels_are_named_without_regard_to_case() -> None:
    assert warnings([WASPS, BEES], LABELS)[-1] == '1 name shared by several labels, such as "bees" by bee and spelling'


def test_unknown_gold_labels_are_named() -> None:
    documents = [Document("1", "a", labels=("zebra", "APOIDEA")), Document("2", "b", labels=("yak", "yak"))]
    assert "2 gold labels not in the vocabulary, such as yak" in warnings(documents, LABELS)


def test_methods_need_what_they_learn_from() -> None:
    assert describe([Document("1", "Bees")], None).methods == (
        "zero_shot: needs a vocabulary (--labels)",
        "text pairs (RTS, MACLR): no, no document has a title and a text",
        "metadata (MICoL): no, no metadata value is shared by two documents",
        "full text (FuTex): no, no document has sections",
        "supervised (DEPL): no, no document has labels",
    )
    assert describe([BEES, WASPS], LABELS).methods == (
        "zero_shot: yes, nothing is trained",
        "text pairs (RTS, MACLR): yes, 2 of 2 documents have a title and a text",
        "metadata (MICoL): yes, by author",
        "full text (FuTex): yes, 1 of 2 documents have sections",
        "supervised (DEPL): yes, 1 of 2 documents have labels",
    )


def test_labels_decide_with_which_method_to_begin() -> None:
    papers = [Document(str(number), sections=(Section("", 1, ("word " * 2000,)),)) for number in range(20)]
    labelled = [replace(paper, labels=("bee",)) for paper in papers]
    assert describe([*papers, *labelled[:19]], LABELS).advice["method"] == "zero_shot"
    assert describe(labelled, LABELS).advice["method"] == "auto"


def test_labels_given_by_name_occur_and_documents_that_are_labels_are_noticed() -> None:
    labels = Vocabulary([Label("d1", ("Bees",)), Label("2", ("Owls",))])
    found = describe([Document("d1", "Bees", labels=("Owls",)), Document("d2", "Owls")], labels)
    assert found.facts["labels that occur in the documents"] == 1
    assert "1 document with the id of a label; where no label is its own, score with --exclude-self" in found.warnings

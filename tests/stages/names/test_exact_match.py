from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from tagwright.stages.names import patterns as names_module
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.text.words import words
from tagwright.types import Document, Label, Section


def vocabulary(*names: str | tuple[str, ...]) -> list[Label]:
    return [Label(str(i), (name,) if isinstance(name, str) else name) for i, name in enumerate(names)]


def quoted(document: Document, label: int, stage: ExactMatch) -> list[str]:
    return [document.text[quote.start : quote.end] for quote in stage.spans(document, [label])[0]]


def scores(document: Document, *names: str | tuple[str, ...]) -> dict[int, float]:
    labels, values = ExactMatch(vocabulary(*names))([document])[0]
    return dict(zip(labels.tolist(), values.tolist(), strict=True))


# What is a match


@pytest.mark.parametrize(
    ("text", "names", "expected", "options"),
    [
        ("We train neural networks.", ["Neural Network"], [0], {}),
        ("NEURAL-NETWORK models", ["Neural Network"], [0], {}),
        ("a neural\nnetwork's size", ["Neural Network"], [0], {}),
        # function words are no names, unless that is wanted: those of the language
        ("It may be his will and its own die.", ["May", "Will", "Its", "May Day"], [], {}),
        ("It may be his will and its own die.", ["May", "Will", "Its", "May Day"], [0, 1, 2], {"common": True}),
        ("Sie war die Erste.", ["Die", "War"], [], {"stem": "german"}),
        ("Sie war die Erste.", ["Die", "War"], [0, 1], {"stem": "german+english"}),
        ("Se on hän", ["Hän"], [], {"stem": "fi"}),
        # of two languages the endings of both are cut off
        ("Eine Bibliothek", ["Bibliotheken", "Libraries"], [0], {"stem": "de+en"}),
        ("My library", ["Bibliotheken", "Libraries"], [1], {"stem": "de+en"}),
        ("图书馆的历史", ["图书馆"], [0], {"stem": "zh"}),
        ("Historia bibliotek", ["biblioteki"], [0], {"stem": "pl"}),
        # a short name in capitals stands in capitals, unless another name of the vocabulary does not
        ("It aids the led cat", ["IT", "AIDS", "LED", "CAT"], [], {}),
        ("Hearing aids, Aids", ["AIDS"], [], {}),
        ("IT for AIDS with LEDs", ["IT", "AIDS", "LED"], [0, 1, 2], {}),
        ("it aids", ["AIDS", "IT"], [0, 1], {"common": True}),
        ("hearing aids", ["AIDS", "Aids"], [1], {}),
        ("AIDS", ["AIDS", "Aids"], [0, 1], {}),
        ("bees and elephants", ["BEES", "ELEPHANTS", "INSECTS"], [0, 1], {}),
        # inverted names
        ("Breast neoplasms on an optical bench", ["Neoplasms, Breast", "Bench, Optical (Physics)"], [0, 1], {}),
        ("in color Doppler echocardiography", ["Echocardiography, Doppler, Color"], [0], {}),
    ],
)
def test_names_are_found_in_their_forms(
    text: str, names: list[str], expected: list[int], options: dict[str, Any]
) -> None:
    labels, _ = ExactMatch(vocabulary(*names), ExactMatchOptions(**options))([Document("d", abstract=text)])[0]
    assert sorted(labels.tolist()) == expected


def test_no_name_goes_on_from_one_document_into_the_next() -> None:
    stage = ExactMatch(vocabulary("Neural Network"))
    run = stage([Document("a", abstract="neural"), Document("b", abstract="network"), Document("c")])
    assert run.indptr.tolist() == [0, 0, 0, 0]


def test_no_mention_makes_more_candidates_than_one_name_may_have_labels() -> None:
    stage = ExactMatch(vocabulary(*["Bee"] * 20_000))
    assert len(stage([Document("d", "bees", "Bees, bees.")]).labels) == names_module.SHARED == 1000


def test_occurrence_of_two_spellings_of_a_label_counts_once() -> None:
    document = Document("d", abstract="AIDS and aids")
    stage = ExactMatch(vocabulary(("AIDS", "Aids", "AID")))
    assert quoted(document, 0, stage) == ["AIDS", "aids"]
    assert quoted(document, 0, ExactMatch(vocabulary(("AIDS", "AID")))) == ["AIDS"]


# Qualifiers and inverted names


def test_qualified_name_is_found_with_and_without_its_qualifier() -> None:
    full = scores(Document("d", abstract="bond (finance)"), "Bond (finance)", "Finance")[0]
    bare = scores(Document("d", abstract="bond"), "Bond (finance)", "Finance")[0]
    unqualified = scores(Document("d", abstract="bond"), "Bond", "Finance")[0]
    assert full > unqualified > bare


# Score


def test_score_is_bits_times_saturated_early_occurrences() -> None:
    """Two labels, one word each, of one label each: log2(1 + 2 / 1) bits; title 1, first word behind it 1 / log2(3)."""
    values = scores(Document("d", title="Bees", abstract="Wasps"), "Bee", "Wasp")
    assert values[0] == pytest.approx(1.584963)  # log2(3) * log2(1 + 1)
    assert values[1] == pytest.approx(1.118499)  # log2(3) * log2(1 + 0.63093)


def test_k_keeps_the_best() -> None:
    stage = ExactMatch(vocabulary("Wasp", "Bee", "Ant"), ExactMatchOptions(k=1))
    documents = [Document("a", title="bees", abstract="ants, wasps"), Document("b", abstract="ants")]
    assert stage(documents).labels.tolist() == [1, 2]


def test_scope_head_ignores_the_sections_where_there_is_an_abstract() -> None:
    document = Document("d", "Bees", "They fly.", sections=(Section("Ants", 1, ("Wasps",)),))
    head = ExactMatch(vocabulary("Wasp", "Bee", "Ant"), ExactMatchOptions(text_field="title_and_abstract"))
    assert head([document]).labels.tolist() == [1]
    assert head.with_labels(vocabulary("Ant", "Bee"))([document]).labels.tolist() == [1]
    assert sorted(head([replace(document, abstract="")]).labels.tolist()) == [0, 1, 2]


# Quotes


def test_of_many_occurrences_the_hundred_that_weigh_most_are_evidence() -> None:
    document = Document("d", "Bees", "bee " * 500)
    spans = ExactMatch(vocabulary("Bee")).spans(document, [0])[0]
    starts = [0, *range(5, 5 + 99 * 4, 4)]  # the title weighs most, then the earlier the more
    assert [span.start for span in spans] == starts


# Properties

SMALL = st.sampled_from(["bee", "bees", "Bee", "wild", "wing", "wings", "IT", "it", "it's", "C++", "蜂", "α", "2"])
NAMES = st.lists(st.lists(SMALL, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3).map(tuple)
LABELS = st.lists(NAMES, max_size=5).map(lambda rows: [Label(str(i), row) for i, row in enumerate(rows)])
TEXT = st.lists(st.one_of(SMALL, st.sampled_from([".", "(", "\n", "bee,wild"])), max_size=20).map(" ".join)
DOCUMENTS = st.lists(st.builds(Document, st.just("d"), TEXT, TEXT), max_size=4)
OPTIONS = st.builds(
    ExactMatchOptions,
    stem=st.sampled_from(["none", "english"]),
    min_characters=st.integers(1, 4),
    longest=st.booleans(),
    common=st.just(True),
)


def naive_spans(
    document: Document, labels: Sequence[Label], options: ExactMatchOptions
) -> dict[int, set[tuple[int, int]]]:
    """For each label the word spans of its names, by comparing every name with every place of the text."""
    stem = Stemmer.Stemmer(options.stem).stemWord if options.stem != "none" else str
    text = [stem(word) for word in words(document.text)]
    spans: dict[int, set[tuple[int, int]]] = {}
    for index, label in enumerate(labels):
        for name in label.names:
            form = [stem(word) for word in words(name)]
            for start in range(len(text) - len(form) + 1):
                if sum(map(len, words(name))) >= options.min_characters and text[start : start + len(form)] == form:
                    spans.setdefault(index, set()).add((start, start + len(form)))
    if options.longest:
        every = set().union(*spans.values()) if spans else set()
        inner = {(s, e) for s, e in every for a, b in every if a <= s and e <= b and (a, b) != (s, e)}
        spans = {index: kept for index, own in spans.items() if (kept := own - inner)}
    return spans


@settings(deadline=None)
@given(LABELS, DOCUMENTS, OPTIONS)
def test_finds_what_a_naive_matcher_finds(
    labels: list[Label], documents: list[Document], options: ExactMatchOptions
) -> None:
    stage = ExactMatch(labels, options)
    run = stage(documents)
    assert len(run) == len(documents)
    for index, document in enumerate(documents):
        expected = naive_spans(document, labels, options)
        assert set(run[index][0].tolist()) == set(expected)
        for label, spans in expected.items():
            assert len(stage.spans(document, [label])[0]) == len(spans)


@settings(deadline=None)
@given(LABELS, DOCUMENTS.filter(bool), OPTIONS)
def test_quotes_hold_a_name_of_the_label(
    labels: list[Label], documents: list[Document], options: ExactMatchOptions
) -> None:
    stage = ExactMatch(labels, options)
    stem = Stemmer.Stemmer(options.stem).stemWord if options.stem != "none" else str
    for label, score in zip(*stage(documents[:1])[0], strict=True):
        spans = stage.spans(documents[0], [int(label)])[0]
        names = [list(map(stem, words(name))) for name in labels[label].names]
        assert all(list(map(stem, words(documents[0].text[q.start : q.end]))) in names for q in spans)
        assert sum(quote.weight for quote in spans) == pytest.approx(score)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.text())
def test_any_text_is_survived_and_a_name_is_found_in_itself(names: list[str], text: str) -> None:
    stage = ExactMatch([Label("0", tuple(names))], ExactMatchOptions(min_characters=1, common=True))
    documents = [Document("d", text, names[0]), Document("e", abstract=names[0])]
    assert len(stage(documents)[1][0]) == bool(words(names[0]))
    for quote in stage.spans(documents[0], [0])[0]:
        assert 0 <= quote.start < quote.end <= len(documents[0].text)


# Stored state and errors


def test_empty_vocabulary_and_no_documents() -> None:
    assert ExactMatch([])([Document("d", "Bees")]).indptr.tolist() == [0, 0]
    assert len(ExactMatch(vocabulary("Bee"))([])) == 0
    assert len(ExactMatch(vocabulary("?!"))([Document("d", "?!")]).labels) == 0

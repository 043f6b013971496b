"""What a notebook shows of suggestions: a table, and the text with its evidence marked, escaped and without scripts."""

from __future__ import annotations

import copy
import pickle
from xml.etree import ElementTree

import tagwright as tw

TEXT = "<script>alert('Bees & honey')</script>\nOrchards <b>bloom"


def tagger(*labels: tw.Label | str) -> tw.Tagger:
    return tw.zero_shot(tw.Vocabulary(labels), stages=["exact_match", "tfidf"], language="en")


def shown(value: tw.Suggestions | tw.Tagger | tw.Vocabulary | tw.Corpus) -> ElementTree.Element:
    """The HTML, which is well-formed XML here, and so has each element closed."""
    return ElementTree.fromstring(f"<body>{value._repr_html_()}</body>")


def cells(page: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(cell.itertext()) for cell in page.iter(tag)]


def test_suggestions_are_a_table() -> None:
    found = tw.Suggestions([tw.Suggestion("b", "Bees", 1.5, 0.6, "638.1"), tw.Suggestion("t", "Tax <law>", 0.25)])
    page = shown(found)
    assert cells(page, "th") == ["label", "id", "notation", "score", "confidence"]
    assert cells(page, "td") == ["Bees", "b", "638.1", "1.500", "likely", "Tax <law>", "t", "", "0.250", ""]


def test_taggers_vocabularies_and_corpora_are_tables_of_what_comes_first() -> None:
    page = shown(tagger("Bees", "Orchards"))
    assert cells(page, "caption") == ["Tagger of 2 labels: exact_match 0.5, tfidf 1; combined by evidence"]
    assert cells(page, "td") == ["exact_match", "its name in the text", "tfidf", "words shared with the label's text"]
    labels = [tw.Label(str(place), (f"Label <{place}>",), notation="59") for place in range(1200)]
    page = shown(tw.Vocabulary(labels))
    assert cells(page, "caption") == ["Vocabulary of 1,200 labels"]
    assert cells(page, "th") == ["label", "id", "notation"]
    assert cells(page, "td") == [cell for place in range(5) for cell in (f"Label <{place}>", str(place), "59")]
    page = shown(tw.Corpus.of([{"id": "a", "title": "Bees & honey", "labels": ["bees", "honey"]}]))
    assert cells(page, "caption") == ["Corpus of 1 document"]
    assert cells(page, "td") == ["Bees & honey", "a", "bees, honey"]


def test_words_are_to_the_left_and_numbers_to_the_right_in_one_line() -> None:
    page = shown(tw.Suggestions([tw.Suggestion("b", "Bees", 1.5, 0.6, "638.1")]))
    places = {cell.text: cell.get("style", "").partition("text-align:")[2] for cell in page.iter("td")}
    number = "right;white-space:nowrap"
    assert places == {"Bees": "left", "b": "left", "638.1": "left", "1.500": number, "likely": "left"}
    # columns that no suggestion has are left out
    assert cells(shown(tw.Suggestions([tw.Suggestion("b", "Bees", 1.0)])), "th") == ["label", "id", "score"]


def test_the_evidence_of_an_explained_text_is_marked() -> None:
    page = shown(tagger("Bees", "Orchards", "Tax law").explain(TEXT))
    assert cells(page, "mark") == ["Bees", "Orchards"]
    assert "".join(page.itertext()).endswith(TEXT)
    assert {each.tag for each in page.iter()}.isdisjoint({"script", "b"})


def test_without_explanation_there_is_only_the_table() -> None:
    page = shown(tagger("Bees", "Orchards", "Tax law").suggest(TEXT))
    assert cells(page, "mark") == []
    assert "alert" not in "".join(page.itertext())


def test_nothing_suggested_is_an_empty_table() -> None:
    page = shown(tagger("Bees").explain("Rain."))
    assert (cells(page, "td"), cells(page, "mark")) == ([], [])


def test_suggestions_are_a_list() -> None:
    found = tagger("Bees", "Orchards").explain(TEXT)
    assert found == list(found)
    assert repr(found) == repr(list(found))
    assert found[:1] == [found[0]]
    for other in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert other == found
        assert other._repr_html_() == found._repr_html_()

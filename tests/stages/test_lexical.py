import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from tagwright.errors import ConfigError, InputError
from tagwright.stages import lexical
from tagwright.stages.lexical import Lexical, LexicalOptions, calibrate
from tagwright.text.words import words
from tagwright.types import Document, Label, Run, Section

TEXTS = st.lists(st.sampled_from(["oak", "elm", "ash", "fir", "yew"]), min_size=1, max_size=6).map(" ".join)
MANY = st.lists(TEXTS, min_size=1, max_size=8)
WHOLE: dict[str, Any] = {"k": None, "stem": "none"}


def labels(*texts: str) -> list[Label]:
    return [Label(str(i), (text,)) for i, text in enumerate(texts)]


def documents(*texts: str) -> list[Document]:
    return [Document(str(i), title=text) for i, text in enumerate(texts)]


def row(run: Run, document: int = 0) -> dict[int, float]:
    found, scores = run[document]
    return dict(zip(found.tolist(), scores.tolist(), strict=True))


def test_bm25_of_a_worked_example() -> None:
    """avgdl is 2; "apple" is in 2 of 3 labels, "pear" in 1; the document's second "apple" adds nothing."""
    stage = Lexical(labels("red apple", "green apple tree", "pear"), LexicalOptions(**WHOLE))
    apple, pear = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    expected = {
        0: apple * 2.5 / (1 + 1.5),
        1: apple * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 3 / 2)),
        2: pear * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 1 / 2)),
    }
    assert row(stage(documents("Apple, apple, pear"))) == pytest.approx(expected)


@given(MANY, MANY)
@settings(deadline=None, max_examples=30)
def test_bm25_is_the_sum_over_shared_words(items: list[str], queries: list[str]) -> None:
    run = Lexical(labels(*items), LexicalOptions(**WHOLE))(documents(*queries))
    mean = sum(len(item.split()) for item in items) / len(items)
    for document, query in enumerate(queries):
        expected: dict[int, float] = {}
        for label, item in enumerate(items):
            for word in set(query.split()) & set(item.split()):
                n, tf, length = (
                    sum(word in other.split() for other in items),
                    item.split().count(word),
                    len(item.split()),
                )
                idf = math.log(1 + (len(items) - n + 0.5) / (n + 0.5))
                part = idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * length / mean))
                expected[label] = expected.get(label, 0) + part
        assert row(run, document) == pytest.approx(expected, rel=1e-5)


@given(MANY, MANY)
@settings(deadline=None, max_examples=30)
def test_tfidf_is_the_cosine_that_scikit_learn_gives(items: list[str], queries: list[str]) -> None:
    run = Lexical(labels(*items), LexicalOptions(weighting="tfidf", **WHOLE))(
        documents(*(q + " beech" for q in queries))
    )
    vectorizer = TfidfVectorizer(analyzer=lambda text: words(text), sublinear_tf=True)
    weights = vectorizer.fit_transform(items)
    expected = (vectorizer.transform(queries) @ weights.T).toarray()
    found = np.zeros_like(expected)
    found[run.rows, run.labels] = run.scores
    np.testing.assert_allclose(found, expected, atol=1e-6)


@given(MANY, MANY, st.integers(1, 4), st.sampled_from(["bm25", "tfidf"]))
@settings(deadline=None, max_examples=30)
def test_the_cut_keeps_the_first_k_of_all_and_of_equals_the_first_labels(
    items: list[str], queries: list[str], k: int, weighting: Any
) -> None:
    whole = Lexical(labels(*items), LexicalOptions(weighting=weighting, **WHOLE))(documents(*queries)).top(k)
    cut = Lexical(labels(*items), LexicalOptions(weighting=weighting, k=k, stem="none"))(documents(*queries))
    assert (cut.labels.tolist(), cut.indptr.tolist()) == (whole.labels.tolist(), whole.indptr.tolist())


@pytest.mark.parametrize("others", [0, 100], ids=["all above the mean", "few above the mean"])
def test_of_many_labels_tied_at_the_cut_the_first_stay(others: int) -> None:
    """A label with words of its own beside "oak" scores less than "oak" alone."""
    names = [*["oak"] * 50, "elm", *(f"oak with words {number} that make it long" for number in range(others))]
    run = Lexical(labels(*names), LexicalOptions(k=3))(documents("elm and oak", "oak", "ash"))
    assert [run[i][0].tolist() for i in range(3)] == [[50, 0, 1], [0, 1, 2], []]


@given(MANY, MANY, st.sampled_from(["bm25", "tfidf"]))
@settings(deadline=None, max_examples=30)
def test_any_candidate_is_scored_as_the_search_scores_it(items: list[str], queries: list[str], weighting: Any) -> None:
    stage, texts = Lexical(labels(*items), LexicalOptions(weighting=weighting, **WHOLE)), documents(*queries)
    everything = Run.from_rows([range(len(items))] * len(queries))
    run = stage(texts)
    expected = np.zeros((len(queries), len(items)), np.float32)
    expected[run.rows, run.labels] = run.scores
    np.testing.assert_allclose(stage.score(stage.read(texts), everything), expected.ravel(), rtol=1e-5)


def test_a_score_equal_to_the_threshold_is_no_candidate() -> None:
    best, second = Lexical(labels("oak", "oak elm"))(documents("oak")).scores.tolist()
    stage = Lexical(labels("oak", "oak elm"), LexicalOptions(threshold=second))
    assert row(stage(documents("oak"))) == {0: best}


def test_documents_are_searched_in_chunks_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, queries = Lexical(labels("oak", "elm", "oak elm")), documents("oak", "", "elm", "elm oak")
    whole = stage(queries)
    monkeypatch.setattr(lexical, "CELLS", 1)
    chunked = stage(queries)
    assert chunked.labels.tolist() == whole.labels.tolist()
    assert chunked.indptr.tolist() == whole.indptr.tolist()


def test_what_is_chosen_for_documents_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts have four postings each: three together, which 9 cells of 3 labels allow, have more than 9."""
    stage, texts = (
        Lexical(labels("oak elm", "elm ash", "fir"), LexicalOptions(**WHOLE)),
        documents(*["oak elm fir"] * 3),
    )
    whole = stage(texts)
    monkeypatch.setattr(lexical, "CELLS", 9)
    assert [row(stage(texts), each) for each in range(3)] == [row(whole, each) for each in range(3)]
    assert len(whole.labels) == 9


def test_words_are_compared_by_stem() -> None:
    assert set(row(Lexical(labels("Neural Network", "oak"))(documents("on neural networks")))) == {0}
    assert not row(Lexical(labels("Network"), LexicalOptions(stem="none"))(documents("networks")))


@pytest.mark.parametrize(
    ("text", "stem"),
    [("the study of bees", "english"), ("die Biene und der Honig", "german"), ("die Biene", "german+english")],
)
def test_stop_words_of_the_language_do_not_count(text: str, stem: str) -> None:
    items = labels("The Who", "Die Brücke", "Wasp")
    assert not row(Lexical(items, LexicalOptions(stem=stem))(documents(text)))


def compounds(ngrams: float) -> Lexical:
    """Finnish for fishing, library, loan period, sea."""
    names = labels("kalastus", "kirjasto", "lainausaika", "meri")
    return Lexical(names, LexicalOptions(weighting="tfidf", stem="fi", ngrams=ngrams))


SUBJECTS = (
    "Beekeeping; Bienenzucht", "Tax law; Steuerrecht", "Baroque architecture; Barockarchitektur",
    "Climate change; Klimawandel", "Birds; Vögel", "Railways; Eisenbahnen", "Ships; Schiffe", "Chess; Schach",
    "Glaciers; Gletscher", "Music theory; Musiktheorie", "Forestry; Forstwirtschaft", "Fisheries; Fischerei",
    "Roman history; Römische Geschichte", "Data protection; Datenschutz", "Machine learning; Maschinelles Lernen",
    "Urban planning; Stadtplanung", "Bread; Brot", "Wine; Wein", "Pottery; Keramik", "Textiles; Textilien",
    "Philosophy of language; Sprachphilosophie", "Child education; Kindererziehung", "Trade unions; Gewerkschaften",
    "Volcanoes; Vulkane", "Nursing; Krankenpflege", "Vaccination; Impfung", "Astronomy; Astronomie", "Optics; Optik",
    "Printing; Buchdruck", "Libraries; Bibliotheken",
)  # fmt: skip


def subjects() -> Lexical:
    """Thirty subjects named in English and German."""
    return Lexical(labels(*SUBJECTS), LexicalOptions(weighting="tfidf", stem="english+german", ngrams=0.5))


def test_parts_of_compounds_are_found_with_ngrams() -> None:
    for text, found in (("merikalastuslaki", {0, 3}), ("Kirjastoautossa", {1})):
        assert not row(compounds(0)(documents(text)))
        assert set(row(compounds(0.5)(documents(text)))) == found


def test_ngrams_weigh_by_hand() -> None:
    """One label, one term in two: every idf is ln(2/2) + 1 = 1. "salmon" is its stem and the four n-grams of <salmon>.

    "salmons" shares the stem and <salm, salmo, almon, but not lmon> nor its own lmons, mons>. With a weight of 1/2 the
    vectors are 1 and four times 1/2, so sqrt(1 + 4/4) = sqrt(2), and, as only terms of labels count, 1 and three
    times 1/2, so sqrt(7/4). Their product is 1 + 3/4.
    """
    stage = Lexical(labels("salmon"), LexicalOptions(weighting="tfidf", ngrams=0.5))
    assert row(stage(documents("salmons")))[0] == pytest.approx(1.75 / (2 * 1.75) ** 0.5)


def evidence(stage: Lexical, text: str) -> list[list[str]]:
    """The texts of the evidence spans of each label, in their order."""
    (document,) = documents(text)
    found = stage.spans(document, range(stage._items.shape[0]))
    return [sorted(document.text[span.start : span.end] for span in spans) for spans in found]


def test_the_evidence_of_a_compound_is_the_part_that_is_shared() -> None:
    """The first holds the inner n-grams of "kalastus" and its end, the second those of its beginning."""
    assert evidence(compounds(0.5), "Laki: merikalastus ja kalastuslaki")[0] == ["kalastus", "kalastus"]


def test_words_that_share_only_a_few_letters_are_no_evidence() -> None:
    """Of thirty subjects with names in two languages: all of these count for the score.

    "handelt" has "andel" of "Klimawandel", "Introduction" has "ction" of "Data protection", "Apiculture" the end of
    "architecture", "Wissenschaft" has "schaft" of "Gewerkschaften".
    """
    stage = subjects()
    assert stage.meaning == "words or parts of words shared with the label's text"
    for text, number in (("Dies handelt", 3), ("An Introduction", 13), ("Apiculture", 2), ("Die Wissenschaft", 22)):
        assert row(stage(documents(text)))[number] > 0
        assert evidence(stage, text)[number] == []


def test_shared_words_and_words_in_compounds_are_evidence() -> None:
    stage, text = subjects(), "Das Klima und die Steuerrechtsreform; Gletscherwelt, Library, tax, Bäckerei"
    shown = {number: found for number, found in enumerate(evidence(stage, text)) if found}
    assert shown == {
        1: ["Steuerrecht", "tax"],  # Tax law, Steuerrecht
        3: ["Klima"],  # Climate change, Klimawandel
        8: ["Gletscher"],  # Glaciers, Gletscher
        29: ["Library"],  # Libraries, Bibliotheken
    }


def test_the_whole_word_is_shown_where_letters_are_folded_to_others() -> None:
    """ "ß" is read as "ss": the place of a part in the word is not that of its letters."""
    stage = Lexical(labels("Straße"), LexicalOptions(weighting="tfidf", stem="german", ngrams=0.5))
    assert evidence(stage, "Der Straßenbau") == [["Straßenbau"]]


def test_ngrams_are_for_tfidf() -> None:
    with pytest.raises(ConfigError, match="ngrams"):
        LexicalOptions(ngrams=0.5)


@pytest.mark.parametrize(("stem", "name", "text"), [("ja", "図書館", "図書館の歴史"), ("pl", "książki", "o książkach")])
def test_languages_of_any_script_are_read(stem: str, name: str, text: str) -> None:
    assert row(Lexical(labels(name, "x"), LexicalOptions(weighting="tfidf", stem=stem, ngrams=0.5))(documents(text)))


def test_scope_head_reads_title_and_abstract_only() -> None:
    document = Document("d", "Oak", "Elm", (Section("Ash", 1, ("Fir",)),))
    items = labels("oak", "elm", "ash", "fir")
    assert set(row(Lexical(items, LexicalOptions(text_field="title_and_abstract"))([document]))) == {0, 1}
    assert set(row(Lexical(items, LexicalOptions(text_field="text"))([document]))) == {0, 1, 2, 3}


def test_nothing_in_common_gives_empty_rows() -> None:
    stage = Lexical(labels("oak"))
    assert stage([]).indptr.tolist() == [0]
    assert stage(documents("", "granite", "!?")).indptr.tolist() == [0, 0, 0, 0]
    assert Lexical(labels("!?"))(documents("oak")).indptr.tolist() == [0, 0]


@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=4), st.floats(0, 6))
def test_calibrated_threshold_comes_nearest_to_the_wanted_number(rows: list[list[int]], wanted: float) -> None:
    run = Run.from_rows([dict(enumerate(map(float, scores))) for scores in rows])
    if not len(run.scores):
        return
    kept = (run.scores > calibrate(run, wanted)).sum()
    possible = [(run.scores > threshold).sum() for threshold in range(-1, 6)]
    assert abs(kept - wanted * len(run)) == min(abs(size - wanted * len(run)) for size in possible)


def test_calibrated_stage_gives_the_wanted_mean() -> None:
    """The more words are shared the higher the score, so the second and third label are the best two."""
    stage = Lexical(labels("oak", "oak elm", "oak elm ash", "fir"), LexicalOptions(k=None))
    queries = documents("oak elm ash")
    assert set(row(stage(queries))) == {0, 1, 2}
    assert set(row(stage.calibrated(queries, mean_candidates=2)(queries))) == {1, 2}
    assert stage.options.threshold is None


def test_calibrating_on_documents_without_a_shared_word_is_an_error() -> None:
    with pytest.raises(InputError, match="none of 1 documents shares a word"):
        Lexical(labels("oak")).calibrated(documents("granite"), mean_candidates=5)


@given(st.lists(TEXTS, min_size=2, max_size=5), TEXTS, st.sampled_from(["bm25", "tfidf"]))
@settings(deadline=None, max_examples=30)
def test_weights_of_the_quotes_sum_to_the_score(items: list[str], text: str, weighting: Any) -> None:
    stage, (document,) = Lexical(labels(*items), LexicalOptions(weighting=weighting)), documents(text)
    for label, score in row(stage([document])).items():
        spans = stage.spans(document, [label])[0]
        assert sum(quote.weight for quote in spans) == pytest.approx(score, rel=1e-5)
        quoted = [document.text[quote.start : quote.end] for quote in spans]
        assert Counter(quoted) == Counter(set(text.split()) & set(items[label].split()))
        assert [quote.weight for quote in spans] == sorted((quote.weight for quote in spans), reverse=True)


def test_a_term_is_quoted_where_it_first_occurs_and_as_it_is_written() -> None:
    document = Document("d", title="Deep Networks", abstract="A network.")
    stage = Lexical(labels("network", "oak", "deep network"))
    spans = stage.spans(document, [0])[0]
    assert [(quote.start, quote.end) for quote in spans] == [(5, 13)]
    assert stage.spans(document, [1, 2, 0]) == [(), stage.spans(document, [2])[0], spans]
    assert {(quote.start, quote.end) for quote in stage.spans(document, [2])[0]} == {(0, 4), (5, 13)}

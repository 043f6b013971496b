"""Lemmas: which forms are of one word, and what happens without dictionaries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions, TitleMatch
from tagwright.tagger import Tagger, zero_shot
from tagwright.text import lemmas
from tagwright.text.lemmas import word_form
from tagwright.types import Document, Label, Run

NAMES = ("suomen kieli", "onni", "kunnia", "kirjastot", "lakka")
LABELS = [Label(str(place), (name,)) for place, name in enumerate(NAMES)]
FINNISH = zero_shot.Config(stages=("exact_match", "tfidf"), language="fi")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is not installed."""
    monkeypatch.setattr(lemmas, "find_spec", lambda _: None)


def found(run: Run) -> set[str]:
    return {NAMES[label] for label in run[0][0].tolist()}


@pytest.mark.parametrize("text", ["suomen kieltä opiskelevat", "Suomen kielen kursseja", "suomen kielessä"])
def test_inflected_names_are_found(text: str) -> None:
    document = [Document("d", abstract=text)]
    options = ExactMatchOptions(stem="fi", lemmas=True)
    assert found(ExactMatch(LABELS, options)(document)) == {"suomen kieli"}
    assert "suomen kieli" in found(Lexical(LABELS, LexicalOptions(weighting="tfidf", stem="fi", lemmas=True))(document))


@pytest.mark.parametrize(("text", "stem"), [("Onko näin?", "onni"), ("Kunnan asukkaat", "kunnia")])
def test_words_that_share_only_a_stem_are_others(text: str, stem: str) -> None:
    document = [Document("d", abstract=text)]
    assert found(ExactMatch(LABELS, ExactMatchOptions(stem="fi"))(document)) == {stem}
    assert not found(ExactMatch(LABELS, ExactMatchOptions(stem="fi", lemmas=True))(document))


def test_title_match_compares_lemmas_too() -> None:
    labels = [*LABELS, *(Label(f"x{i}", (f"aihe{i}",)) for i in range(5000))]
    stage = TitleMatch(labels, ExactMatchOptions(stem="fi", lemmas=True))
    assert found(stage.read([Document("d", title="Suomen kieltä")])) == {"suomen kieli"}


def test_words_in_no_dictionary_keep_their_stems() -> None:
    """Finnish endings would make "minister" a form of "mini"."""
    stem, form = word_form("fi", lemmas=False), word_form("fi", lemmas=True)
    words = ["minister", "optician", "tietojenkäsittelytieteilijöinkin"]
    assert list(map(form, words)) == list(map(stem, words))


@pytest.mark.parametrize("language", ["en", "de+en", "zh", "none"])
def test_other_languages_keep_their_stems(language: str) -> None:
    stems, forms = word_form(language, lemmas=False), word_form(language, lemmas=True)
    words = ["networks", "häuser", "libraries", "kieltä", "图", "was"]
    assert list(map(forms, words)) == list(map(stems, words))


def test_a_language_without_stemmer_and_one_without_dictionary_go_together() -> None:
    form = word_form("uk+eu+no", lemmas=True)
    assert form("бібліотеки") == form("бібліотека")


@pytest.mark.skipif(find_spec("simplemma") is None, reason="needs simplemma")
def test_the_method_takes_lemmas_where_they_help() -> None:
    tagger = zero_shot.fit(Vocabulary(LABELS), FINNISH)
    assert next(each.name for each in tagger.suggest("Missä voi opiskella suomen kieltä?")) == "suomen kieli"
    assert not tagger.suggest("Onko?")
    assert not lemmas.has_lemmas("english")


@pytest.mark.skipif(find_spec("simplemma") is None, reason="needs simplemma")
def test_a_saved_tagger_keeps_its_lemmas_and_needs_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = zero_shot.fit(Vocabulary(LABELS), FINNISH)
    tagger.save(tmp_path / "tagger")
    text = "Suomen kieltä kirjastoissa"
    assert Tagger.load(tmp_path / "tagger").suggest(text) == tagger.suggest(text)
    monkeypatch.setattr(lemmas, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r'by lemmas needs simplemma, .* pip install "tagwright\[lemmas\]"'):
        Tagger.load(tmp_path / "tagger")


def test_without_the_package_words_are_compared_by_stems(without: None, tmp_path: Path) -> None:
    tagger = zero_shot.fit(Vocabulary(LABELS), FINNISH)
    assert [each.name for each in tagger.suggest("Onko?")] == ["onni"]
    tagger.save(tmp_path / "tagger")
    assert [each.name for each in Tagger.load(tmp_path / "tagger").suggest("Onko?")] == ["onni"]

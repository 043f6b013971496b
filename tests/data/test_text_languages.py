"""What is said where texts are in a language in which labels have no names."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

import tagwright as tw
from tagwright.data import text_languages
from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Label

ENGLISH = "The bees visit orchards in the summer and make honey for the winter."
FINNISH = "Mehiläiset lentävät kesällä hedelmätarhoissa ja keräävät hunajaa talven varalle."
NAMES = ["kalastus", "kirjastot", "verotus", "mehiläiset", "kalatalous", "tekoälyn etiikka"]
NO_ENGLISH = (
    "language: no label has a name in English, the language of the texts: words hardly find labels; "
    "an encoder that reads both languages finds them by meaning, names in English by words"
)


@pytest.fixture(autouse=True)
def listen(caplog: pytest.LogCaptureFixture) -> None:
    text_languages._say_once.cache_clear()
    caplog.set_level(logging.INFO, "tagwright")


def labels(english: Sequence[str]) -> Vocabulary:
    """Finnish names, the first ones with an English one too."""
    pairs = [(("fi", name), *(("en-gb", other) for other in english[i : i + 1])) for i, name in enumerate(NAMES)]
    return Vocabulary(Label(str(i), tuple(name for _, name in pair), languages=pair) for i, pair in enumerate(pairs))


@pytest.mark.parametrize("vocabulary", [Vocabulary.of(NAMES), labels([])], ids=["recognised", "declared"])
def test_that_labels_have_no_names_in_the_language_of_texts_is_said_once(
    vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    tagger = tw.zero_shot(vocabulary, stages=["exact_match"])
    tagger.suggest(FINNISH)
    assert said(caplog) == []
    tagger.suggest(ENGLISH, progress=False)
    assert said(caplog) == []
    tagger.suggest([ENGLISH, FINNISH, ENGLISH])
    tagger.suggest(ENGLISH)
    assert said(caplog) == [NO_ENGLISH]


def test_it_is_said_how_many_labels_have_a_name_in_the_language(caplog: pytest.LogCaptureFixture) -> None:
    tw.zero_shot(labels(["fishing", "libraries"]), stages=["tfidf"]).suggest(ENGLISH)
    (told,) = said(caplog)
    assert told.startswith(
        "language: only 2 of 6 labels have names in English, the language of the texts: words hardly find the others; "
    )


@pytest.mark.parametrize(
    ("vocabulary", "text"),
    [
        (labels(["fishing", "libraries", "taxes", "bees", "fisheries"]), ENGLISH),  # five of six: enough
        (Vocabulary.of([*NAMES, "Bees", "Orchards", "Taxes", "Fisheries"]), ""),
        (labels([]), "Bees and orchards"),  # so few words tell no language
        (Vocabulary.of(["Berlin", "Paris", "Roma"]), ENGLISH),  # names of no clear language
        (Vocabulary([Label("1", ("Apis mellifera",), languages=(("la", "Apis mellifera"),))]), ENGLISH),
    ],
)
def test_nothing_is_said_where_names_may_be_found(
    vocabulary: Vocabulary, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    tw.zero_shot(vocabulary, stages=["exact_match"]).suggest(text)
    assert said(caplog) == []


def test_it_is_said_before_a_training_too_and_of_a_saved_tagger(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    tagger = tw.zero_shot(labels([]), documents=[ENGLISH], stages=["exact_match"])
    assert said(caplog) == [NO_ENGLISH]
    tagger.save(f"{tmp_path}/tagger")
    text_languages._say_once.cache_clear()
    tw.load(f"{tmp_path}/tagger").suggest(ENGLISH)
    assert said(caplog) == [NO_ENGLISH] * 2


def test_a_tagger_that_does_not_read_names_does_not_miss_any(caplog: pytest.LogCaptureFixture) -> None:
    texts = [ENGLISH, "A tax on income is paid by all who work."] * 6
    tagger = tw.train("svm", texts, NAMES, y=[["mehiläiset"], ["verotus"]] * 6)
    assert tagger.suggest(ENGLISH, k=1)[0].name == "mehiläiset"
    assert said(caplog) == []


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if "the language of the texts" in message]

"""Languages: spellings, recognition in texts and in names, endings and stop words, one by one and several together."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tagwright.errors import ConfigError
from tagwright.text import language
from tagwright.text.language import (
    detect,
    parse,
    parse_all,
    recognise,
    resolve,
    spell_languages,
    stemmer,
    stop_words,
)
from tagwright.text.lemmas import find_suited
from tagwright.types import Document, Label

FINNISH = ["Mistä löydän tietoa kalastuksesta?", "Kirjastojen aukioloajat", "Olen etsinyt tätä kirjaa pitkään."]
GERMAN = ["Die Geschichte der Arbeiterbewegung", "Grundlagen der Wärmeübertragung", "Einführung in das Steuerrecht"]
ENGLISH = ["A history of the labour movement", "The foundations of heat transfer", "An introduction to tax law"]


USUAL = {"fi FIN finnish Finnish fi-FI fi_FI": "fi", "ger deu": "de", "cze": "cs", "nb": "no", "zh-CN": "zh"}


@pytest.mark.parametrize("texts", USUAL)
def test_every_usual_spelling_of_a_language_is_read(texts: str) -> None:
    assert {parse(f" {text} ").code for text in texts.split()} == {USUAL[texts]}


def test_an_unknown_language_is_an_error_that_says_how_to_write_one() -> None:
    with pytest.raises(ConfigError, match='no language "finnic"; write a code or a name, such as fi or finnish'):
        parse("finnic")


def test_several_languages_are_joined_by_plus_and_have_one_spelling() -> None:
    assert spell_languages(parse_all("de+eng+German")) == "german+english"
    assert parse_all("none") == ()


def test_shares_add_up_and_are_the_same_every_time() -> None:
    shares = recognise(GERMAN + ENGLISH + FINNISH)
    assert sum(shares.values()) == pytest.approx(1, abs=0.05)
    assert shares["de"] == pytest.approx(1 / 3, abs=0.1)
    assert list(shares.items()) == list(recognise(GERMAN + ENGLISH + FINNISH).items())


def test_nothing_is_recognised_in_numbers_and_in_no_text() -> None:
    assert recognise([]) == recognise(["2020", "12 %", ""]) == {}
    assert detect("1984") == {}


def labels(*names: str) -> list[Label]:
    return [Label(str(number), (name,)) for number, name in enumerate(names)]


def test_auto_is_what_the_names_are_in() -> None:
    names = labels("kalastus", "kirjastot", "metsästys", "taidehistoria", "kansallispuistot", "yliopistot")
    assert resolve("auto", names, [Document("d", title=ENGLISH[0])]) == "finnish"


def test_a_large_vocabulary_with_both_names_for_each_label_has_both_languages() -> None:
    """More texts than are recognised, and every second one is German."""
    names = [*zip(GERMAN, ENGLISH, strict=True)] * 500
    assert resolve("auto", [Label(str(i), pair) for i, pair in enumerate(names)]) in (
        "german+english",
        "english+german",
    )


def test_the_languages_of_documents_are_those_of_the_last_ones_too() -> None:
    texts = [*GERMAN * 500, *ENGLISH * 500]
    found = language.likely([Document(str(i), text) for i, text in enumerate(texts)])
    assert set(found.split("+")) == {"german", "english"}


def test_titles_alone_do_not_add_a_language() -> None:
    """Both titles alone are taken for English or Spanish."""
    taxes = Document("1", "Kunnan verotus", "Verotus kiristyi viime vuonna, ja koulut saavat enemmän rahaa.")
    fishing = Document("2", "Kalastus talvella", "Kalastus on suosittua myös talvella, kun järvet ovat jäässä.")
    assert language.likely([taxes, fishing]) == "finnish"


def test_the_languages_that_names_are_said_to_be_in_are_not_guessed() -> None:
    """Of five names two are Finnish and two Swedish, as the file says of the names that are searched."""
    birds = Label("1", ("Linnut", "Fåglar"), languages=(("fi", "Linnut"), ("sv-fi", "Fåglar"), ("en", "Birds")))
    bees = Label("2", ("Pölyttäjät", "Bin", "Apis"), languages=(("fi", "Pölyttäjät"), ("sv", "Bin"), ("en", "Bees")))
    assert resolve("auto", [birds, bees]) == "finnish+swedish"
    assert resolve("auto", [birds, *labels("Honey bees", "Taxes", "The law", "Rain in summer")]) == "english"


def test_what_auto_became_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tagwright"):
        resolve("auto", labels("kalastus", "kirjastot", "taidehistoria"), [Document("d", FINNISH[0])])
    assert caplog.messages == ["language: Finnish (recognised in texts and vocabulary; language=... names another)"]


def test_auto_is_what_the_documents_are_in_where_names_are_none() -> None:
    documents = [Document("d", title=GERMAN[0], abstract=GERMAN[1])]
    assert resolve("auto", labels("004", "005.1"), documents) == "german"
    assert resolve("auto", labels("004"), []) == "english"


def test_a_language_that_was_given_is_not_recognised() -> None:
    assert resolve("fi", labels("libraries", "fishing")) == "finnish"
    assert resolve("none", labels("libraries")) == "none"


@pytest.mark.parametrize(
    ("code", "inflected", "word"),
    [
        ("fi", "kirjastossa", "kirjasto"),
        ("de", "analysen", "analyse"),
        ("sv", "fiskarna", "fisk"),
        ("pl", "domami", "dom"),
    ],
)
def test_endings_are_those_of_the_language(code: str, inflected: str, word: str) -> None:
    stem = stemmer((parse(code),))
    assert stem(inflected) == stem(word)


@pytest.mark.parametrize("code", ["none", "ja", "zh", "vi"])
def test_a_language_without_a_stemmer_leaves_words_whole(code: str) -> None:
    assert stemmer(parse_all(code))("libraries") == "libraries"


def test_stop_words_are_those_of_the_language() -> None:
    assert {"ja", "että", "minä"} <= stop_words([parse("fi")])
    assert "the" not in stop_words([parse("fi")])
    assert stop_words(parse_all("ja")) == stop_words([]) == frozenset()


@pytest.mark.parametrize(
    ("code", "words", "number"),
    [
        ("da", "og jeg ikke", 94),
        ("de", "und nicht über", 231),
        ("es", "el y también", 313),
        ("fi", "ja että minä", 229),
        ("fr", "le et même", 155),
        ("hu", "és hogy nem", 198),
        ("it", "il e perché", 279),
        ("nl", "de het niet", 101),
        ("no", "og ikke på", 172),
        ("pt", "o e não", 203),
        ("ru", "и не что", 151),
        ("sv", "och inte är", 114),
        ("tr", "ve için çok", 53),
    ],
)
def test_all_languages_of_snowball_have_their_stop_words(code: str, words: str, number: int) -> None:
    """As many as in the lists that PostgreSQL distributes; English has a few more of our own."""
    found = stop_words([parse(code)])
    assert {*words.split()} <= found
    assert len(found) == number


def test_a_stop_word_of_one_language_that_is_a_name_in_another_counts() -> None:
    both = parse_all("de+en")
    assert {"war", "und", "the", "in"} <= stop_words(both)
    assert stop_words(both, ["War", "Peace treaties", "In"]) == stop_words(both) - {"war"}


@pytest.mark.parametrize("text", ["", "1984", "auto", "Bees"])
def test_a_text_that_is_too_short_has_no_clear_language(text: str) -> None:
    assert language.language_of(text, ["fi", "sv"]) == ""


@pytest.mark.parametrize(("what", "works_in"), [("lemmas", find_suited), ("stop words", stop_words)])
def test_the_page_says_what_works_in_which_language(
    what: str, works_in: Callable[[list[language.Language]], object]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text(encoding="utf-8")
    (listed,) = re.findall(rf"^- {what}: (.*?)[;.]?$(?=\n-|\n\n)", page, re.MULTILINE | re.DOTALL)
    listed = "".join(listed.split()).replace(",", "+")
    assert set(parse_all(listed)) == {each for each in language._known_languages().values() if works_in([each])}

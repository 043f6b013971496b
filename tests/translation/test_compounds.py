"""Compounds are split where both parts are known."""

import pytest

from tagwright.translation.dictionary import Compounds

WORDS = ["wirtschaft", "politik", "politik", "steuer", "steuerrecht", "recht", "arbeit", "markt", "museumsbau",
         "museumskunde", "kunde", "boden"]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("wirtschaftspolitik", ("wirtschaft", "politik")),  # an "s" links them
        ("steuerpolitik", ("steuer", "politik")),
        ("arbeitsmarktpolitik", ("arbeit", "markt", "politik")),
        ("politik", ("politik",)),
        ("xyzpolitik", ("xyzpolitik",)),  # the first part is no word
        ("politikxyz", ("politikxyz",)),
        ("bodenart", ("bodenart",)),  # parts have at least four letters
        ("", ("",)),
    ],
)
def test_a_word_is_split_into_known_words(word: str, parts: tuple[str, ...]) -> None:
    assert Compounds(WORDS, str).split(word) == parts


def test_what_begins_two_words_is_a_word() -> None:
    """ "museum" is no name, but begins "museumsrecht" and "museumskunde", which go on with known words."""
    two = Compounds(["museumsrecht", "museumskunde", "recht", "kunde", "politik"], str)
    one = Compounds(["museumsrecht", "recht", "kunde", "politik"], str)
    assert two.split("museumspolitik") in {("museum", "politik"), ("museums", "politik")}
    assert one.split("museumspolitik") == ("museumspolitik",)


def test_the_most_frequent_parts_are_taken() -> None:
    """ "staubecken" is a basin that dams ("stau", "becken") rather than corners of dust ("staub", "ecken")."""
    words = ["stau"] * 3 + ["becken"] * 3 + ["staub"] * 2 + ["ecken"]
    frequent = [f"{part}{number}" for number in range(3) for part in ("stau", "becken")]
    compounds = Compounds([*words, *frequent], lambda word: word.rstrip("0123456789"))
    assert compounds.split("staubecken") == ("stau", "becken")


def test_what_stands_before_the_forms_of_one_word_is_none() -> None:
    """ "liche" and "licher" are forms of one ending: "künst" is no word before them."""
    words = ["künstliche", "künstlicher", "liche", "politik"]
    assert Compounds(words, lambda word: word.removesuffix("r")).split("künstpolitik") == ("künstpolitik",)

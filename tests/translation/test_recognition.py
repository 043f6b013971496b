"""The languages of short names are told apart."""

from itertools import product

from tests.translation.names import BOTH

from tagwright.text.language import parse
from tagwright.translation.names import recognise_languages
from tagwright.types import Label


def test_names_in_two_languages_are_told_apart() -> None:
    labels = [Label(str(i), names) for i, names in enumerate([*BOTH, *((german,) for _, german in BOTH[:100])])]
    found = recognise_languages(labels, [parse("de"), parse("en")])
    assert [[name for _, name in names] for names in found] == [list(label.names) for label in labels]
    right = [tuple(code for code, _ in names) in {("en", "de"), ("de",)} for names in found]
    assert sum(right) / len(right) > 0.95


def test_what_a_recogniser_of_single_texts_does_not_know_is_learned_from_the_others() -> None:
    """Names without letters are taken for what stands in their place."""
    labels = [Label(str(i), names) for i, names in enumerate([*BOTH, *product(["1984"], ["1985"])])]
    assert [code for code, _ in recognise_languages(labels, [parse("de"), parse("en")])[-1]] == ["en", "de"]

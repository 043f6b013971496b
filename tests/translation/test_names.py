"""Labels get the names that they have in the main languages of a vocabulary."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.translation.names import BOTH

from tagwright.translation import translate_names
from tagwright.types import Label

GERMAN_ONLY = [i for i in range(270) if i % 4 == 1]
"A fifth of the labels; that leaves 235 pairs."


def labels(*, tagged: bool, alone: list[int] = GERMAN_ONLY, code: str = "de") -> list[Label]:
    """Subjects with both names, or with a German one only."""
    found = []
    for i, (english, german) in enumerate(BOTH):
        languages = ((code, german),) if i in alone else (("en", english), (code, german))
        names = tuple(name for _, name in languages)
        found.append(Label(str(i), names, languages=languages if tagged else ()))
    return found


@pytest.mark.parametrize("tagged", [False, True])
def test_labels_without_a_name_in_a_main_language_get_one(tagged: bool) -> None:
    found = translate_names(labels(tagged=tagged))
    assert [label.names for label in found] == [label.names for label in labels(tagged=tagged)]
    right = [BOTH[i][0].casefold() in found[i].translated for i in GERMAN_ONLY]
    assert sum(right) / len(right) > 0.9
    assert not any(label.translated for i, label in enumerate(found) if i not in GERMAN_ONLY)


def test_tags_of_countries_are_those_of_their_language() -> None:
    assert any(label.translated for label in translate_names(labels(tagged=True, code="de-at")))


def same(given: list[Label]) -> bool:
    return translate_names(given) is given


def test_nothing_is_translated_where_there_is_nothing_to_learn_from() -> None:
    tagged = labels(tagged=True)
    assert same([Label(str(i), (english,)) for i, (english, _) in enumerate(BOTH)])
    assert same(labels(tagged=True, alone=list(range(100, 303))))  # too few pairs
    assert same(labels(tagged=True, alone=[1, 2, 3]))  # too few labels that lack a name
    assert same(labels(tagged=True, code="qq"))  # a language that is not known here
    assert same([Label("1", ("Bees",))])
    shuffled = [BOTH[(7 * i) % len(BOTH)][0] for i in range(len(BOTH))]
    assert same([
        replace(label, languages=tuple((code, shuffled[i] if code == "en" else name) for code, name in label.languages))
        for i, label in enumerate(tagged)
    ])  # fmt: skip


def test_translations_that_a_label_has_are_kept() -> None:
    given = labels(tagged=True)
    given[1] = replace(given[1], translated=("my own",))
    assert translate_names(given)[1].translated == ("my own",)


def test_what_was_learned_is_kept_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = translate_names(labels(tagged=True))
    monkeypatch.setattr("tagwright.translation.names.Dictionary.learn", lambda *_: pytest.fail("learned again"))
    assert translate_names(labels(tagged=True)) == first

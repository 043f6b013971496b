"""A vocabulary that changed: how many labels are new, gone and renamed, and which."""

from __future__ import annotations

from tagwright.data.vocabulary import Vocabulary
from tagwright.data.vocabulary_changes import VocabularyChanges
from tagwright.types import Label

OLD = Vocabulary([Label("1", ("Bees",)), Label("2", ("Taxes", "Duties")), Label("3", ("Rain",))])


def test_labels_are_compared_by_id_and_preferred_name() -> None:
    new = Vocabulary([Label("4", ("Wasps",)), Label("2", ("Duties", "Taxes")), Label("1", ("Bees", "Apis"))])
    found = VocabularyChanges.of(OLD, new)
    assert found.added == [("4", "Wasps")]
    assert found.gone == [("3", "Rain")]
    assert found.renamed == [("2", "Taxes -> Duties")]
    assert str(found) == "1 label added (Wasps), 1 gone (Rain), 1 renamed (Taxes -> Duties)"
    assert found


def test_the_same_labels_in_another_order_are_no_change() -> None:
    assert not VocabularyChanges.of(OLD, Vocabulary(list(reversed(list(OLD)))))
    assert not VocabularyChanges.of(OLD, OLD)


def test_of_many_changes_the_first_are_named() -> None:
    found = VocabularyChanges.of(OLD, Vocabulary([*OLD, *(Label(f"n{n}", (f"New {n}",)) for n in range(1200))]))
    assert str(found) == "1,200 labels added (New 0, New 1, New 2, ...), 0 gone, 0 renamed"
    added = found.to_json()["added"]
    assert added["count"] == 1200
    assert added["examples"] == [{"id": f"n{n}", "name": f"New {n}"} for n in range(3)]
    assert found.to_json()["gone"] == {"count": 0, "examples": []}


def test_names_are_compared_within_a_language() -> None:
    """Another preferred language is no other name; another name in a language is one."""
    bees, taxes = (("en", "Bees"), ("de", "Bienen")), (("en", "Taxes"), ("de", "Steuern"))
    english = Vocabulary([Label("1", ("Bees",), languages=bees), Label("2", ("Taxes",), languages=taxes)])
    german = Vocabulary([
        Label("1", ("Bienen",), languages=bees),
        Label("2", ("Abgaben",), languages=(("en", "Taxes"), ("de", "Abgaben"))),
    ])  # fmt: skip
    assert VocabularyChanges.of(english, german).renamed == [("2", "Steuern -> Abgaben")]
    assert not VocabularyChanges.of(Vocabulary([Label("1", ("Bienen",), languages=bees[1:])]), Vocabulary(english[:1]))


def test_a_name_that_changed_in_any_language_is_seen_whichever_is_preferred() -> None:
    """Commands choose the language by the documents, and `verify` has none: all of them see the same."""
    bees = (("en", "Bees"), ("fi", "Mehiläiset"), ("fi", "Kimalaiset"))
    changed = (("en", "Bees"), ("fi", "Kimalaiset"), ("fi", "Mehiläiset"))
    names = {"en": "Bees", "fi": "Mehiläiset"}, {"en": "Bees", "fi": "Kimalaiset"}
    for old in ("en", "fi"):
        for new in ("en", "fi"):
            before = Vocabulary([Label("1", (names[0][old],), languages=bees)])
            after = Vocabulary([Label("1", (names[1][new],), languages=changed)])
            assert VocabularyChanges.of(before, after).renamed == [("1", "Mehiläiset -> Kimalaiset")]


def test_names_without_a_language_are_compared_as_they_are() -> None:
    tagged = Label("1", ("Bees",), languages=(("en-gb", "Bees"), ("sv", "Bin")))
    for other, renamed in ((Label("1", ("Bees",)), 0), (Label("1", ("Apis",)), 1),
                           (Label("1", ("Bees",), languages=(("en", "Bees"),)), 0),
                           (Label("1", ("Apis",), languages=(("en", "Apis"),)), 1)):  # fmt: skip
        assert len(VocabularyChanges.of(Vocabulary([tagged]), Vocabulary([other])).renamed) == renamed
        assert len(VocabularyChanges.of(Vocabulary([other]), Vocabulary([tagged])).renamed) == renamed

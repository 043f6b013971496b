from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import ConfigError, InputError
from tagwright.review.decisions import Decisions, Difference
from tagwright.review.events import CurrentDecisions, Decision
from tagwright.review.file import ReviewFile, StorageError


def decided(action: Any, label: str | None = None, document: str = "d", reviewer: str = "ann", **more: Any) -> Decision:
    return Decision(document=document, reviewer=reviewer, action=action, label=label, **more)


@pytest.fixture
def store(tmp_path: Path) -> Decisions:
    return Decisions(ReviewFile(tmp_path / "reviews.sqlite"))


def test_accepted_labels_are_those_that_more_accept_than_reject(store: Decisions) -> None:
    store.add_all([decided("accept", "bee"), decided("accept", "tax"), decided("reject", "tax", reviewer="ben")])
    store.add_all([decided("reject", "bee", document="e"), decided("done", document="f")])
    assert store.labels() == {"f": [], "d": ["bee"]}
    assert store.differences() == [Difference("d", "tax", ("ann",), ("ben",))]
    assert store.uses() == {"bee": 1}


def test_a_third_reviewer_settles_a_difference(store: Decisions) -> None:
    store.add_all([decided("accept", "tax"), decided("reject", "tax", reviewer="ben")])
    store.add_all([decided("accept", "tax", reviewer="eve")])
    assert (store.labels(), store.differences()) == ({"d": ["tax"]}, [])
    store.add_all([decided("undo", reviewer="eve"), decided("reject", "tax", reviewer="eve")])
    assert (store.labels(), store.differences()) == ({}, [])


def test_undo_takes_back_the_last_event_of_the_reviewer_in_this_document(store: Decisions) -> None:
    store.add_all([decided("accept", "bee"), decided("accept", "tax"), decided("accept", "ant", reviewer="ben")])
    store.add_all([decided("undo")])
    assert store.labels() == {"d": ["bee", "ant"]}
    store.add_all([decided("undo"), decided("undo")])
    assert store.labels() == {"d": ["ant"]}
    assert len(list(store.events())) == 6


def test_a_later_verdict_replaces_an_earlier_one_until_it_is_undone(store: Decisions) -> None:
    store.add_all([decided("accept", "bee"), decided("reject", "bee")])
    assert store.verdicts() == {("d", "bee"): {"ann": "reject"}}
    store.add_all([decided("undo")])
    assert store.verdicts() == {("d", "bee"): {"ann": "accept"}}


def test_statistics_by_hand(store: Decisions) -> None:
    store.add_all([decided("accept", "bee", rank=1), decided("reject", "tax", rank=2), decided("accept", "ant")])
    store.add_all([decided("accept", "bee", reviewer="ben"), decided("accept", "tax", reviewer="ben"), decided("done")])
    statistics = store.statistics()
    assert (statistics.documents, statistics.done, statistics.verdicts, statistics.accepted_share) == (1, 1, 5, 0.5)
    # Both judged bee (same) and tax (different): observed 1/2; Ann accepts half, Ben all: expected 1/2.
    assert statistics.kappa == {("ann", "ben"): 0.0}
    # Verdicts on bee and tax: three accept, one reject; observed 2/4, expected 2 * 3 * 1 / (4 * 3) = 1/2.
    assert statistics.alpha == pytest.approx(0.0)


def seen(label: str, reviewer: str = "ann", document: str = "d", **more: Any) -> Decision:
    return decided("shown", label, document, reviewer, **more)


def test_right_labels_are_told_apart_by_how_they_were_found(store: Decisions) -> None:
    """Of four right labels two were suggested, one was drawn at random, one added; a client's labels do not count."""
    store.add_shown(
        [seen("bee", rank=1), seen("fly", rank=2), seen("tax", rank=3), seen("ant", rank=50, drawn_from=80)]
    )
    store.add_all(
        [decided("accept", "bee", rank=1), decided("accept", "fly", rank=2), decided("reject", "tax", rank=3)]
    )
    store.add_all([decided("accept", "ant", rank=50, drawn_from=80), decided("accept", "wasp")])
    store.add_all([decided("accept", "hive", document="sent", reviewer="koha")])
    assert store.statistics().right == {"total": 4, "suggested": 2, "added": 1}


def test_what_was_never_shown_is_unknown(store: Decisions) -> None:
    store.add_shown([seen("bee", rank=1), seen("tax", rank=2)])
    store.add_all([decided("accept", "bee", rank=1)])
    assert store.judged() == {"d": {"bee"}}  # ann may still judge tax
    store.add_all([decided("accept", "ant"), decided("done")])
    assert store.judged() == {"d": {"bee", "tax"}}  # ant was found by search: of those, right ones alone are known
    assert store.labels() == {"d": ["bee", "ant"]}
    store.add_all([decided("undo")])
    assert store.judged() == {"d": {"bee"}}


def test_of_a_document_with_nothing_but_added_labels_nothing_is_an_example(store: Decisions) -> None:
    store.add_shown([seen("bee", rank=1)])
    store.add_all([decided("accept", "ant")])
    assert store.judged() == {}


def test_whoever_finishes_a_document_without_suggestions_knows_its_labels(store: Decisions) -> None:
    store.add_all([decided("accept", "bee", reviewer="client"), decided("done", reviewer="client")])
    assert store.judged() == {"d": set()}
    store.add_shown([seen("tax", "ann", "e")])
    assert store.judged() == {"d": set()}  # ann has only looked


def test_what_was_shown_is_no_verdict_and_cannot_be_undone(store: Decisions) -> None:
    store.add_shown([seen("bee", rank=1), seen("tax", rank=2, confidence=0.5)])
    store.add_shown([seen("bee", rank=1), seen("tax", rank=1, confidence=0.5)])  # only what changed is stored again
    assert [event.label for _, event in store.events()] == ["bee", "tax", "tax"]
    store.add_all([decided("undo")])
    assert store.shown("d")["ann", "tax"].rank == 1
    assert (store.current(), store.labels(), store.statistics().verdicts) == ([], {}, 0)


def test_recall_is_estimated_from_random_candidates_by_hand(store: Decisions) -> None:
    for document in "de":
        store.add_shown([seen("bee", document=document, rank=1), seen("tax", document=document, rank=2)])
        store.add_all([decided("accept", "bee", document, rank=1), decided("done", document=document)])
    assert store.recall() is None
    store.add_shown([seen("ant", rank=30, drawn_from=4), seen("fly", document="e", rank=25, drawn_from=4)])
    store.add_all([decided("accept", "ant", rank=30, drawn_from=4)])
    recall = store.recall()
    assert recall
    # One right suggestion a document; half of those drawn are right, so two of the four below each are missed.
    assert recall.value == pytest.approx(1 / 3)
    assert recall.drawn == 2
    assert store.progress() == (2, 1.0)  # the random candidate is no suggestion


def test_what_is_stored_is_read_by_another_process(store: Decisions, tmp_path: Path) -> None:
    event = decided("accept", "bee", rank=3, confidence=0.25, model="m1", note="é")
    assert store.add_all([event])[-1] == 1
    ((number, again),) = Decisions(ReviewFile(tmp_path / "reviews.sqlite")).events()
    assert number == 1
    assert again.time.endswith("+00:00")
    assert again == Decision(**{**vars(event), "time": again.time})


@pytest.mark.parametrize(("action", "label"), [("accept", None), ("done", "bee")])
def test_an_event_that_makes_no_sense_is_refused(action: Any, label: str | None) -> None:
    with pytest.raises(ConfigError, match=r"needs a label|has no label"):
        decided(action, label)


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(InputError, match="a database of something else"):
        ReviewFile(tmp_path / "other.sqlite")
    (tmp_path / "text.txt").write_text("no database, and longer than its header of a hundred bytes " * 3)
    with pytest.raises(StorageError, match="cannot be used as a store of decisions"):
        ReviewFile(tmp_path / "text.txt")


@given(st.lists(st.tuples(st.sampled_from("de"), st.sampled_from(["ann", "ben"]), st.integers(0, 5)), max_size=25))
def test_what_is_kept_up_to_date_is_what_all_events_together_say(drawn: list[tuple[str, str, int]]) -> None:
    """Event by event, against the whole log at once."""
    kinds: list[tuple[Any, str | None]] = [
        ("accept", "bee"), ("reject", "bee"), ("accept", "tax"), ("done", None), ("undo", None), ("skip", None),
    ]  # fmt: skip
    events = [
        decided(kinds[kind][0], kinds[kind][1], document, reviewer, rank=1 if kinds[kind][1] else None)
        for document, reviewer, kind in drawn
    ]
    together, one_by_one = CurrentDecisions(), CurrentDecisions()
    together.apply(events)
    for event in events:
        one_by_one.apply([event])
    assert list(one_by_one.events()) == list(together.events())
    assert one_by_one.states == together.states
    assert +one_by_one.uses == +together.uses == Counter(x for each in together.states.values() for x in each.labels)
    assert one_by_one.done == together.done == sum(bool(state.done_by) for state in together.states.values())
    verdicts = [event for event in together.events() if event.label is not None]
    assert one_by_one.judged_suggestions == len(verdicts)
    assert one_by_one.accepted_suggestions == sum(event.action == "accept" for event in verdicts)


def test_labels_given_before_suggestions_are_seen_are_blind_and_those_taken_back_are_not(store: Decisions) -> None:
    assert store.can_be_blind("d", "ann")
    store.add_all([decided("accept", "bee"), decided("accept", "tax"), decided("accept", "ant"), decided("undo")])
    assert (store.blind(), store.can_be_blind("d", "ann")) == ({}, True)
    store.add_all([decided("blind"), decided("shown", "bee", rank=1), decided("shown", "owl", rank=2)])
    assert (store.blind(), store.can_be_blind("d", "ann")) == ({"d": []}, False)  # not finished
    store.add_all([decided("accept", "owl", rank=2), decided("reject", "tax"), decided("done")])
    assert store.blind() == {"d": ["bee"]}
    assert store.labels() == {"d": ["bee", "owl"]}
    assert store.statistics().blind == 1
    assert store.progress() == (1, 1.0)  # two of two judged suggestions: one of them was named before
    store.add_all([decided("undo"), decided("undo"), decided("undo"), decided("undo")])  # never that they were seen
    assert (store.blind(), store.can_be_blind("d", "ann")) == ({"d": []}, False)
    assert store.labels() == {"d": ["bee"]}


def test_a_document_is_blind_for_all_of_its_reviewers_or_for_none(store: Decisions) -> None:
    store.add_all([decided("shown", "bee", rank=1), decided("accept", "bee", rank=1), decided("done")])
    assert not store.can_be_blind("d", "ben")  # a tagger may have learned from what ann accepted
    store.add_all([decided("accept", "tax", reviewer="ben"), decided("blind", reviewer="ben")])
    assert store.blind() == {}
    for reviewer, label in (("ann", "bee"), ("ben", "tax")):
        event = {"document": "e", "reviewer": reviewer}
        assert store.can_be_blind("e", reviewer)
        store.add_all([decided("accept", label, **event), decided("blind", **event)])
        store.add_all([decided("shown", "owl", rank=1, **event), decided("done", **event)])
    assert store.blind() == {"e": ["bee", "tax"]}

"""What titles name: hand-worked bits of names in a vocabulary of three labels."""

from __future__ import annotations

import pytest
from tests.saved import again

from tagwright.stages.names.exact_match import EVERYDAY, TitleMatch
from tagwright.types import Document, Label, Run

LABELS = [
    Label("long", ("Amber basalt coral diamond emerald flint",)),
    Label("part", ("Coral diamond",)),
    Label("short", ("Granite",)),
]
# Of 3 labels, "coral" and "diamond" are words of 2, so log2(1 + 3/2) bits each; the other four of the long name are
# words of 1, log2(1 + 3) = 2 bits each: 8 + 2 * 1.3219 = 10.6439 in all.
BITS = 10.6439 - 10
NAMED = Document("1", title="On amber, basalt, coral, diamond, emerald, flint", abstract="Nothing else.")


@pytest.fixture
def stage() -> TitleMatch:
    return TitleMatch(LABELS)


def test_a_long_rare_name_in_the_title_is_worth_its_bits_beyond_everyday_words(stage: TitleMatch) -> None:
    assert EVERYDAY == 10
    labels, scores = stage.read([NAMED])[0]
    assert labels.tolist() == [0]
    assert scores.tolist() == pytest.approx([BITS], abs=1e-4)


def test_names_in_the_abstract_and_names_of_few_bits_are_worth_nothing(stage: TitleMatch) -> None:
    documents = [Document("3", title="Granite", abstract=LABELS[0].name), Document("4"), NAMED]
    candidates = Run.from_rows([[0, 1, 2]] * 3)
    scores = stage.score(stage.read(documents), candidates).reshape(3, 3)
    assert scores[:2].tolist() == [[0.0] * 3] * 2
    assert scores[2].tolist() == pytest.approx([BITS, 0, 0], abs=1e-4)


def test_the_evidence_span_is_the_name_in_the_title_with_its_score(stage: TitleMatch) -> None:
    (quote,) = stage.spans(NAMED, [0])[0]
    assert NAMED.text[quote.start : quote.end] == "amber, basalt, coral, diamond, emerald, flint"
    assert quote.weight == pytest.approx(BITS, abs=1e-4)
    assert stage.spans(NAMED, [1])[0] == ()
    assert stage.spans(NAMED, [1, 0]) == [(), (quote,)]


def test_a_stage_is_saved_and_follows_other_labels(stage: TitleMatch) -> None:
    loaded = again(stage, LABELS)
    assert loaded.options == stage.options
    assert loaded.read([NAMED]).scores.tolist() == stage.read([NAMED]).scores.tolist()
    assert loaded.with_labels(LABELS[2:]).read([NAMED]).labels.tolist() == []

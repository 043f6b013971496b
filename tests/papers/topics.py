"""Documents about three topics, and labels named by a word that only the training documents connect with its topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from tests.tiny import tiny_encoder

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.static import distil
from tagwright.tagger import Tagger
from tagwright.types import Document, Label, Run

C = TypeVar("C")

TOPICS = {
    "wasp": ("bee", "bees", "honey", "flower", "wing"),
    "bank": ("market", "stock", "money"),
    "stone": ("river", "water", "rain"),
}
LABELS = Vocabulary([Label(name, (name,)) for name in (*TOPICS, *map(str, range(10, 37)))])
"The names of the topics, and 27 that no document is about."


def _document(i: int, topic: str, words: tuple[str, ...]) -> Document:
    text = np.random.default_rng(i).choice(words, 24)
    return Document(f"d{i}", title=topic, abstract=" ".join(text), labels=(topic,))


NAMES = [list(TOPICS)[i % 3] for i in range(30)]

DOCUMENTS = [_document(i, name, (name, *TOPICS[name])) for i, name in enumerate(NAMES)]
"Title and text have the name of the topic."

UNSEEN = [Document(f"u{i}", abstract=_document(i, name, TOPICS[name]).abstract) for i, name in enumerate(NAMES)]
"They do not have it."

GOLD = LABELS.gold(DOCUMENTS)
"The right label of each document, seen or unseen."


def trained(config: C, **training: Any) -> C:
    """The same options of a method with other options of its training."""
    held = config.training  # type: ignore[attr-defined]
    return replace(config, training=replace(held, **training))  # type: ignore[type-var]


def first_labels(run: Run) -> list[int]:
    return [int(run[i][0][0]) for i in range(len(run))]


def encoders(folder: Path) -> dict[str, str]:
    """A tiny transformer and a tiny static encoder, both random."""
    static = folder / "static"
    distil(static, str(tiny_encoder(folder / "tiny")))
    return {"transformer": str(folder / "tiny"), "static": str(static)}


def right(tagger: Tagger, documents: Sequence[Document] = UNSEEN) -> int:
    """Of the 30 documents, how many have the right label first."""
    return sum(a == b for a, b in zip(first_labels(tagger.tag(documents)), GOLD.labels.tolist(), strict=True))

"""The record that a monitor keeps of a tagged document, and of the training documents of a tagger: no text."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self

from tagwright.text.language import detect
from tagwright.types import Document

FEWEST = 200
"Of a training on fewer documents no languages are kept."


@dataclass(frozen=True, slots=True)
class Record:
    """A tagged document.

    version: of the tagger. language: code of the likeliest, empty for none. labels: ids of the suggestions, best first;
    confidences: as many, or none where the tagger does not estimate them.
    """

    time: str
    version: str
    language: str
    labels: tuple[str, ...]
    confidences: tuple[float, ...]

    @classmethod
    def of(cls, document: Document, version: str, suggested: Iterable[tuple[str, float | None]]) -> Self:
        """Record a document that is tagged now. suggested: labels with their confidences."""
        pairs, now = list(suggested), datetime.now(UTC).isoformat(timespec="seconds")
        confidences = tuple(round(confidence, 4) for _, confidence in pairs if confidence is not None)
        return cls(now, version, likeliest_language(document.text), tuple(label for label, _ in pairs), confidences)

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The record of `to_json`; `words` of older releases are ignored. Raises KeyError, TypeError or ValueError."""
        labels = tuple(sys.intern(label) for label in content["labels"])
        time, version, language = (str(content[name]) for name in ("time", "version", "language"))
        return cls(time, version, language, labels, tuple(map(float, content["confidences"])))


def training_profile(documents: Sequence[Document]) -> dict[str, Any] | None:
    """How many of the documents that a tagger is trained on are in each language; None for too few documents."""
    if len(documents) < FEWEST:
        return None
    count = min(500, len(documents))  # spread evenly over all of them
    rows = (i * (len(documents) - 1) // (count - 1) for i in range(count))
    return {"languages": dict(Counter(likeliest_language(documents[row].text) for row in rows))}


def likeliest_language(text: str) -> str:
    """The code of the language that a text is most likely in; empty for a text without letters."""
    shares = detect(text)
    return max(shares, key=lambda code: shares[code], default="")

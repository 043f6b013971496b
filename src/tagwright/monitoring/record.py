"""What a monitor keeps of a tagged document, and of those that a tagger was trained on: numbers and codes, no text."""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.text.language import detect
from tagwright.text.words import words
from tagwright.types import Document

BITS = 32
"Random projections of the words of a document."

CHARACTERS = 20_000
"The words of a longer text are not projected."

PROFILED = 500
"Documents in the profile of a training, at most; they are spread evenly."

FEWEST = 200
"With fewer documents to train on there is no profile."


@dataclass(frozen=True, slots=True)
class Record:
    """A tagged document.

    version: of the tagger. words: see `projected`. language: code of the likeliest, empty for none. labels: ids of the
    suggestions, best first; confidences: as many, or none where the tagger does not estimate them.
    """

    time: str
    version: str
    language: str
    words: int
    labels: tuple[str, ...]
    confidences: tuple[float, ...]

    @classmethod
    def of(cls, document: Document, version: str, suggested: Iterable[tuple[str, float | None]]) -> Self:
        """Record a document that is tagged now. suggested: labels with their confidences."""
        pairs = list(suggested)
        sure = tuple(round(confidence, 4) for _, confidence in pairs if confidence is not None)
        text, now = document.text, datetime.now(UTC).isoformat(timespec="seconds")
        return cls(now, version, likeliest_language(text), projected(text), tuple(label for label, _ in pairs), sure)

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON."""
        return {**asdict(self), "words": f"{self.words:08x}"}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The record of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        labels = tuple(sys.intern(label) for label in content["labels"])
        sure = tuple(map(float, content["confidences"]))
        texts = [str(content[name]) for name in ("time", "version", "language")]
        return cls(texts[0], texts[1], texts[2], _bits(content["words"]), labels, sure)


@dataclass(frozen=True, slots=True)
class Profile:
    """Documents to compare others with. words: `projected` of each; languages: how many there are in each."""

    words: Sequence[int]
    languages: Mapping[str, int]

    @classmethod
    def of_training(cls, documents: Sequence[Document]) -> Self | None:
        """The profile of the documents that a tagger is trained on; None if there are too few."""
        if len(documents) < FEWEST:
            return None
        rows = np.linspace(0, len(documents) - 1, min(PROFILED, len(documents))).astype(int).tolist()
        texts = [documents[row].text for row in rows]
        return cls([*map(projected, texts)], Counter(map(likeliest_language, texts)))

    @classmethod
    def of_records(cls, records: Sequence[Record]) -> Self:
        """The profile of tagged documents."""
        return cls([each.words for each in records], Counter(each.language for each in records))

    def to_json(self) -> dict[str, Any]:
        """The profile as plain JSON: the words are 8 digits a document."""
        return {"words": "".join(f"{each:08x}" for each in self.words), "languages": dict(self.languages)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The profile of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        digits: str = content["words"]
        found = [_bits(digits[start : start + 8]) for start in range(0, len(digits), 8)]
        return cls(found, {str(code): int(count) for code, count in content["languages"].items()})


def projected(text: str) -> int:
    """The signs of random projections of the words of a text, one bit each (Charikar 2002, 3).

    Each different word adds 1 or -1 to each projection, by a hash of the word.

    >>> one, same = projected("Bees visit orchards"), projected("orchards: bees visit")
    >>> one == same, bin(one ^ projected("Bees visit gardens")).count("1") < bin(one ^ projected("Tax law")).count("1")
    (True, True)
    """
    found = sorted({*words(text[:CHARACTERS], 1)})  # the first analysis: records of all releases are compared
    if not found:
        return 0
    ones: NDArray[np.int64] = np.sum([_signs(word) for word in found], axis=0)
    return int.from_bytes(np.packbits(2 * ones > len(found)).tobytes())


def likeliest_language(text: str) -> str:
    """The code of the language that a text is most likely in; empty for a text without letters."""
    found = detect(text)
    return max(found, key=lambda code: found[code], default="")


def _bits(digits: str) -> int:
    found = int(digits, 16)
    if not 0 <= found < 1 << BITS:
        raise ValueError(f"{digits} is not {BITS} bits")
    return found


@lru_cache(1 << 16)
def _signs(word: str) -> NDArray[np.int64]:
    digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=BITS // 8).digest()
    return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.int64)

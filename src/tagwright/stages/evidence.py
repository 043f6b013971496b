"""The common parts of stages: evidence spans, texts of labels, and readings that already hold all scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

from tagwright.types import Document, EvidenceSpan, Floats, Label, Retriever, Run, Stage

Span: TypeAlias = tuple[int, int]
"Start and end in a text."

_VIEWS: Mapping[str, Callable[[Label], str]] = {
    "name": lambda label: label.name,
    "names": lambda label: "; ".join(label.searched),
    "text": lambda label: label.text,
    "described": lambda label: label.described,
}


def strongest_spans(spans: Iterable[tuple[int, int, float]], most: int) -> tuple[EvidenceSpan, ...]:
    """The up to `most` spans (start, end, weight) of largest weight, the largest first, equal ones as they come.

    >>> [span.weight for span in strongest_spans([(0, 3, 0.5), (4, 7, 2.0), (8, 9, 1.0)], 2)]
    [2.0, 1.0]
    """
    best = sorted(spans, key=lambda span: -span[2])[:most]
    return tuple(EvidenceSpan(*span) for span in best)


def first_places(words: Iterable[str], spans: Iterable[Sequence[int]]) -> dict[str, Span]:
    """Where each word stands first. words, spans: of a text, one for one.

    >>> first_places(["bee", "hive", "bee"], [(0, 3), (4, 8), (9, 12)])
    {'bee': (0, 3), 'hive': (4, 8)}
    """
    first = dict[str, Span]()
    for word, (start, end) in zip(words, spans, strict=True):
        first.setdefault(word, (start, end))
    return first


def text_of(label: Label, view: str) -> str:
    """Return the text of a label for an encoder.

    "name": the preferred one. "names": all. "text": all and the description. "described": the preferred name and the
    description.
    """
    return _VIEWS[view](label)


class ComparesWords(Stage):
    """A stage that compares words of documents and labels: it is made of labels and options alone."""

    options: Any

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary, built from scratch: what a word tells depends on all labels."""
        return type(self)(labels, self.options)  # type: ignore[call-arg]

    def in_language(self, language: str, labels: Sequence[Label]) -> Self:
        """Return a copy with the stems, lemmas and n-grams of these languages."""
        return type(self)(labels, self.options.in_language(language))  # type: ignore[call-arg]

    def _text(self, document: Document) -> str:
        text: str = document.read_as(self.options.text_field)
        return text


class FindsAtOnce(Retriever):
    """A retriever whose reading is a Run: the scores of all labels that have any. k: candidates of a document."""

    k: int

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that the reading does not hold."""
        return reading.scores_of(candidates)

    def find(self, reading: Run) -> Run:
        """The k labels of largest score of each document; none for a document that says nothing to this stage."""
        return reading.top(self.k)

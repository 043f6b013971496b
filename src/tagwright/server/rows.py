"""A document and the labels beside it, as the pages show them: the text with the evidence marked, and reasons.

All is plain text: templates escape it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from tagwright.data.vocabulary import Vocabulary
from tagwright.review.events import Verdict
from tagwright.server.languages import _
from tagwright.tagger import Evidence, Reason, Suggestion, Tagger
from tagwright.tagger.reasons import OTHERS, meanings
from tagwright.types import Document, EvidenceSpan

Piece: TypeAlias = tuple[str, list[int]]
"A part of a block, and the ranks of the suggestions for which it is evidence; none for plain text."


class Block(NamedTuple):
    """A title, heading or paragraph. level: of a heading, 1 for a top section; 0 for everything else."""

    kind: Literal["title", "heading", "paragraph"]
    level: int
    pieces: list[Piece]


class Row(NamedTuple):
    """A label beside the document.

    rank: from 1 among the candidates; None for a label that the reviewer added. path: the names above it, from the top.
    reasons: why it is suggested, see `reason_lines`. uses: number of documents of the review with it, None without a
    review. verdict: this reviewer's.
    """

    id: str
    name: str
    notation: str
    path: tuple[str, ...]
    description: str
    rank: int | None = None
    confidence: float | None = None
    reasons: tuple[str, ...] = ()
    uses: int | None = None
    verdict: Verdict | None = None


def label_row(vocabulary: Vocabulary, label_id: str) -> Row:
    """The row of a label. Raises KeyError for an unknown one."""
    position = vocabulary.index[label_id]
    label, above = vocabulary[position], vocabulary.path(position)[:-1]
    description = label.description
    if len(description) > 400:
        description = description[:400].rstrip() + "…"
    return Row(label_id, label.name, label.notation, above, description)


def suggested_row(tagger: Tagger, document: Document, suggestion: Suggestion, rank: int) -> Row:
    """The row of a suggestion for a document, under the name that the suggestion has."""
    reasons = reason_lines(document, suggestion, tagger.meanings)
    row = label_row(tagger.vocabulary, suggestion.id)
    return row._replace(name=suggestion.name, rank=rank, confidence=suggestion.confidence, reasons=reasons)


def strongest_spans(evidence: Sequence[Evidence]) -> list[EvidenceSpan]:
    """The strongest pieces of evidence of each stage."""
    return [span for each in evidence for span in _first_spans(each.spans)]


def reason_lines(document: Document, suggestion: Suggestion, stages: Mapping[str, str]) -> tuple[str, ...]:
    """Say in plain words why a label is suggested, a line for each reason: those with evidence in the text first.

    Reasons against the label come last. stages: name -> meaning, see `Tagger.meanings`.

    >>> bees = Document("d", title="Bees and bees")
    >>> spans = (EvidenceSpan(0, 4, 1.0), EvidenceSpan(9, 13, 1.0))
    >>> evidence = Evidence("knn", 1, 0.5, ()), Evidence("exact_match", 2, 1.0, spans)
    >>> found = Suggestion("b", "Bees", 1.0, evidence=evidence)
    >>> reason_lines(bees, found, {"exact_match": "its name in the text", "knn": "labels of similar documents"})
    ('its name in the text: “Bees”', 'labels of similar documents')
    """
    shown = [each for each in suggestion.reasons if each.name != OTHERS]
    shown.sort(key=lambda each: (_is_against(each), not each.spans))
    known = meanings(shown, stages)
    lines = [_line(document, each, _(known.get(each.name, each.name.replace("_", " ")))) for each in shown]
    searched = [_("searched as %(name)s") % {"name": _quoted(name)} for name in suggestion.translated[:1]]
    return (*lines[:1], *searched, *lines[1:])


def _line(document: Document, reason: Reason, meaning: str) -> str:
    remark = f" ({_(reason.remark)})" if reason.remark else ""
    texts = [document.text[span.start : span.end] for span in _first_spans(reason.spans)]
    distinct = {text.casefold(): _quoted(text) for text in reversed(texts)}
    quoted = f": {', '.join(list(reversed(distinct.values()))[:2])}" if texts else ""
    line = f"{meaning}{quoted}{remark}"
    return _("against it: %(reason)s") % {"reason": line} if _is_against(reason) else line


def _is_against(reason: Reason) -> bool:
    return reason.added is not None and reason.added < 0


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    shown = text if len(text) <= 40 else text[:39].rstrip() + "…"
    return _("“%(text)s”") % {"text": shown}


def _first_spans(spans: Iterable[EvidenceSpan]) -> list[EvidenceSpan]:
    """The strongest four: more would mark the whole text."""
    return sorted(spans, key=lambda span: (-span.weight, span.start))[:4]


def highlight(
    document: Document, spans: Mapping[int, Sequence[EvidenceSpan]], most: int = 30_000
) -> tuple[list[Block], int]:
    """The text of a document with the evidence marked where it stands, and how many characters were left out.

    spans: rank of a suggestion -> its evidence, as positions in `document.text`. most: characters that are shown: a
    page stays small, however long the document.

    >>> bees = Document("d", title="Honey bees", abstract="They fly.")
    >>> for block in highlight(bees, {1: [EvidenceSpan(6, 10, 1.0)]})[0]:
    ...     print(block.kind, *block.pieces)
    title ('Honey ', []) ('bees', [1])
    paragraph ('They fly.', [])
    """
    flat = [(span.start, span.end, rank) for rank, each in spans.items() for span in each]
    blocks, start = list[Block](), 0
    for kind, level, text in _parts(document):
        if start >= most:
            break
        end = min(start + len(text), most)
        pieces = _pieces(text, start, end, [span for span in flat if span[0] < end and span[1] > start])
        blocks.append(Block(kind, level, list(pieces)))
        start += len(text) + 1
    return blocks, max(0, len(document.text) - most)


def _parts(document: Document) -> Iterator[tuple[Literal["title", "heading", "paragraph"], int, str]]:
    """The lines of `document.text` in its order, without empty ones."""
    if document.title:
        yield "title", 0, document.title
    if document.abstract:
        yield "paragraph", 0, document.abstract
    for section in document.sections:
        if section.heading:
            yield "heading", section.level, section.heading
        yield from (("paragraph", 0, text) for text in section.paragraphs if text)


def _pieces(text: str, start: int, end: int, spans: Sequence[tuple[int, int, int]]) -> Iterator[Piece]:
    """The text from start to end, cut wherever a span begins or ends."""
    cuts = {start, end}.union(*({max(first, start), min(last, end)} for first, last, _ in spans))
    for first, last in pairwise(sorted(cuts)):
        ranks = {rank for begin, finish, rank in spans if begin <= first and last <= finish}
        yield text[first - start : last - start], sorted(ranks)

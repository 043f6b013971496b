"""Mark the evidence for labels in the text of a document.

The pieces are plain text: whoever shows them escapes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from tagwright.types import Document, EvidenceSpan

SHOWN = 30_000
"Characters of a text that are shown: a page stays small, however long the document."


class Piece(NamedTuple):
    """A part of a block. ranks: the suggestions for which it is evidence, in order; none for plain text."""

    text: str
    ranks: tuple[int, ...] = ()


class Block(NamedTuple):
    """A title, heading or paragraph. level: of a heading, 1 for a top section; 0 for everything else."""

    kind: Literal["title", "heading", "paragraph"]
    level: int
    pieces: tuple[Piece, ...]


class Highlighted(NamedTuple):
    """The text as it is shown. rest: characters that were left out at the end."""

    blocks: tuple[Block, ...]
    rest: int


def highlight(document: Document, spans: Mapping[int, Sequence[EvidenceSpan]], most: int = SHOWN) -> Highlighted:
    """The text of a document with the evidence marked where it stands.

    spans: rank of a suggestion -> its evidence, as positions in `document.text`. most: characters that are shown.

    >>> bees = Document("d", title="Honey bees", abstract="They fly.")
    >>> for block in highlight(bees, {1: [EvidenceSpan(6, 10, 1.0)]}).blocks:
    ...     print(block.kind, *block.pieces)
    title Piece(text='Honey ', ranks=()) Piece(text='bees', ranks=(1,))
    paragraph Piece(text='They fly.', ranks=())
    """
    flat = [(span.start, span.end, rank) for rank, each in spans.items() for span in each]
    found, start = list[Block](), 0
    for kind, level, text in _parts(document):
        if start >= most:
            break
        end = min(start + len(text), most)
        pieces = _pieces(text, start, end, [span for span in flat if span[0] < end and span[1] > start])
        found.append(Block(kind, level, tuple(pieces)))
        start += len(text) + 1
    return Highlighted(tuple(found), max(0, len(document.text) - most))


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
        yield Piece(text[first - start : last - start], tuple(sorted(ranks)))

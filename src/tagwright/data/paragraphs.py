"""Split a document into paragraphs, with their places in its text, their sections and their weights."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tagwright.text.words import plain_spans
from tagwright.types import Document

SHORTEST = 10
"The fewest words; shorter paragraphs are captions, list items and fragments of formulas (FuTex 4.1)."

HEAD = -1
"The section of title and abstract."


class Paragraph(NamedTuple):
    """document.text[start : start + len(text)] is the text. section: a position in document.sections, or HEAD."""

    text: str
    start: int
    section: int


def paragraphs(document: Document, shortest: int = SHORTEST) -> list[Paragraph]:
    """Title and abstract as one paragraph, then the paragraphs of the sections with at least this many words.

    If a document has neither, its short paragraphs are kept.

    >>> from tagwright.types import Section
    >>> bees = Document("b", "Bees", sections=(Section("Wings", 1, ("They have four of them.", "Four.")),))
    >>> paragraphs(bees, shortest=2)
    [Paragraph(text='Bees', start=0, section=-1), Paragraph(text='They have four of them.', start=11, section=0)]
    """
    head = [] if not document.title_and_abstract.strip() else [Paragraph(document.title_and_abstract, 0, HEAD)]
    body = [part for part, is_heading in _parts(document) if not is_heading and part.text.strip()]
    kept = [part for part in body if is_long(part.text, shortest)]
    return [*head, *kept] or body


def is_long(text: str, shortest: int = SHORTEST) -> bool:
    """Whether a text has at least this many words.

    >>> is_long("Bees fly.", 2), is_long("Bees", 2)
    (True, False)
    """
    return len(plain_spans(text)) >= shortest


def headings_at(document: Document, position: int) -> tuple[str, ...]:
    """The headings above document.text[position], the outermost first; none in title and abstract.

    >>> from tagwright.types import Section
    >>> sections = Section("Body", 1), Section("Wings", 2, ("Four.",))
    >>> headings_at(Document("b", "Bees", sections=sections), len("Bees Body Wings F"))
    ('Body', 'Wings')
    """
    here = HEAD
    for part, _ in _parts(document):
        if part.start > position:
            break
        here = part.section
    above = parents([section.level for section in document.sections])
    headings: list[str] = []
    while here != HEAD:
        headings.append(document.sections[here].heading)
        here = above[here]
    return tuple(heading for heading in reversed(headings) if heading)


def parents(levels: Sequence[int]) -> list[int]:
    """The parent of each section, or HEAD: the last section before it with a lower level, even if levels are skipped.

    >>> parents([1, 2, 4, 3, 1])
    [-1, 0, 1, 1, -1]
    """
    open_sections: list[int] = []
    above = []
    for section, level in enumerate(levels):
        while open_sections and levels[open_sections[-1]] >= level:
            open_sections.pop()
        above.append(open_sections[-1] if open_sections else HEAD)
        open_sections.append(section)
    return above


def _parts(document: Document) -> Iterator[tuple[Paragraph, bool]]:
    """Each heading and paragraph of the sections, and whether it is a heading."""
    start = len(document.title_and_abstract) + 1 if document.title_and_abstract else 0
    for number, section in enumerate(document.sections):
        for place, text in enumerate((section.heading, *section.paragraphs)):
            if text:
                yield Paragraph(text, start, number), place == 0
                start += len(text) + 1

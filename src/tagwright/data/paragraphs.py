"""Split a document into paragraphs, with their places in its text, their sections and their weights."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tagwright.text.words import raw_words
from tagwright.types import Document, Floats

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
    return len(raw_words(text, 1)) >= shortest  # a length, the same for saved taggers of all releases


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


def tree_shares(levels: Sequence[int], sizes: Sequence[int], weights: Sequence[float] | None = None) -> Floats:
    """FuTex Eq. 6, from the root down: the weight of each paragraph in a mean of means along the section tree.

    h_x is the mean over Child(x), so a child has 1 / |Child(x)| of the share of x, and h of the root is the sum of
    share * h_p over the paragraphs. Children are a section's own paragraphs and its subsections that have any.

    levels: (sections,) as in Section. sizes: (sections,) own paragraphs. weights: (sections,) the weight of a section
    among its siblings; 1 by default, as for a paragraph. Returns (paragraphs,), section by section; they sum to 1.

    The root has an abstract of one paragraph and a body: 1/2 each. The body has one paragraph and a subsection: 1/4
    each. The subsection has two: 1/8 each.

    >>> tree_shares([1, 1, 2], [1, 1, 2]).tolist()
    [0.5, 0.25, 0.125, 0.125]
    """
    above = parents(levels)
    filled, total = list(sizes), np.zeros(len(levels) + 1)  # the last position is that of the root, HEAD
    weight = np.ones(len(levels)) if weights is None else np.asarray(weights, np.float64)
    for section in reversed(range(len(levels))):
        if filled[section]:
            total[section] += sizes[section]
            total[above[section]] += weight[section]
            if above[section] != HEAD:
                filled[above[section]] += filled[section]
    share = np.zeros(len(levels) + 1)
    share[HEAD] = 1.0
    for section, parent in enumerate(above):
        if filled[section]:
            share[section] = share[parent] * weight[section] / total[parent]
    own = np.divide(share[:-1], total[:-1], out=np.zeros(len(levels)), where=total[:-1] > 0)
    return np.repeat(own, sizes).astype(np.float32)


def _parts(document: Document) -> Iterator[tuple[Paragraph, bool]]:
    """Each heading and paragraph of the sections, and whether it is a heading."""
    start = len(document.title_and_abstract) + 1 if document.title_and_abstract else 0
    for number, section in enumerate(document.sections):
        for place, text in enumerate((section.heading, *section.paragraphs)):
            if text:
                yield Paragraph(text, start, number), place == 0
                start += len(text) + 1

"""Make documents of headings and paragraphs in reading order, as all formats do; and the id of a work."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from tagwright.text.words import clean
from tagwright.types import Document, Section

Block: TypeAlias = tuple[int, str]
"A heading with its depth (1 is the top; depths may be skipped), or a paragraph with depth 0."

ABSTRACTS = ("abstract", "summary", "zusammenfassung", "résumé", "resumen")
"Headings of an abstract."


def to_document(title: str, blocks: Sequence[Block], metadata: Mapping[str, tuple[str, ...]] | None = None) -> Document:
    """A document without id. The text before the first heading is the abstract.

    If that heading is "Abstract", its section is the abstract, and the text before it a section without heading.

    >>> bees = to_document("Bees", [(0, "By Ann."), (1, "Abstract"), (0, "They fly."), (1, "Wings"), (0, "Four.")])
    >>> bees.abstract, [(section.heading, section.paragraphs) for section in bees.sections]
    ('They fly.', [('', ('By Ann.',)), ('Wings', ('Four.',))])
    """
    start = next((place for place, (depth, _) in enumerate(blocks) if depth), len(blocks))
    lead = [text for _, text in blocks[:start]]
    sections = tuple(to_sections(blocks[start:]))
    if sections and sections[0].heading.strip(" .:").casefold() in ABSTRACTS:
        end = next((place for place, section in enumerate(sections) if place and section.level == 1), len(sections))
        inside = [text for section in sections[:end] for text in (section.heading, *section.paragraphs) if text]
        before = (Section("", 1, tuple(lead)),) if lead else ()
        lead, sections = inside[1:], (*before, *sections[end:])
    return Document("", title, "\n\n".join(lead).strip(), sections, metadata or {})


def to_sections(blocks: Iterable[Block]) -> Iterator[Section]:
    """The sections that the headings begin; paragraphs before the first heading are a section without one.

    The level of a section counts the headings above it, so that skipped depths leave no gap.

    >>> [(section.heading, section.level) for section in to_sections([(2, "a"), (4, "b"), (3, "c"), (1, "d")])]
    [('a', 1), ('b', 2), ('c', 2), ('d', 1)]
    """
    blocks = list(blocks)
    if blocks and not blocks[0][0]:
        blocks.insert(0, (1, ""))
    above: list[int] = []
    headings = [place for place, (depth, _) in enumerate(blocks) if depth]
    for start, end in pairwise([*headings, len(blocks)]):
        depth, heading = blocks[start]
        while above and above[-1] >= depth:
            above.pop()
        above.append(depth)
        yield Section(heading, len(above), tuple(paragraph for _, paragraph in blocks[start + 1 : end]))


def keep_present(**metadata: list[str]) -> dict[str, tuple[str, ...]]:
    """Metadata fields without blank and repeated values, and without fields that have none."""
    kept = {field: tuple(dict.fromkeys(filter(None, values))) for field, values in metadata.items()}
    return {field: values for field, values in kept.items() if values}


def authors(names: Iterable[str]) -> list[str]:
    """The names that are not what python-docx, ReportLab or Word for macOS writes where no author is given.

    >>> authors(["(anonymous)", "Anonymous", "Ann Non"])
    ['Ann Non']
    """
    nobody = ("python-docx", "anonymous", "unknown", "microsoft office user")
    return [name for name in names if name.strip(" ()").casefold() not in nobody]


def keywords(texts: Iterable[str]) -> list[str]:
    """The keywords in texts that separate them by commas or semicolons.

    >>> keywords(["honey bees; wings", "flight,  nectar"])
    ['honey bees', 'wings', 'flight', 'nectar']
    """
    return [one_line(word) for text in texts for word in re.split("[,;]", text)]


def years(texts: Iterable[str]) -> list[str]:
    """The year in each text that holds one: four digits in a row.

    >>> years(["2019/05/01", "c1998.", "n.d."])
    ['2019', '1998']
    """
    return [year[0] for text in texts if (year := re.search(r"\d{4}", text))]


def one_line(text: str) -> str:
    r"""Clean text with single spaces.

    >>> one_line(" Bees\n fly ")
    'Bees fly'
    """
    return " ".join(clean(text).split())


def numbered_depth(number: str) -> int:
    """The depth of a section with this number; 1 without a number.

    >>> numbered_depth("2"), numbered_depth("2.1."), numbered_depth("A.1.3"), numbered_depth("")
    (1, 2, 3, 1)
    """
    number = number.strip()
    return 1 + number.rstrip(".").count(".") if re.match(r"(?:\d+|[A-Z])(?:\.\d+)*\.?$", number) else 1


def work_id(ids: Mapping[str, str]) -> str:
    """The id that is used for a work with several (pmid, doi, pmc, arxiv), or nothing.

    Documents and the works they refer to are named alike, so that references within a corpus meet their documents.

    >>> work_id({"doi": "doi:10.1/A", "pmid": "17"}), work_id({"doi": "doi:10.1/A"}), work_id({"url": "x"})
    ('17', '10.1/a', '')
    """
    known = {kind.lower(): name.strip() for kind, name in ids.items() if name.strip()}
    known["doi"] = doi(known.get("doi", ""))
    return next((known[kind] for kind in ("pmid", "doi", "pmcid", "pmc", "arxiv") if known.get(kind)), "")


def doi(text: str) -> str:
    """A normalised DOI: lower case, without the address of the resolver.

    >>> doi("https://doi.org/10.1000/ABC"), doi("doi:10.1000/abc")
    ('10.1000/abc', '10.1000/abc')
    """
    return re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:?\s*)", "", text.strip().lower())

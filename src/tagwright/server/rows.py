"""Show a document on pages: its text with the evidence marked, and a row for each label, with reasons.

All is plain text: templates escape it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Literal, NamedTuple, TypeAlias

from tagwright.combining.confidence import confidence_level
from tagwright.data.vocabulary import Vocabulary
from tagwright.review.events import Verdict
from tagwright.server.label_search import matching_name
from tagwright.server.languages import _
from tagwright.tagger import Evidence, Reason, Suggestion, Tagger
from tagwright.tagger.suggestions import OTHERS, meanings
from tagwright.types import Document, EvidenceSpan

Piece: TypeAlias = tuple[str, list[int]]
"A part of a block, and the ranks of the suggestions that it is evidence for; none for plain text."

Kind: TypeAlias = Literal["title", "heading", "paragraph"]

Block: TypeAlias = tuple[Kind, int, list[Piece]]
"A part of a document. The number is the level of a heading: 1 for a top section, 0 for everything else."


class Row(NamedTuple):
    """A label with its verdict.

    path: the names of the labels above, from the top. rank: from 1 among the candidates; None for a label that the
    reviewer added. is_rough: whether the confidence is that of a model which has seen no labels of these documents.
    reasons: for the suggestion, see `reason_lines`. uses: number of documents of the review that have
    the label; None without a review. verdict: of this reviewer. in_record: whether the document came with the label.
    is_added: whether the reviewer found it by search. is_folded: whether it takes a click to see it.
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
    is_rough: bool = False
    in_record: bool = False
    is_added: bool = False
    is_folded: bool = False

    @property
    def certainty(self) -> str:
        """A word for the confidence; "" without one.

        >>> [label._replace(confidence=value).certainty for label in [Row("b", "Bees", "", (), "")]
        ...  for value in (0.5, 0.39, 0.1)]
        ['likely', 'possible', 'unlikely']
        """
        return "" if self.confidence is None else _(confidence_level(self.confidence))


def label_row(vocabulary: Vocabulary, label_id: str, language: str = "") -> Row:
    """Return the row of a label, with names in a language where it has them. Raises KeyError for an unknown one."""
    position = vocabulary.index[label_id]
    label = vocabulary[position]
    description = label.description_in(language)
    if len(description) > 400:
        description = description[:400].rstrip() + "…"
    path = vocabulary.path(position, language)[:-1]
    return Row(label_id, label.name_in(language), label.notation, path, description)


def found_row(vocabulary: Vocabulary, label_id: str, query: str, language: str = "") -> Row:
    """Return the row of a label that a query found; its reason is the name that matched, if another one is shown."""
    row = label_row(vocabulary, label_id, language)
    names = (row.name, *vocabulary[vocabulary.index[label_id]].all_names)
    if (name := matching_name(names, query)) in ("", row.name):
        return row
    return row._replace(reasons=(_("also called %(name)s") % {"name": _quote_text(name)},))


def suggested_row(tagger: Tagger, document: Document, suggestion: Suggestion, rank: int, language: str = "") -> Row:
    """Return the row of a suggestion, with names in a language where its label has them."""
    reasons = reason_lines(document, suggestion, tagger.meanings)
    row = label_row(tagger.vocabulary, suggestion.id, language)
    is_rough = tagger.is_rough
    return row._replace(rank=rank, confidence=suggestion.confidence, reasons=reasons, is_rough=is_rough)


def strongest_spans(text: str, evidence: Sequence[Evidence]) -> list[EvidenceSpan]:
    """Return the strongest spans of the evidence of each stage, at most four, none in an address (URL)."""
    return [span for piece in evidence for span in _first_spans(text, piece.spans)]


def reason_lines(document: Document, suggestion: Suggestion, stages: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each reason why a label is suggested, in the language of the request.

    First those with evidence in the text, last those against the label. stages: name -> meaning, `Tagger.meanings`.

    >>> bees = Document("d", title="Bees and bees")
    >>> spans = (EvidenceSpan(0, 4, 1.0), EvidenceSpan(9, 13, 1.0))
    >>> evidence = Evidence("knn", 1, 0.5, ()), Evidence("exact_match", 2, 1.0, spans)
    >>> suggestion = Suggestion("b", "Bees", 1.0, evidence=evidence)
    >>> reason_lines(bees, suggestion, {"exact_match": "its name in the text", "knn": "labels of similar documents"})
    ('“Bees” – its name in the text', 'labels of similar documents')
    """
    shown = [reason for reason in suggestion.reasons if reason.name != OTHERS]
    shown.sort(key=lambda each: (_is_against(each), not each.spans))
    known = meanings(shown, stages)
    lines = [_line(document, reason, _(known.get(reason.name, reason.name.replace("_", " ")))) for reason in shown]
    translated = [_("searched as %(name)s") % {"name": _quote_text(name)} for name in suggestion.translated[:1]]
    return (*lines[:1], *translated, *lines[1:])


def _line(document: Document, reason: Reason, meaning: str) -> str:
    remark = f" ({_(reason.remark)})" if reason.remark else ""
    texts = [document.text[span.start : span.end] for span in _first_spans(document.text, reason.spans)]
    distinct = {text.casefold(): _quote_text(text) for text in reversed(texts)}
    quoted = f"{', '.join(list(reversed(distinct.values()))[:2])} – " if texts else ""
    line = f"{quoted}{meaning}{remark}"
    return _("against it: %(reason)s") % {"reason": line} if _is_against(reason) else line


def _is_against(reason: Reason) -> bool:
    return reason.added is not None and reason.added < 0


def _quote_text(text: str) -> str:
    text = " ".join(text.split())
    shown = text if len(text) <= 40 else text[:39].rstrip() + "…"
    return _("“%(text)s”") % {"text": shown}


def _first_spans(text: str, spans: Iterable[EvidenceSpan]) -> list[EvidenceSpan]:
    """The strongest four outside of addresses: more would mark the whole text. A hundred are looked at."""
    strongest = sorted(spans, key=lambda span: (-span.weight, span.start))[:100]
    return list(islice((span for span in strongest if not _in_address(text, span)), 4))


_ADDRESS = re.compile(
    r"(?:\b[a-z][a-z0-9+]{1,9}://|www\.|[\w.+-]+@[\w-]+\.|(?:[\w-]{2,}\.)+[a-z]{2,}/|\b10\.\d{4,}/)"
    r"[^\s<>\"\u3000-\u9fff]*",
    re.IGNORECASE,
)
"A URL with or without its scheme, an address of mail, or a DOI; a text in Chinese goes on without a blank."


def _in_address(text: str, span: EvidenceSpan, reach: int = 200) -> bool:
    """Whether a span is a part of an address. reach: characters before and after it that are looked at.

    >>> text = "Water: https://example.org/water/quality"
    >>> [_in_address(text, EvidenceSpan(start, start + 5, 1.0)) for start in (0, 27)]
    [False, True]
    """
    before = max(0, span.start - reach)
    addresses = _ADDRESS.finditer(text[before : span.end + reach])
    return any(each.start() < span.end - before and each.end() > span.start - before for each in addresses)


def highlight(
    document: Document, spans: Mapping[int, Sequence[EvidenceSpan]], most: int = 30_000
) -> tuple[list[Block], int]:
    """Return the text of a document with the evidence marked, and the number of characters left out.

    spans: rank of a suggestion -> its evidence, as positions in `document.text`. most: characters to show, since a page
    should stay small, however long the document is.

    >>> bees = Document("d", title="Honey bees", abstract="They fly.")
    >>> for kind, level, pieces in highlight(bees, {1: [EvidenceSpan(6, 10, 1.0)]})[0]:
    ...     print(kind, *pieces)
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
        blocks.append((kind, level, list(pieces)))
        start += len(text) + 1
    return blocks, max(0, len(document.text) - most)


def _parts(document: Document) -> Iterator[tuple[Kind, int, str]]:
    """Kind, level and text of the lines of `document.text`, in its order, without empty ones."""
    if document.title:
        yield "title", 0, document.title
    if document.abstract:
        yield "paragraph", 0, document.abstract
    for section in document.sections:
        if section.heading:
            yield "heading", section.level, section.heading
        yield from (("paragraph", 0, text) for text in section.paragraphs if text)


def _pieces(text: str, start: int, end: int, spans: Sequence[tuple[int, int, int]]) -> Iterator[Piece]:
    """The text from start to end, cut wherever a span begins or ends. spans: first, last, rank of suggestion."""
    cuts = {start, end}.union(*({max(first, start), min(last, end)} for first, last, _ in spans))
    for begin, finish in pairwise(sorted(cuts)):
        ranks = {rank for first, last, rank in spans if first <= begin and finish <= last}
        yield text[begin - start : finish - start], sorted(ranks)

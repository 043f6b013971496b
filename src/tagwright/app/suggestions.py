"""Print suggestions: as text for people, as a run file for programs, as a table for spreadsheets."""

import json
import logging
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from tagwright.app.render import WIDTH, one_line, shorten
from tagwright.combining.confidence import LIKELY, confidence_level, squash_score
from tagwright.combining.steps import Estimate
from tagwright.core.checked import show
from tagwright.core.display import escape_controls, for_programs, plural
from tagwright.data.paragraphs import headings_at
from tagwright.data.text_languages import language_subtag
from tagwright.data.vocabulary import Vocabulary
from tagwright.readers import trec, workbooks
from tagwright.readers.documents.annotation_tools import Shown, tool_lines
from tagwright.readers.lines import ENDS
from tagwright.readers.run_files import (
    COLUMNS,
    NUMBERS,
    csv_lines,
    document_record,
    run_digest,
    suggestion_record,
    table_row,
)
from tagwright.tagger import Reason, Suggestion, Suggestions, Tagger
from tagwright.tagger.suggestions import legend, meanings
from tagwright.types import Document, EvidenceSpan, Label

if TYPE_CHECKING:
    from tagwright.app.arguments import Format

_log = logging.getLogger(__name__)

SPANS = 3
"Pieces of text shown for each reason, at most."

_INDENT = " " * 10

Tagged: TypeAlias = Iterable[tuple[Document, Suggestions]]
"Documents with their suggestions."


@dataclass(frozen=True)
class Naming:
    """How labels are named. of: the same labels with the names to print for a document.

    paths: whether names have those of broader labels, which ambiguous names always have. language: the code of the
    language that names were asked for in: of each the language is said, in text only where it is another one.
    """

    of: Callable[[Document], Vocabulary]
    paths: bool = False
    language: str = ""

    def named(
        self, document: Document, suggested: Iterable[Suggestion]
    ) -> Iterator[tuple[Suggestion, Label, str, str]]:
        """Yield each suggestion, its label, its name for people, and the language of this if asked for."""
        vocabulary = self.of(document)
        for suggestion in suggested:
            label = vocabulary[place := vocabulary.index[suggestion.id]]
            language = label.named_in(self.language)[1] if self.language else ""
            yield suggestion, label, vocabulary.shown_name(place, whole=self.paths), language


def suggestion_lines(tagged: Tagged, tagger: Tagger, output: "Format", naming: Naming | None = None) -> Iterator[str]:
    """The suggestions as lines: text for people, a run file (jsonl, trec), a table (tsv, csv), or a JSON list.

    csv: with an apostrophe before every cell that a spreadsheet would take for a formula and compute. naming: by
    default with the tagger's names.
    """
    naming = naming or Naming(lambda _: tagger.vocabulary)
    lines: Iterator[str]
    if output == "jsonl":
        lines = (run_line(document, suggested, tagger, naming) for document, suggested in tagged)
    elif output == "trec":
        lines = (
            line
            for document, suggested in tagged
            for line in trec.run_lines(document.id, ((suggestion.id, suggestion.score) for suggestion in suggested))
        )
    elif output == "csv":
        lines = csv_lines(_table(tagged, naming))
    elif output in ("label_studio", "argilla"):
        lines = tool_lines(output, _name_for_tools(tagged, naming))
    elif output == "text":
        lines = _texts(tagged, tagger, naming)
    else:
        lines = _tsv(_table(tagged, naming))
    return map(for_programs if output == "trec" else escape_controls, lines)


def _name_for_tools(tagged: Tagged, naming: Naming) -> Iterator[tuple[Document, list[Shown]]]:
    """The suggestions as annotation tools show them, with confidences, or else scores squashed into 0 to 1."""
    for document, suggested in tagged:
        sure = [squash_score(each.score) if each.confidence is None else each.confidence for each in suggested]
        named = zip(naming.named(document, suggested), sure, strict=True)
        yield document, [(each.id, name, confidence) for (each, _, name, _), confidence in named]


def _texts(tagged: Tagged, tagger: Tagger, naming: Naming) -> Iterator[str]:
    """Each document with its labels; the names of their reasons are explained where they are first shown."""
    explained = set[str]()
    for document, suggested in tagged:
        yield from as_text(document, suggested, naming)
        made_by = (f"confidence: by {suggestion.estimate.by}" for suggestion in suggested if suggestion.estimate)
        lines = dict.fromkeys(chain(legend(_reasons(suggested), tagger.meanings), made_by))
        new = [line for line in lines if line not in explained]
        explained.update(new)
        if new:
            yield from textwrap.wrap(f"({'; '.join(new)})", WIDTH, initial_indent="  ", subsequent_indent="   ")


def as_text(document: Document, suggested: Suggestions, naming: Naming) -> Iterator[str]:
    """One document and its labels for people: a line each, and one for each reason.

    How sure the tagger is stands there in a word: two decimals would promise more than the estimate is worth.
    """
    yield f"{one_line(document.id)}  {shorten(document.title, 100)}".rstrip()
    if suggested.none is not None and suggested.none > LIKELY:
        yield f"  no label fits ({suggested.none:.2f})"
    for suggestion, _, name, language in naming.named(document, suggested):
        other = f" ({language or '?'})" if language_subtag(language) != language_subtag(naming.language) else ""
        sure = "" if suggestion.confidence is None else f"{confidence_level(suggestion.confidence):8}  "
        notation = f"  {one_line(suggestion.notation)}" if suggestion.notation else ""
        yield f"  {suggestion.score:6.3f}  {sure}{one_line(name + other)}{notation}  [{one_line(suggestion.id)}]"
        if suggestion.translated:
            names = " ".join(f'"{one_line(one)}"' for one in suggestion.translated)
            yield f"{_INDENT}{shorten(names, WIDTH)} ~ {one_line(suggestion.name)}"
        yield from (f"{_INDENT}{reason_line(reason, document)}" for reason in suggestion.reasons)
        if suggestion.estimate and suggestion.confidence is not None:
            yield f"{_INDENT} {suggestion.confidence:5.2f}  {estimate_line(suggestion.estimate)}"
    if not suggested:
        yield "  (no suggestion)"


def reason_line(reason: Reason, document: Document) -> str:
    """One reason: what it adds to the score, its rank if it is a high one, the pieces of text that count most.

    There is at least one piece, and no more than fit.
    """
    added = "" if reason.added is None else f"{reason.added:+6.2f}  "
    rank = "" if reason.rank is None else f" #{reason.rank}"
    remark = f" ({reason.remark})" if reason.remark else ""
    line = f"{added}{reason.name}{rank}{remark}"
    for number, span in enumerate(reason.spans[:SPANS]):
        longer = f"{line}{', ' if number else ': '}{_span(span, document)}"
        if number and len(_INDENT + longer) > WIDTH:
            break
        line = longer
    return line


def estimate_line(estimate: Estimate) -> str:
    """What was read for a confidence.

    >>> estimate_line(Estimate("a curve", (("score", 3.1415), ("rank", 1.0))))
    'confidence: score 3.14, rank 1'
    """
    read = (f"{name} {value:,.{0 if value.is_integer() else 2}f}" for name, value in estimate.features)
    return f"confidence: {', '.join(read)}" if estimate.features else "confidence"


def run_line(document: Document, suggested: Suggestions, tagger: Tagger, naming: Naming) -> str:
    """A document and its labels as a line of a run file; with the reasons and their meanings, if there are any."""
    records = [
        _record(each, label, document, language if naming.language else None)
        for each, label, _, language in naming.named(document, suggested)
    ]
    content = document_record(document.id, document.title, records, run_digest(document), suggested.none)
    known = meanings(_reasons(suggested), tagger.meanings)
    return json.dumps({**content, "meanings": known} if known else content, ensure_ascii=False)


def _record(each: Suggestion, label: Label, document: Document, language: str | None) -> dict[str, Any]:
    content = suggestion_record(
        each.id, each.score, name=label.name, notation=each.notation, confidence=each.confidence
    )
    if language is not None:
        content["language"] = language
    return content | each.explanation(document.text, longest=None)


def write_workbook(tagged: Tagged, stream: IO[bytes], naming: Naming) -> None:
    """The table of suggestions as an Excel workbook; rank, score and confidence are numbers."""
    table = _table(tagged, naming)
    header = next(table)
    rows = ([float(cell) if place in NUMBERS and cell else cell for place, cell in enumerate(row)] for row in table)
    workbooks.write_workbook(chain([header], rows), stream, "suggestions")


def _tsv(table: Iterator[Sequence[str]]) -> Iterator[str]:
    """The table as TSV."""
    changed = dict[str, None]()
    yield "\t".join(next(table))
    for document, rank, label, notation, name, *others in table:
        ids = document, label, notation
        changed |= dict.fromkeys(filter(ENDS.search, ids))
        document, label, notation = (one_line(id_) if ENDS.search(id_) else id_ for id_ in ids)
        yield "\t".join((document, rank, label, notation, name, *others))
    if changed:
        problem = "tabs and line ends of %s, which TSV cannot hold, are spaces (first: %s); JSON lines hold them"
        _log.warning(problem, plural(len(changed), "id"), show(next(iter(changed))))


def _table(tagged: Tagged, naming: Naming) -> Iterator[tuple[str, ...]]:
    """`COLUMNS`, then a row for each suggestion; the language of each name comes last, if it was asked for."""
    asked = bool(naming.language)
    yield *COLUMNS, *["language"] * asked
    for document, suggested in tagged:
        for rank, (each, label, name, language) in enumerate(naming.named(document, suggested), 1):
            row = table_row(document.id, rank, label, name, each.score, each.confidence, suggested.none)
            yield *row, *[language] * asked


def _span(span: EvidenceSpan, document: Document) -> str:
    section = " > ".join(headings_at(document, span.start)) if document.sections else ""
    shown = f'"{shorten(document.text[span.start : span.end])}" {span.start}-{span.end}'
    return f"{shown} in {section}" if section else shown


def _reasons(suggested: Iterable[Suggestion]) -> list[Reason]:
    return [reason for suggestion in suggested for reason in suggestion.reasons]

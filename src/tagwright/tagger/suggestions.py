"""The suggestions of a document, with their reasons in the order that people ask for: what raised the score most first.

The command line, Python, the server and the review page take reasons and their meanings from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tagwright.combining.confidence import confidence_level
from tagwright.combining.steps import FIXED_SUM, Contribution, Estimate
from tagwright.core.display import html_table, mark_spans
from tagwright.llm.options import LLM_RANKING
from tagwright.types import EvidenceSpan

OTHERS = "others"
"The name of the reasons that add so little that they are shown as one."

FIRST = 5
"A stage that ranks a label below this many others gives no rank as a reason."

SMALL = 0.05
"A reason that adds less than this share of the largest one is one of the others."

GROUPS: Mapping[str, str] = {
    FIXED_SUM: "all stages together",
    "agreement": "how many stages put it first",
    "neighbours": "labels of similar documents",
    "label": "its name, how often it is suggested or right",
    "document": "length of the text",
}
"Meaning of the reasons that are no stages."

LEARNED = "such matches misled in the labelled documents"
"The remark on a stage that has the label among its first, and yet lowers its score."

VARIANTS = ("_in_abstract", "_in_text")
"Endings of the stages that `train auto` adds to read another part of the document: with their stage, one reason."

LONGEST_SPAN = 1000
"Characters of each piece of evidence in `Suggestion.to_dict`, at most."


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion:
    """One suggested label of a document: its id, preferred name and score, best first in a list of them.

    score: on the tagger's own scale, comparable within a document. confidence: the probability that the label is right,
    from 0 to 1; None if the tagger does not estimate it. notation: the label's place in a classification; empty if it
    has none. evidence: that of each stage that suggests the label, if requested, ordered by contribution to the score.
    contributions: with the evidence, what each stage or group of features adds to the score, largest first.
    translated: translated names by which texts find the label. estimate: how the confidence was computed; None if that
    is not known.
    """

    id: str
    name: str
    score: float
    confidence: float | None = None
    notation: str = ""
    evidence: tuple[Evidence, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    translated: tuple[str, ...] = ()
    estimate: Estimate | None = None

    def __repr__(self) -> str:
        """Return the fields that say something, as the constructor takes them.

        >>> Suggestion("638.1", "Bees", 1.5)
        Suggestion(id='638.1', name='Bees', score=1.5)
        """
        said = (setting.name for setting in fields(self) if getattr(self, setting.name) != setting.default)
        return f"Suggestion({', '.join(f'{name}={getattr(self, name)!r}' for name in said)})"

    def to_dict(self, text: str | None = None) -> dict[str, Any]:
        """Return plain values for JSON, as in answers of `/api/suggest`.

        text: the document's, if the suggestion is explained: this adds reasons, evidence with at most 1,000 characters
        of each span, translated names, and how the confidence was computed.

        >>> Suggestion("638.1", "Bees", 1.5).to_dict()
        {'id': '638.1', 'name': 'Bees', 'notation': '', 'score': 1.5, 'confidence': None}
        """
        always = ("id", "name", "notation", "score", "confidence")
        content = {name: getattr(self, name) for name in always}
        return content if text is None else {**content, "reasons": [], "evidence": [], **self.explanation(text)}

    def explanation(self, text: str, longest: int | None = LONGEST_SPAN) -> dict[str, Any]:
        """Return what is known of why and how sure, as plain values: in answers of `/api/suggest` and in run files.

        text: the document's. longest: characters of each span at most.
        """
        content = {
            "reasons": [reason.to_json() for reason in self.reasons],
            "evidence": [evidence.to_json(text, longest) for evidence in self.evidence],
            "estimate": self.estimate.to_json() if self.estimate else None,
            "translated": list(self.translated),
        }
        return {name: value for name, value in content.items() if value}

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Return the reasons in order: what raised the score most comes first; none if no evidence was requested."""
        return reasons(self.evidence, self.contributions) if self.evidence else ()


class Suggestions(list[Suggestion]):
    """The suggestions of one document, best first: a list that a notebook shows as a table.

    none: the probability that no label of the vocabulary fits the document; None: not estimated. text: the document's,
    shown with its evidence marked, if the suggestions are explained; else empty. A slice is a plain list.
    """

    def __init__(self, suggestions: Iterable[Suggestion] = (), text: str = "", none: float | None = None) -> None:
        super().__init__(suggestions)
        self.text, self.none = text, none

    def _repr_html_(self) -> str:
        table = html_table(self._rows(), words=("id", "notation", "confidence"))
        if not self.text:
            return table
        spans = [(span.start, span.end) for suggestion in self for why in suggestion.evidence for span in why.spans]
        style = "white-space:pre-wrap;text-align:left;max-height:20em;overflow:auto"
        return f'{table}<div style="{style}">{mark_spans(self.text, spans)}</div>'

    def _rows(self) -> list[list[str]]:
        """Return the table with its header; without notations and confidences where no suggestion has one."""
        columns = {
            "label": [suggestion.name for suggestion in self],
            "id": [suggestion.id for suggestion in self],
            "notation": [suggestion.notation for suggestion in self],
            "score": [f"{suggestion.score:.3f}" for suggestion in self],
            "confidence": ["" if each.confidence is None else confidence_level(each.confidence) for each in self],
        }
        kept = {name: cells for name, cells in columns.items() if any(cells) or name in ("label", "id", "score")}
        return [list(kept), *map(list, zip(*kept.values(), strict=True))]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one stage suggests a label: its rank (from 1) and score there, and the evidence spans in the text."""

    stage: str
    rank: int
    score: float
    spans: tuple[EvidenceSpan, ...]

    def to_json(self, text: str, longest: int | None = None) -> dict[str, Any]:
        """Return the fields, each span with its piece of the text of the document, at most `longest` characters of it.

        >>> Evidence("tfidf", 1, 0.5, (EvidenceSpan(0, 4, 0.5),)).to_json("Bees fly.")["spans"]
        [{'start': 0, 'end': 4, 'weight': 0.5, 'text': 'Bees'}]
        """
        spans = [{**asdict(span), "text": text[span.start : span.end][:longest]} for span in self.spans]
        return {"stage": self.stage, "rank": self.rank, "score": self.score, "spans": spans}


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a suggestion: a stage, or a group of features of a learned combiner.

    added: its contribution to the score, if the combiner can tell: in a weighted sum they add up to the score; in a
    learned combiner they compare the label with the document's other candidates. rank: the label's in the stage, if
    among the first five. spans: those in the text. remark: why a good rank lowers the score, or "".
    """

    name: str
    added: float | None
    rank: int | None = None
    spans: tuple[EvidenceSpan, ...] = ()
    remark: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return name, added, and the rank and the remark if there are any; the spans are with the evidence."""
        content: dict[str, Any] = {"name": self.name, "added": self.added, "rank": self.rank, "remark": self.remark}
        return {key: value for key, value in content.items() if value not in (None, "")}


def reasons(evidence: Sequence[Evidence], contributions: Sequence[Contribution]) -> tuple[Reason, ...]:
    """Return the reasons in order: those that raise the score, the largest first, then those that lower it.

    Those that add little come last, as one. Without contributions, the stages by rank: those that rank the label among
    their first five, or the best of them.

    >>> found = [Evidence("tfidf", 30, 0.1, ()), Evidence("svm", 1, 0.4, ()), Evidence("dense", 2, 0.6, ())]
    >>> for each in reasons(found, [Contribution("svm", 2.5), Contribution("dense", -0.5), Contribution("tfidf", 0.1)]):
    ...     print(each.name, each.added, each.rank)
    svm 2.5 1
    dense -0.5 2
    others 0.1 None
    >>> [each.name for each in reasons(found, [])]
    ['svm', 'dense']
    """
    contributions = _without_variants(contributions)
    if not any(contribution.added for contribution in contributions):
        ranked = sorted(evidence, key=lambda each: each.rank)
        first = [piece for piece in ranked if piece.rank <= FIRST] or ranked[:1]
        return tuple(Reason(piece.stage, None, _format_rank(piece.rank), piece.spans) for piece in first)
    least = SMALL * max(abs(contribution.added) for contribution in contributions)
    large = sorted((each for each in contributions if abs(each.added) >= least), key=lambda each: -each.added)
    by_stage = {piece.stage: piece for piece in evidence}
    shown = [_reason(contribution, by_stage.get(contribution.feature)) for contribution in large]
    rest = [contribution.added for contribution in contributions if abs(contribution.added) < least]
    return (*shown, Reason(OTHERS, sum(rest))) if any(rest) else tuple(shown)


def in_order(evidence: Iterable[Evidence], contributions: Sequence[Contribution]) -> tuple[Evidence, ...]:
    """Return the evidence of stages by what they add to the score, the largest first; as it is without contributions.

    >>> found = [Evidence("tfidf", 1, 0.1, ()), Evidence("svm", 1, 0.4, ())]
    >>> [each.stage for each in in_order(found, [Contribution("svm", 2.5), Contribution("tfidf", 1.0)])]
    ['svm', 'tfidf']
    """
    added = dict(contributions)
    return tuple(sorted(evidence, key=lambda each: -added.get(each.stage, 0.0)))


def meanings(shown: Iterable[Reason], stages: Mapping[str, str]) -> dict[str, str]:
    """Name -> meaning of the reasons that are shown. stages: of the tagger, see `Tagger.meanings`."""
    names = dict.fromkeys(reason.name for reason in shown)
    known = {**GROUPS, **stages}
    return {name: known[name] for name in names if known.get(name)}


def legend(shown: Sequence[Reason], stages: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of a line that explains the reasons that are shown: numbers, then names."""
    if any(reason.added is not None for reason in shown):
        yield "+ and -: points that a reason adds to the score"
    if any(reason.rank for reason in shown):
        yield "#1: ranked first by that stage"
    yield from (f"{name}: {meaning}" for name, meaning in meanings(shown, stages).items())


def _without_variants(contributions: Sequence[Contribution]) -> list[Contribution]:
    """Add what a variant of a stage adds to what the stage adds.

    >>> _without_variants([Contribution("tfidf", 2.0), Contribution("tfidf_in_text", 0.5)])
    [Contribution(feature='tfidf', added=2.5)]
    """
    sums = dict.fromkeys((contribution.feature for contribution in contributions), 0.0)
    for name, added in contributions:
        stage = next((name.removesuffix(ending) for ending in VARIANTS if name.endswith(ending)), name)
        sums[stage if stage in sums else name] += added
    variants = {f"{name}{ending}" for name in sums for ending in VARIANTS}
    return [Contribution(name, added) for name, added in sums.items() if name not in variants]


def _reason(contribution: Contribution, evidence: Evidence | None) -> Reason:
    name, added = contribution
    if evidence is None:
        return Reason(name, added)
    rank = _format_rank(evidence.rank)
    misled = rank and added < 0 and name != LLM_RANKING  # a language model says itself that a label does not fit
    return Reason(name, added, rank, evidence.spans, LEARNED if misled else "")


def _format_rank(rank: int) -> int | None:
    return rank if rank <= FIRST else None

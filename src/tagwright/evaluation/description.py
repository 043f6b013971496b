"""Describe documents and labels: contents, likely problems, and methods that the data allow."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from tagwright.core.display import many
from tagwright.data.corpus import text_key
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.advice import Advice, Held, advise, best_at
from tagwright.text.words import ANALYSIS, fold
from tagwright.types import Document

HUB = 0.01
"A metadata value in more than this share of the documents says little about any of them."

FREQUENT = 10
"Documents from which on a label is not rare."

FEW = 5
"The most metadata fields, and warnings of one kind, that are shown by default."

LINKS = frozenset({"reference", "citation"})
"Metadata fields whose values are documents."


@dataclass(frozen=True, slots=True)
class Description:
    """facts: name -> number or text. warnings, methods: one sentence each. advice: the method to begin with.

    fields: the metadata fields, those that join documents first, each with whether it does. best_at: methods that are
    the best at one thing, on data like these.
    """

    facts: Mapping[str, int | float | str]
    warnings: tuple[str, ...]
    methods: tuple[str, ...]
    fields: Mapping[str, bool]
    advice: Advice
    best_at: tuple[Advice, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        best_at = [advice._asdict() for advice in self.best_at]
        return {**asdict(self), "advice": self.advice._asdict(), "best_at": best_at}


def describe(
    documents: Iterable[Document], labels: Vocabulary | None, test: Iterable[Document] | None, *, brief: bool = False
) -> Description:
    """Describe the documents in one pass. test: documents that should not be among them.

    brief: more than a few metadata fields are summed up, and of the warnings about hubs only the first is kept.
    """
    survey = Survey()
    for document in documents:
        survey.add(document)
    joining, alone = (sorted(name for name in survey.values if survey.joins(name) is joins) for joins in (True, False))
    fields = {**dict.fromkeys(joining, True), **dict.fromkeys(alone, False)}
    brief = brief and len(fields) > FEW
    facts = survey.facts() if brief else {**survey.facts(), **survey.field_facts()}
    warnings = [*survey.warnings(), *islice(survey.hubs(), 1 if brief else None)]
    if labels:
        facts |= _label_facts(labels, survey)
        warnings += _label_warnings(labels, survey)
    if brief:
        facts["metadata fields"] = f"{len(fields)}, none of them read as text"
        facts["fields that join documents"] = _first_of(joining)
        facts["fields that nothing uses"] = _first_of(alone)
    if test is not None:
        warnings += survey.overlap(test)
    methods = _methods(survey, labels, _first_of(joining) if brief else ", ".join(joining))
    best = tuple(best_at(survey.held())) if labels else ()
    return Description(facts, tuple(warnings), tuple(methods), fields, advise(survey.with_["labels"]), best)


_PARTS = ("title", "abstract", "sections", "labels")


class Survey:
    """The counts of one pass over the documents."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.ids = set[str]()
        self.gold: Counter[str] = Counter()
        self.with_: Counter[str] = Counter()
        self.values: dict[str, Counter[str]] = {}
        self.texts: dict[bytes, str] = {}
        self.titled_texts = 0
        self.empty: list[str] = []
        self.duplicates: list[tuple[str, str]] = []

    def add(self, document: Document) -> None:
        """Count one document."""
        self.words.append(len(document.text.split()))
        self.ids.add(document.id)
        self.gold.update(set(document.labels))
        self.with_.update(part for part in _PARTS if getattr(document, part))
        self.titled_texts += bool(document.title and (document.abstract or document.sections))
        for name, values in document.metadata.items():
            self.values.setdefault(name, Counter()).update(set(values))
            self.with_[f"metadata {name}"] += bool(values)
        if not self.words[-1]:
            self.empty.append(document.id)
        elif (first := self.texts.setdefault(text_key(document), document.id)) != document.id:
            self.duplicates.append((first, document.id))

    def facts(self) -> dict[str, int | float | str]:
        """Numbers about the documents."""
        words = np.array(self.words)
        facts: dict[str, int | float | str] = {
            "documents": len(words),
            **{f"documents with {part}": self.with_[part] for part in _PARTS if self.with_[part]},
            "words per document (median)": int(np.median(words)),
            "words per document (largest)": int(words.max()),
        }
        if labelled := self.with_["labels"]:
            facts["labels per labelled document (mean)"] = sum(self.gold.values()) / labelled
        return facts

    def field_facts(self) -> dict[str, int]:
        """Numbers about each metadata field."""
        facts = dict[str, int]()
        for name, values in sorted(self.values.items()):
            facts[f"documents with metadata {name}"] = self.with_[f"metadata {name}"]
            facts[f"different values of {name}"] = len(values)
        return facts

    def held(self) -> Held:
        """What there is of all that a method may need."""
        return {
            "labelled": self.with_["labels"],
            "titled": self.titled_texts,
            "sections": self.with_["sections"],
            "linked": max((self.with_[f"metadata {name}"] for name in self.values if self.joins(name)), default=0),
            "per label": sum(self.gold.values()) // max(1, len(self.gold)),
            "rare": sum(count < FREQUENT for count in self.gold.values()),
        }

    def joins(self, name: str) -> bool:
        """Whether the values of a metadata field are documents, or one is shared by two."""
        return name in LINKS or max(self.values[name].values(), default=0) > 1

    def warnings(self) -> Iterator[str]:
        """Likely problems of the documents."""
        if self.empty:
            yield f"{many(len(self.empty), 'document')} without any text, such as {self.empty[0]}"
        if self.duplicates:
            first, second = self.duplicates[0]
            yield f"{many(len(self.duplicates), 'document')} with the text of another, such as {second} and {first}"

    def hubs(self) -> Iterator[str]:
        """A warning for each metadata field with values that say little, since too many documents have them."""
        for name, values in sorted(self.values.items()):
            large = sum(count > max(1, HUB * len(self.words)) for count in values.values())
            if large:
                ((value, count),) = values.most_common(1)
                most = f'"{value}" most: {count:,} ({count / len(self.words):.0%})'
                yield f"{many(large, 'value')} of {name} each link more than {HUB:.0%} of all documents, {most}"

    def overlap(self, test: Iterable[Document]) -> Iterator[str]:
        """Test documents whose text is among these documents too."""
        shared = [(document.id, self.texts[key]) for document in test if (key := text_key(document)) in self.texts]
        if shared:
            yield f"{many(len(shared), 'test document')} among DOCS too, such as {shared[0][0]} ({shared[0][1]})"


def _label_facts(labels: Vocabulary, survey: Survey) -> dict[str, int | float | str]:
    used = {labels.resolve(label) for label in survey.gold} - {None}
    facts: dict[str, int | float | str] = {
        "labels": len(labels),
        "names per label (mean)": sum(len(label.names) for label in labels) / len(labels),
        "labels without description": sum(not label.description for label in labels),
        "labels with broader": sum(bool(label.broader) for label in labels),
    }
    return {**facts, "labels that occur in the documents": len(used)} if survey.gold else facts


def _label_warnings(labels: Vocabulary, survey: Survey) -> Iterator[str]:
    owners: dict[str, set[str]] = {}
    for label in labels:
        for name in label.names:
            owners.setdefault(" ".join(fold(word, ANALYSIS) for word in name.split()), set()).add(label.id)
    shared = [(name, sorted(ids)) for name, ids in owners.items() if len(ids) > 1]
    if shared:
        name, ids = shared[0]
        yield f'{many(len(shared), "name")} shared by several labels, such as "{name}" by {ids[0]} and {ids[1]}'
    if cycle := labels.cycle():
        yield f"broader has a cycle: {' > '.join(cycle)}"
    if own := sum(label.id in survey.ids for label in labels):
        yield f"{many(own, 'document')} with the id of a label; where no label is its own, score with --exclude-self"
    unknown = [label for label in survey.gold if labels.resolve(label) is None]
    if unknown:
        yield f"{many(len(unknown), 'gold label')} not in the vocabulary, such as {min(unknown)}"


def _methods(survey: Survey, labels: Vocabulary | None, joining: str) -> Iterator[str]:
    documents = len(survey.words)
    yield "zero_shot: yes, nothing is trained" if labels else "zero_shot: needs a vocabulary (--labels)"
    yield f"text pairs (RTS, MACLR): {_yes(survey.titled_texts, documents, 'a title and a text')}"
    linked = any(map(survey.joins, survey.values))
    yield f"metadata (MICoL): {f'yes, by {joining}' if linked else 'no, no metadata value is shared by two documents'}"
    yield f"full text (FuTex): {_yes(survey.with_['sections'], documents, 'sections')}"
    yield f"supervised (DEPL): {_yes(survey.with_['labels'], documents, 'labels')}"


def _yes(having: int, documents: int, what: str) -> str:
    if not having:
        return f"no, no document has {what}"
    return f"yes, {having:,} of {documents:,} documents have {what}"


def _first_of(names: Sequence[str]) -> str:
    shown = ", ".join(names[:FEW])
    return f"{shown} and {len(names) - FEW} more (--all)" if len(names) > FEW else shown or "none"

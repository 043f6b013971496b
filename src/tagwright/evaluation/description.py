"""Describe documents and labels: contents, likely problems, and methods that the data allow."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tagwright.core.display import plural
from tagwright.data.corpus import folded_key
from tagwright.data.subjects import with_sources
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.advice import advise
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions, find_unfound
from tagwright.text.language import AUTO
from tagwright.text.words import fold
from tagwright.types import Document

HUB = 0.01
"A metadata value of more than this share of the documents says little about any of them."

FREQUENT = 10
"A label of fewer documents is rare."

SHOWN_FIELDS = 5
"Metadata fields that are named."


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of data, their likely problems, and the methods that can learn from them.

    facts: name -> number or text. warnings: a sentence for each likely problem. methods: for each method whether it can
    learn from these data. fields: metadata field -> whether its values join documents, those that do first. advice: the
    method to begin with, see `advise`.
    """

    facts: Mapping[str, int | float | str]
    warnings: tuple[str, ...]
    methods: tuple[str, ...]
    fields: Mapping[str, bool]
    advice: Mapping[str, str]


def describe(documents: Iterable[Document], labels: Vocabulary | None) -> Description:
    """Describe documents in one pass. labels: the vocabulary; without one no method can be recommended."""
    survey = Survey()
    for document in documents:
        survey.add(document)
    unlabelled = {} if survey.gold or not labels else survey.values
    like = [name for name, values in unlabelled.items() if labels and labels.has_all(values)]
    for name in like:
        del survey.values[name]  # no network is to join documents by the labels that they lack
    joining, alone = (sorted(name for name in survey.values if survey.joins(name) is joins) for joins in (True, False))
    fields = {**dict.fromkeys(joining, True), **dict.fromkeys(alone, False)}
    facts, warnings = survey.facts(), [*survey.warnings(), *islice(survey.hub_warnings(), 3)]
    if fields:
        facts["metadata fields"] = f"{len(fields)}, none of them read as text"
        facts["fields that join documents"] = _shorten_list(joining)
        facts["fields that nothing uses"] = _shorten_list(alone)
    if labels:
        facts |= _label_facts(labels, survey)
        warnings += _label_warnings(labels, survey)
        warnings += [f"{name} looks like labels, whose ids or names it holds: --columns labels={name}" for name in like]
    methods = _methods(survey, labels, _shorten_list(joining))
    return Description(facts, tuple(warnings), tuple(methods), fields, advise(survey.having["labels"]))


_PARTS = ("title", "abstract", "sections", "labels")


class Survey:
    """The counts of one pass over the documents."""

    def __init__(self) -> None:
        self.words: list[int] = []  # of each document
        self.ids = set[str]()
        self.gold: Counter[str] = Counter()  # gold label -> documents
        self.subjects = set[tuple[str, str, str]]()  # gold label, and the codes of its vocabulary
        self.having: Counter[str] = Counter()  # part -> documents that have it
        self.values: dict[str, Counter[str]] = {}  # metadata field -> value -> documents
        self.texts: dict[bytes, str] = {}  # key of a text -> the first document with it
        self.titled_texts = 0  # documents with a title and a text
        self.empty: list[str] = []
        self.duplicates: list[tuple[str, str]] = []  # the first document with a text, another with the same text

    def add(self, document: Document) -> None:
        """Count one document."""
        self.words.append(len(document.text.split()))
        self.ids.add(document.id)
        self.gold.update(set(document.labels))
        self.subjects.update(with_sources(document))
        self.having.update(part for part in _PARTS if getattr(document, part))
        self.titled_texts += bool(document.title and (document.abstract or document.sections))
        for name, values in document.metadata.items():
            self.values.setdefault(name, Counter()).update(set(values))
        if not self.words[-1]:
            self.empty.append(document.id)
        elif (first := self.texts.setdefault(folded_key(document), document.id)) != document.id:
            self.duplicates.append((first, document.id))

    def facts(self) -> dict[str, int | float | str]:
        """Return the numbers of documents, of their parts, words and labels."""
        words = np.array(self.words)
        facts: dict[str, int | float | str] = {
            "documents": len(words),
            **{f"documents with {part}": self.having[part] for part in _PARTS if self.having[part]},
            "words per document (median)": int(np.median(words)),
            "words per document (largest)": int(words.max()),
        }
        if labelled := self.having["labels"]:
            facts["labels per labelled document (mean)"] = sum(self.gold.values()) / labelled
        return facts

    def joins(self, name: str) -> bool:
        """Return whether the values of a metadata field are documents, or two documents share one."""
        return name in ("reference", "citation") or max(self.values[name].values(), default=0) > 1

    def warnings(self) -> Iterator[str]:
        """Yield a warning for documents without text, and one for duplicates."""
        if self.empty:
            yield f"{plural(len(self.empty), 'document')} without any text, such as {self.empty[0]}"
        if self.duplicates:
            first, second = self.duplicates[0]
            yield f"{plural(len(self.duplicates), 'document')} with the text of another, such as {second} and {first}"

    def hub_warnings(self) -> Iterator[str]:
        """Yield a warning for each metadata field with hubs: values of so many documents that they say little."""
        for name, values in sorted(self.values.items()):
            large = sum(count > max(1, HUB * len(self.words)) for count in values.values())
            if large:
                ((value, count),) = values.most_common(1)
                most = f'"{value}" most: {count:,} ({count / len(self.words):.0%})'
                link = "links" if large == 1 else "each link"
                yield f"{plural(large, 'value')} of {name} {link} more than {HUB:.0%} of all documents, {most}"


def _label_facts(labels: Vocabulary, survey: Survey) -> dict[str, int | float | str]:
    used = {labels.subject(*subject)[0] for subject in survey.subjects} - {None}
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
            owners.setdefault(" ".join(fold(word) for word in name.split()), set()).add(label.id)
    shared = [(name, sorted(ids)) for name, ids in owners.items() if len(ids) > 1]
    if shared:
        name, ids = shared[0]
        yield f'{plural(len(shared), "name")} shared by several labels, such as "{name}" by {ids[0]} and {ids[1]}'
    if missed := find_unfound(labels, [ExactMatch(labels, ExactMatchOptions(stem=AUTO))]):
        (label, reason), more = missed[0], "`tagwright labels --verify` names all"
        yield f"{plural(len(missed), 'label')} never found by name, such as {label.name}: {reason}; {more}"
    if cycle := labels.cycle():
        yield f"broader has a cycle: {' > '.join(cycle)}"
    if same := sum(label.id in survey.ids for label in labels):
        yield f"{plural(same, 'document')} with the id of a label; where no label is its own, score with --exclude-self"
    subjects = ((subject[0], *labels.subject(*subject)) for subject in survey.subjects)
    lacking = [(label, other) for label, position, other in subjects if position is None]
    if unknown := [label for label, other in lacking if not other]:
        yield f"{plural(len(unknown), 'gold label')} not in the vocabulary, such as {min(unknown)}"
    if others := [label for label, other in lacking if other]:
        codes = ", ".join(sorted({other for _, other in lacking if other}))
        yield f"{plural(len(others), 'subject')} of another vocabulary ({codes}), such as {min(others)}"


def _methods(survey: Survey, labels: Vocabulary | None, joining: str) -> Iterator[str]:
    """Yield whether the data allow each kind of method. joining: names of the fields that join documents."""
    documents = len(survey.words)
    yield "zero_shot: yes, nothing is trained" if labels else "zero_shot: needs a vocabulary (--labels)"
    yield f"text pairs (RTS, MACLR): {_availability(survey.titled_texts, documents, 'a title and a text')}"
    linked = any(map(survey.joins, survey.values))
    yield f"metadata (MICoL): {f'yes, by {joining}' if linked else 'no, no metadata value is shared by two documents'}"
    yield f"full text (FuTex): {_availability(survey.having['sections'], documents, 'sections')}"
    yield f"supervised (DEPL): {_availability(survey.having['labels'], documents, 'labels')}"


def _availability(having: int, documents: int, part: str) -> str:
    if not having:
        return f"no, no document has {part}"
    return f"yes, {having:,} of {documents:,} documents have {part}"


def _shorten_list(names: Sequence[str]) -> str:
    shown, more = ", ".join(names[:SHOWN_FIELDS]), len(names) - SHOWN_FIELDS
    return f"{shown} and {more} more (--json)" if more > 0 else shown or "none"

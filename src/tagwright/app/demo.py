"""The main job on input that every machine has: the installed Python packages, tagged with the Trove classifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import metadata

from tagwright.app import render
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import TagwrightError
from tagwright.evaluation.report import Rows
from tagwright.evaluation.scores import evaluate
from tagwright.methods import zeroshot
from tagwright.readers.plain_text import parse_markdown
from tagwright.tagger import Tagger
from tagwright.tasks import DEPTH
from tagwright.terminal import escaped
from tagwright.text.words import clean
from tagwright.types import Document, Label, Run

FACETS = ("Topic", "Framework", "Intended Audience")
"The Trove facets that say what a package is about; licence, status and platform cannot be read off its description."

_MARKUP = re.compile(
    r"<[^>]+>|!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])|(?<=\])\([^)]*\)|https?://\S+"  # HTML, badges, addresses
    r"|^\.\. .*$|^\s*:[\w-]+:.*$|\|[^|\n]+\||`__?",  # reStructuredText: directives, their options, substitutions, links
    re.MULTILINE,
)

MEASURES = ("P@1", "P@3", "nDCG@5", "R@10", "R@100")


def run() -> None:
    """Tag the packages, show three of them with the evidence, score every stage and the fusion."""
    vocabulary = classifiers()
    documents = packages(vocabulary)
    print(f"Documents: the {len(documents)} Python packages installed here that say what they are about.")
    print(f"Labels: {len(vocabulary)} Trove classifiers of topic, framework and audience. Nothing is trained.\n")
    tagger = zeroshot.fit(vocabulary)
    for document in _examples(documents):
        found = tagger.explain(document, k=5)
        print(escaped("\n".join(render.as_text(document, found, vocabulary))))
        print(escaped(f"  declared by its authors: {', '.join(document.labels)}\n"))
    render.show_table(_score_rows(tagger, documents), "Against the classifiers that the authors declared")


def classifiers() -> Vocabulary:
    """One label per Trove classifier of FACETS. The path is the hierarchy: its last part is the name."""
    try:
        from trove_classifiers import sorted_classifiers
    except ImportError:
        raise TagwrightError('the demo needs the Trove classifiers: pip install "tagwright[demo]"') from None
    paths = [path.split(" :: ") for path in sorted_classifiers if path.startswith(FACETS)]
    return Vocabulary(_label(path) for path in paths if len(path) > 1)


def packages(vocabulary: Vocabulary) -> list[Document]:
    """The installed packages that describe themselves, by name; gold labels are the classifiers that they declare."""
    found = {document.id: document for document in _documents()}
    return [
        replace(document, labels=tuple(label for label in document.labels if label in vocabulary.index))
        for _, document in sorted(found.items())
        if document.abstract or document.sections
    ]


def _label(path: Sequence[str]) -> Label:
    broader = (" :: ".join(path[:-1]),) if len(path) > 2 else ()
    return Label(" :: ".join(path), names=(path[-1],), description=", ".join(path[1:-1]), broader=broader)


def _documents() -> Iterator[Document]:
    for distribution in metadata.distributions():
        fields = distribution.metadata
        name, text = fields["Name"], _first(fields, "Description") or fields.get_payload()  # type: ignore[attr-defined]
        if not name:  # half removed
            continue
        read = parse_markdown(_MARKUP.sub("", clean(str(text or ""))))
        yield Document(
            id=name.lower(),
            title=clean(": ".join(filter(None, (name, _first(fields, "Summary"))))),
            abstract=read.abstract,
            sections=read.sections,
            metadata=_metadata(fields.get_all("Author") or (), fields.get_all("Requires-Dist") or ()),
            labels=tuple(fields.get_all("Classifier") or ()),
        )


def _first(fields: metadata.PackageMetadata, name: str) -> str:
    return next(iter(fields.get_all(name) or ()), "")


def _metadata(authors: Iterable[str], requirements: Iterable[str]) -> dict[str, tuple[str, ...]]:
    names = (re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements)
    fields = {"author": tuple(authors), "reference": tuple(dict.fromkeys(names))}
    return {field: values for field, values in fields.items() if values}


def _examples(documents: Sequence[Document], count: int = 3) -> list[Document]:
    """Packages whose authors declare most: there is most to compare with."""
    return sorted(documents, key=lambda document: (-len(document.labels), document.id))[:count]


def _score_rows(tagger: Tagger, documents: Sequence[Document]) -> Rows:
    labelled = [document for document in documents if document.labels]
    gold = tagger.vocabulary.gold(labelled)
    runs: dict[str, Run] = {**tagger.candidates(tagger.read(labelled)), "fused": tagger.tag(labelled, DEPTH)}
    rows = [[f"{len(labelled)} packages, %", *MEASURES]]
    for name, found in runs.items():
        measures = evaluate(found, gold, measures=MEASURES).measures
        rows.append([name, *(f"{100 * measures[measure].value:.1f}" for measure in MEASURES)])
    return rows

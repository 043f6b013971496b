"""The main job on input that every machine has: SciPy's functions, tagged with the headings of SciPy's manual."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from tagwright.app import scipy_manual
from tagwright.app.render import WIDTH, shortened
from tagwright.app.scipy_manual import Manual
from tagwright.core.display import escaped
from tagwright.evaluation.dataset import DEPTH
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.tables import percent
from tagwright.tagger import Evidence, Suggestion, Tagger, zero_shot
from tagwright.types import Document

EXAMPLES = ("cluster.vq.kmeans", "integrate.solve_ivp", "linalg.svd", "signal.find_peaks", "stats.ttest_ind")
"Well-known functions of five pages, chosen before anything was suggested for them."

SHOWN = 2
"Suggestions shown for each."

WORDS = 4
"Words shown for each label."

SCORED = 3
"""Functions of each heading that are scored. There are 150 distributions that describe themselves in much the same
words; with all of them the figures would be about these."""

RIGHT = " <- as in the manual"


class Line(NamedTuple):
    """A line of the demo, and how a terminal shows it."""

    text: str
    style: str = ""
    end: str = ""
    "What stays where the text is too long for the terminal."


def run() -> None:
    """Tag five functions, with the evidence, and score the suggestions for many."""
    manual = scipy_manual.read()
    _print(_introduction(manual))
    tagger = zero_shot.fit(manual.vocabulary, zero_shot.Config(language="english"))
    documents = {document.id: document for document in manual.documents}
    for document in (documents[id_] for id_ in EXAMPLES if id_ in documents):
        _print(_example(document, tagger.explain(document, k=SHOWN)))
    _print(chain(_figures(tagger, sample(manual)), _what_next()))


def sample(manual: Manual, seed: int = 0) -> list[Document]:
    """At most SCORED functions of each heading, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(manual.documents)).tolist()
    counts = dict.fromkeys(manual.vocabulary.ids, 0)
    drawn = []
    for position in order:
        document = manual.documents[position]
        if all(counts[label] < SCORED for label in document.labels):
            drawn.append(document)
            counts.update({label: counts[label] + 1 for label in document.labels})
    return drawn


def because(evidence: Iterable[Evidence], document: Document) -> str:
    """What in the document supports a label, in one line: words that it shares, and the sentence nearest in meaning."""
    words: dict[str, str] = {}
    sentence = ""
    for each in evidence:
        found = [" ".join(document.text[span.start : span.end].split()) for span in each.spans]
        if each.stage == "dense":
            sentence = next(iter(found), "")
        else:
            for word in found:
                words.setdefault(word.casefold(), word)
    parts = [f"words: {', '.join(islice(words.values(), WORDS))}"] if words else []
    return "; ".join([*parts, f'meaning: "{sentence}"'] if sentence else parts)


def _introduction(manual: Manual) -> Iterator[Line]:
    functions, headings = f"{len(manual.documents):,} functions", f"{len(manual.vocabulary)} headings"
    yield Line(f"The manual of SciPy {manual.version} lists {functions} under {headings}.")
    yield Line("Which heading is right, given only a docstring? Nothing is trained.")
    yield Line("")


def _example(document: Document, suggestions: Sequence[Suggestion]) -> Iterator[Line]:
    yield Line(f"{document.id}: {document.title}", "bold")
    for each in suggestions:
        right = each.id in document.labels
        style, end = ("green", RIGHT) if right else ("", "")
        yield Line(f"{each.score:6.1f} {each.id}", style, end)
        yield Line(f"        {because(each.evidence, document)}", "dim")
    if not any(each.id in document.labels for each in suggestions):
        yield Line(f"        (in the manual: {'; '.join(document.labels)})", "yellow")
    yield Line("")


def _figures(tagger: Tagger, documents: Sequence[Document]) -> Iterator[Line]:
    scores = evaluate(tagger.tag(documents, DEPTH), tagger.vocabulary.gold(documents), measures=("P@1", "R@5"))
    first, five = (percent(scores.measures[name].value) for name in ("P@1", "R@5"))
    chance = 1 / len(tagger.vocabulary)
    drawn = f"Of {len(documents)} functions, at most {SCORED} of each heading,"
    yield Line(f"{drawn} {first}% get the manual's heading")
    yield Line(f"first and {five}% among five. By chance: {percent(chance)}% and {percent(5 * chance)}%.")
    yield Line("")


def _what_next() -> Iterator[Line]:
    yield Line("Your own documents: tagwright suggest FOLDER --labels subjects.txt --explain", "bold")
    yield Line("(subjects.txt: a label on each line; tagwright --help lists the commands)")


def _print(lines: Iterable[Line]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)  # colours only on a terminal that has them
    width = min(WIDTH, console.width) if console.is_terminal else WIDTH
    for line in lines:
        console.print(Text(_fitting(line.text, width - len(line.end)) + line.end, style=line.style))


def _fitting(text: str, width: int) -> str:
    indent = len(text) - len(text.lstrip())
    return " " * indent + escaped(shortened(text, width - indent))

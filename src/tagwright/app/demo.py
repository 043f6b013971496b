"""The main job on input that every machine has: SciPy's functions, tagged with the headings of SciPy's manual.

SciPy is among Tagwright's dependencies. The docstring of each of its modules is a page of the manual: it lists the
module's functions under headings, and so says which heading a function belongs to. A document is a function's own
description; the lists are read for the gold labels only.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import ModuleType

import numpy as np

from tagwright.app.render import WIDTH, shorten
from tagwright.core.display import escape_controls
from tagwright.data.vocabulary import ARROW, Vocabulary
from tagwright.errors import TagwrightError
from tagwright.evaluation.dataset import DEPTH
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.tables import percent
from tagwright.tagger import Evidence, zero_shot
from tagwright.types import Document, Label

EXAMPLES = ("cluster.vq.kmeans", "integrate.solve_ivp", "linalg.svd", "signal.find_peaks", "stats.ttest_ind")
"Well-known functions of five pages, chosen before anything was suggested for them."

SCORED = 3
"""Functions of each heading that are scored. There are 150 distributions that describe themselves in much the same
words; with all of them the figures would be about these."""

MODULES = (
    *("cluster.hierarchy", "cluster.vq", "constants", "datasets", "differentiate", "fft", "integrate", "interpolate"),
    *("io", "linalg", "ndimage", "optimize", "signal", "signal.windows", "sparse", "sparse.csgraph", "sparse.linalg"),
    *("spatial", "spatial.distance", "spatial.transform", "special", "stats", "stats.contingency", "stats.qmc"),
    "stats.sampling",
)
"The pages of the manual, without legacy or deprecated ones."

LEVELS = 2
"A label is a page and a heading on it; functions under a finer heading have the finer label."

_MISCELLANEOUS = re.compile(
    "Additional tools|Basics|Convenience functions|Error handling|Exceptions|Helper functions|Low-level routines|"
    "Other .*|Utilities|Utility Methods|Warnings.*|.*[Ll]egacy.*"
)
"Headings that name no subject, so that a docstring cannot tell what is listed there."

_UNDERLINE = re.compile(r"([=\-~^*+#\"'`])\1{2,}\s*")
_PART = re.compile(r"\n[A-Z][\w ]+\n-{3,}\n")
_MARKUP = re.compile(r"^\s*\.\. .*$|:[\w-]+:(?=`)|\\\w+|[`*{}\\]|\[\d+\]_", re.MULTILINE)


def run() -> None:
    """Tag five functions, with the evidence, and score the suggestions for many."""
    manual, labels, version = read_manual()
    functions, headings = f"{len(manual):,} functions", f"{len(labels)} headings"
    _print(f"The manual of SciPy {version} lists {functions} under {headings}.")
    _print("Which heading is right, given only a docstring? Nothing is trained.")
    tagger = zero_shot.fit(labels, zero_shot.Config(language="english"))
    documents = {document.id: document for document in manual}
    for document in (documents[id_] for id_ in EXAMPLES if id_ in documents):
        _print("")
        _print(f"{document.id}: {document.title}")
        suggested = tagger.explain(document, k=2)
        for each in suggested:
            _print(f"{each.score:6.1f} {each.id}", " <- as in the manual" if each.id in document.labels else "")
            _print(f"        {explain_label(each.evidence, document)}")
        if not any(suggestion.id in document.labels for suggestion in suggested):
            _print(f"        (in the manual: {'; '.join(document.labels)})")
    scored = sample(manual, labels.ids)
    scores = evaluate(tagger.tag(scored, DEPTH), labels.gold(scored), measures=("P@1", "R@5"))
    first, five = (percent(scores.measures[name].value) for name in ("P@1", "R@5"))
    chance = 1 / len(labels)
    _print("")
    _print(f"Of {len(scored)} functions, at most {SCORED} of each heading, {first}% get the manual's heading")
    _print(f"first and {five}% among five. By chance: {percent(chance)}% and {percent(5 * chance)}%.")
    _print("")
    _print("Your own documents: tagwright suggest FOLDER --labels subjects.txt --explain")
    _print("(subjects.txt: a label on each line; tagwright --help lists the commands)")


def sample(manual: Sequence[Document], headings: Iterable[str], seed: int = 0) -> list[Document]:
    """At most SCORED functions of each heading, drawn at random."""
    counts, drawn = dict.fromkeys(headings, 0), list[Document]()
    for position in np.random.default_rng(seed).permutation(len(manual)).tolist():
        document = manual[position]
        if all(counts[label] < SCORED for label in document.labels):
            drawn.append(document)
            counts.update({label: counts[label] + 1 for label in document.labels})
    return drawn


def explain_label(evidence: Iterable[Evidence], document: Document) -> str:
    """Explain a label in one line: the words that the document shares with it, and the sentence nearest in meaning."""
    words: dict[str, str] = {}
    sentence = ""
    for piece in evidence:
        quotes = [" ".join(document.text[span.start : span.end].split()) for span in piece.spans]
        if piece.stage == "dense":
            sentence = next(iter(quotes), "")
        else:
            for word in quotes:
                words.setdefault(word.casefold(), word)
    parts = [f"words: {', '.join(islice(words.values(), 4))}"] if words else []
    return "; ".join([*parts, f'meaning: "{sentence}"'] if sentence else parts)


def _print(text: str, end: str = "") -> None:
    """Print a line that does not wrap. end: what stays where the text is too long for the terminal."""
    width = min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    indent = len(text) - len(text.lstrip())
    print(" " * indent + escape_controls(shorten(text, width - indent - len(end))) + end)


def read_manual() -> tuple[list[Document], Vocabulary, str]:
    """The manual of the installed SciPy: documents with their gold labels, the labels, and the version.

    Raises TagwrightError where Python runs without docstrings (-OO).
    """
    scipy = import_module("scipy")
    pages = [import_module(f"scipy.{name}") for name in MODULES if find_spec(f"scipy.{name}")]  # an older one has fewer
    documents = [document for page in pages for document in functions(page)]
    if not documents:
        raise TagwrightError("the demo reads docstrings, which Python leaves out with -OO and PYTHONOPTIMIZE=2")
    ids = sorted({label for document in documents for label in document.labels})
    return documents, Vocabulary(map(_label, ids)), scipy.__version__


def functions(page: ModuleType) -> Iterator[Document]:
    """The functions and classes that a page lists under a heading that names a subject."""
    found: dict[str, set[str]] = {}
    for heading, name in list_functions(page.__doc__ or ""):
        if is_subject(heading):
            found.setdefault(name, set()).add(ARROW.join(heading))
    prefix = page.__name__.removeprefix("scipy.")
    for name, labels in found.items():
        title, text = describe_function(getattr(page, name, None), name)
        if title:
            yield Document(f"{prefix}.{name}", title, text, labels=tuple(sorted(labels)))


def list_functions(docstring: str) -> Iterator[tuple[tuple[str, ...], str]]:
    r"""Yield the names that a module's docstring lists (`autosummary`), each with the headings above it, top down.

    >>> page = "====\nFood\n====\nFruit\n-----\n.. autosummary::\n   apple -- Red.\n"
    >>> list(list_functions(page))
    [(('Food', 'Fruit'), 'apple')]
    """
    lines = [*inspect.cleandoc(docstring).splitlines(), ""]
    styles: list[tuple[str, bool]] = []  # in the order in which they occur: reStructuredText has no other levels
    path: list[str] = []
    listing = False
    for before, line, after in zip(["", *lines], lines, lines[1:], strict=False):
        if _UNDERLINE.fullmatch(after) and line.strip() and not _UNDERLINE.fullmatch(line):
            style = (after[0], _UNDERLINE.fullmatch(before) is not None)
            styles += [style] if style not in styles else []
            path = [*path[: styles.index(style)], re.sub(r"\s*\(:mod:.*\)|:\w+:|[`®]", "", line).strip()]
            listing = False
        elif line.startswith(".. autosummary"):
            listing = True
        elif line and not line.startswith(" "):
            listing = False
        elif listing and (entry := re.fullmatch(r"\s+([A-Za-z_][\w.]*)\s*(--?\s.*)?", line)):
            whole_page = ("Available functions", "Contents", "Function reference")  # the headings below these count
            yield tuple(part for part in path if part not in whole_page)[:LEVELS], entry[1]


def is_subject(heading: tuple[str, ...]) -> bool:
    """Whether the heading names a subject.

    >>> is_subject(("Linear algebra", "Decompositions")), is_subject(("Linear algebra", "Basics"))
    (True, False)
    """
    return bool(heading) and not any(_MISCELLANEOUS.fullmatch(part) for part in heading)


def describe_function(thing: object, name: str) -> tuple[str, str]:
    """First sentence or paragraph of a docstring, and what follows it up to the parameters; "" where there is none."""
    text = inspect.getdoc(thing) or ""
    if inspect.ismodule(thing) or not callable(thing):
        return "", ""
    text = _MARKUP.sub("", _PART.split(text)[0])
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    paragraphs = [part for part in paragraphs if not part.startswith(f"{name}(")]  # the signature of compiled functions
    return (paragraphs[0], "\n".join(paragraphs[1:])) if paragraphs else ("", "")


def _label(heading: str) -> Label:
    *page, name = heading.split(ARROW)
    return Label(heading, names=(name,), description=", ".join(page))

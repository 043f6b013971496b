"""The reference manual of the installed SciPy: its functions as documents, its headings as labels, with gold labels.

SciPy is among Tagwright's dependencies, so every machine that runs Tagwright has both. The docstring of each of its
modules is a page of the manual: it lists the module's functions under headings, and so says which heading a function
belongs to. A document is a function's own description; the lists are read for the gold labels only.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import TagwrightError
from tagwright.readers.labels.term_lists import ARROW
from tagwright.types import Document, Label

MODULES = (
    *("cluster.hierarchy", "cluster.vq", "constants", "datasets", "differentiate", "fft", "integrate", "interpolate"),
    *("io", "linalg", "ndimage", "optimize", "signal", "signal.windows", "sparse", "sparse.csgraph", "sparse.linalg"),
    *("spatial", "spatial.distance", "spatial.transform", "special", "stats", "stats.contingency", "stats.qmc"),
    "stats.sampling",
)
"The pages of the manual, without legacy or deprecated ones."

DEPTH = 2
"A label is a page and a heading on it; functions under a finer heading have the finer label."

_OUTLINE_ONLY = ("Available functions", "Contents", "Function reference")
"Headings that hold all that is on their page, so that the headings below them count."

_MISCELLANEOUS = re.compile(
    "Additional tools|Basics|Convenience functions|Error handling|Exceptions|Helper functions|Low-level routines|"
    "Other .*|Utilities|Utility Methods|Warnings.*|.*[Ll]egacy.*"
)
"Headings that name no subject, so that a docstring cannot tell what is listed there."

_UNDERLINE = re.compile(r"([=\-~^*+#\"'`])\1{2,}\s*")
_ENTRY = re.compile(r"\s+([A-Za-z_][\w.]*)\s*(--?\s.*)?")
_PART = re.compile(r"\n[A-Z][\w ]+\n-{3,}\n")
_MARKUP = re.compile(r"^\s*\.\. .*$|:[\w-]+:(?=`)|\\\w+|[`*{}\\]|\[\d+\]_", re.MULTILINE)

Heading = tuple[str, ...]
"""From the page down, such as ("Signal processing", "Peak finding")."""


class Manual(NamedTuple):
    """Documents with their gold labels, the labels, and the SciPy that they come from."""

    documents: list[Document]
    vocabulary: Vocabulary
    version: str


def read() -> Manual:
    """The manual of the installed SciPy. Raises TagwrightError where Python runs without docstrings (-OO)."""
    scipy = import_module("scipy")
    pages = [import_module(f"scipy.{name}") for name in MODULES if _exists(name)]
    documents = [document for page in pages for document in functions(page)]
    if not documents:
        raise TagwrightError("the demo reads docstrings, which Python leaves out with -OO and PYTHONOPTIMIZE=2")
    ids = sorted({label for document in documents for label in document.labels})
    return Manual(documents, Vocabulary(map(_label, ids)), scipy.__version__)


def functions(page: ModuleType) -> Iterator[Document]:
    """The functions and classes that a page lists under a heading that names a subject."""
    found: dict[str, set[str]] = {}
    for heading, name in listed(page.__doc__ or ""):
        if is_subject(heading):
            found.setdefault(name, set()).add(ARROW.join(heading))
    prefix = page.__name__.removeprefix("scipy.")
    for name, labels in found.items():
        title, text = described(getattr(page, name, None), name)
        if title:
            yield Document(f"{prefix}.{name}", title, text, labels=tuple(sorted(labels)))


def listed(docstring: str) -> Iterator[tuple[Heading, str]]:
    r"""What the docstring of a module lists (`autosummary`), each name with the headings above it.

    >>> page = "====\nFood\n====\nFruit\n-----\n.. autosummary::\n   apple -- Red.\n"
    >>> list(listed(page))
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
        elif listing and (entry := _ENTRY.fullmatch(line)):
            yield tuple(part for part in path if part not in _OUTLINE_ONLY)[:DEPTH], entry[1]


def is_subject(heading: Heading) -> bool:
    """Whether the heading names a subject.

    >>> is_subject(("Linear algebra", "Decompositions")), is_subject(("Linear algebra", "Basics"))
    (True, False)
    """
    return bool(heading) and not any(_MISCELLANEOUS.fullmatch(part) for part in heading)


def described(thing: object, name: str) -> tuple[str, str]:
    """First sentence or paragraph of a docstring, and what follows it up to the parameters; "" where there is none."""
    text = inspect.getdoc(thing) or ""
    if inspect.ismodule(thing) or not callable(thing):
        return "", ""
    text = _MARKUP.sub("", _PART.split(text)[0])
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    paragraphs = [part for part in paragraphs if not part.startswith(f"{name}(")]  # the signature of compiled functions
    return (paragraphs[0], "\n".join(paragraphs[1:])) if paragraphs else ("", "")


def _exists(name: str) -> bool:
    try:
        import_module(f"scipy.{name}")
    except ImportError:  # an older SciPy
        return False
    return True


def _label(heading: str) -> Label:
    *page, name = heading.split(ARROW)
    return Label(heading, names=(name,), description=", ".join(page))

r"""Read LaTeX files: title, abstract, sections. Needs pylatexenc (extra `latex`).

Nothing is executed: a macro defined in the file is expanded if it takes no arguments, and no other file is read.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.readers.documents.markup import LINE, MARKS, formula, to_text
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, keep_present, keywords, to_document, to_sections
from tagwright.readers.limits import convert_errors
from tagwright.readers.lines import open_text
from tagwright.types import Document

_HEADINGS = {
    "part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6, "subparagraph": 7,
}  # fmt: skip
_OUTSIDE = frozenset(
    "title author keywords abstract input include newcommand renewcommand providecommand".split()  # noqa: SIM905
)
"Macros whose arguments are not running text."
_UNREAD = (
    "maketitle", "tableofcontents", "thanks", "label", "ref", "eqref", "cref", "Cref", "autoref", "pageref",
    "includegraphics", "bibliography", "bibliographystyle", "printbibliography", "date", "vspace", "setlength",
    "pagestyle", "thispagestyle", "footnotemark", "index", "nocite", "/", "-", "st", "sout", "hypersetup",
)  # fmt: skip
_CITES = (
    "cite", "citep", "citet", "Citep", "Citet", "citealp", "citealt", "citeauthor", "citeyear", "citeyearpar",
    "citenum", "parencite", "Parencite", "textcite", "Textcite", "autocite", "Autocite", "supercite", "footcite",
)  # fmt: skip
_SPACES = ("hspace", "newline", "linebreak", "hfill", "space", "thinspace", "enspace", "nobreakspace")
"Macros between words."
_FORMULAS = ("ensuremath", "ce", "ch")
_NOTE = re.compile("\x0e([^\x0e\x0f]*)\x0f")
"A footnote in a text."
_ABBREVIATION = re.compile(r"\\(?:re)?newcommand\*?\s*\{?\\([A-Za-z]+)\}?\s*\{([^{}\\]*)\}")
_PLAIN = re.compile(r"(?:[^\\{}$%&~`'!?-]|`(?!`)|'(?!')|-(?!-)|[!?](?!`))+")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([\w* ._-]+)\}")
_log = logging.getLogger(__name__)


def read_latex(path: Path) -> Iterator[Located]:
    r"""One document, without id.

    Metadata: author, keyword. Files in `\input` are not read, only counted in the log. Raises InputError, also
    without pylatexenc.
    """
    require("reading LaTeX", "pylatexenc", path=path)
    text = open_text(path)
    with convert_errors("is no LaTeX file, or a damaged one", "pylatexenc", path):
        paper = _Paper()
        paper.take(parse(_written_out(text), known_macros()))
        document = paper.document()
    if paper.inputs:
        _log.warning("%s: other files that it includes (\\input, %d times) are not read", path, paper.inputs)
    yield 0, document


def _written_out(text: str) -> str:
    r"""The text with `\bees` written out where the file says `\newcommand{\bees}{honey bees}`.

    Longer macros than of 200 characters are not: they could make a text grow without bound.
    """
    short = {name: value for name, value in _ABBREVIATION.findall(text) if len(value) <= 200}
    if not short:
        return text
    text = _ABBREVIATION.sub("", text)
    used = re.compile(rf"\\({'|'.join(map(re.escape, sorted(short)))})(?![A-Za-z])(?:\{{\}}|[ \t]+)?")
    return used.sub(lambda match: short[match[1]] + (" " if match[0][-1] in " \t" else ""), text)


class _Paper:
    """Collects headings and paragraphs of a tree of nodes, in reading order."""

    def __init__(self) -> None:
        self.inputs = 0
        self._blocks: list[Block] = []
        self._run: list[Any] = []
        self._said: dict[str, list[str]] = {}
        self._to_text = converter()

    def take(self, nodes: Sequence[Any]) -> None:
        """Read the nodes of the file, or of its `document` environment: what precedes it is not text."""
        bodies = [node for node in nodes if getattr(node, "environmentname", "") == "document"]
        if bodies:
            for node in nodes:
                self._note(node)
            nodes = [node for body in bodies for node in body.nodelist]
        for node in nodes:
            macro, environment = getattr(node, "macroname", ""), getattr(node, "environmentname", "")
            if macro in _HEADINGS:
                self._flush()
                if heading := to_text(_NOTE.sub("", self._argument(node))):
                    self._blocks.append((_HEADINGS[macro], heading))
            elif macro in _OUTSIDE or environment in {"abstract", "keywords"}:
                self._note(node)
            elif environment not in {"thebibliography", "tikzpicture", "comment", "filecontents"}:
                self._run.append(node)
        self._flush()

    def document(self) -> Document:
        """Return the document."""
        title = to_text(_NOTE.sub("", "".join(self._said.get("title", ())[:1])))
        metadata = keep_present(
            author=[to_text(name) for said in self._said.get("author", ()) for name in re.split(r"\n|;", said)],
            keyword=keywords(self._said.get("keywords", ())),
        )
        abstract = [paragraph for text in self._said.get("abstract", ()) for paragraph in to_paragraphs(text)]
        if not abstract:
            return to_document(title, self._blocks, metadata)
        return Document("", title, "\n\n".join(abstract), tuple(to_sections(self._blocks)), metadata)

    def _note(self, node: Any) -> None:
        """Record metadata of the paper, wherever it occurs."""
        macro, environment = getattr(node, "macroname", ""), getattr(node, "environmentname", "")
        if macro in {"input", "include"}:
            self.inputs += 1
        elif (macro or environment) in {"title", "author", "keywords", "abstract"}:
            text = self._argument(node) if macro else self._text(node.nodelist)
            self._said.setdefault(macro or environment, []).append(text)

    def _flush(self) -> None:
        self._blocks += ((0, paragraph) for paragraph in to_paragraphs(self._text(self._run)))
        self._run.clear()

    def _argument(self, node: Any) -> str:
        """The last argument in braces; a bracketed one before it is a short form."""
        arguments = [argument for argument in (node.nodeargd.argnlist if node.nodeargd else ()) if argument is not None]
        return self._text(arguments[-1:])

    def _text(self, nodes: Sequence[Any]) -> str:
        return str(self._to_text.nodelist_to_text(list(nodes)))


def parse(text: str, macros: Any) -> list[Any]:
    """The nodes of a text. macros: `known_macros`."""
    from pylatexenc.latexwalker import LatexToken, LatexWalker

    class Walker(LatexWalker):  # type: ignore[misc]
        """The library takes the square of the time for characters and for environments one by one."""

        def get_token(self, pos: int, include_brace_chars: Any = None, environments: bool = True, **state: Any) -> Any:
            if environments and not include_brace_chars and state:
                if plain := _PLAIN.match(self.s, pos):
                    return LatexToken("char", plain[0], pos, len(plain[0]), "")
                if match := _ENVIRONMENT.match(self.s, pos):
                    return LatexToken(f"{match[1]}_environment", match[2], pos, len(match[0]), "")
            return super().get_token(pos, include_brace_chars, environments, **state)

    nodes: list[Any] = Walker(text, macros, tolerant_parsing=True).get_latex_nodes()[0]
    return nodes


def known_macros() -> Any:
    """The arguments of macros that pylatexenc does not know."""
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import std_macro

    known = get_default_latex_context_db()
    one = "thanks keywords abstract Cref cref autoref date index nocite sout st hypersetup textsuperscript"
    by_arguments = {
        "*[{": ("title", "author"), "{": (*one.split(), *_FORMULAS), "*[[{": _CITES, "[{{": ("href", "SI", "qty"),
        "*{": ("hspace",), "[": ("footnotemark",),
    }  # fmt: skip
    macros = [std_macro(name, arguments) for arguments, names in by_arguments.items() for name in names]
    known.add_context_category("tagwright", macros=macros, prepend=True)
    return known


def converter(**options: Any) -> Any:
    """A LatexNodes2Text for nodes of `known_macros`. A macro on which it fails is replaced by its arguments."""
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db
    from pylatexenc.latexwalker import LatexCharsNode

    class Converter(LatexNodes2Text):  # type: ignore[misc]
        def nodelist_to_text(self, nodes: Sequence[Any]) -> str:
            """In runs: the library's time grows with the square of their number. None begins with characters."""
            runs: list[list[Any]] = [[]]
            for node in nodes:
                if len(runs[-1]) >= 100 and not isinstance(node, LatexCharsNode):
                    runs.append([])
                runs[-1].append(node)
            return "".join(map(super().nodelist_to_text, runs))

        def math_node_to_text(self, node: Any) -> str:
            return formula(str(super().math_node_to_text(node)))

        def environment_node_to_text(self, node: Any) -> str:
            return f" {super().environment_node_to_text(node)} "

        def comment_node_to_text(self, node: Any) -> str:
            """Nothing, with the end of its line, which is no space, unless comments are text."""
            return str(super().comment_node_to_text(node)) if self.keep_comments else ""

        def macro_node_to_text(self, node: Any) -> str:
            try:
                text = str(super().macro_node_to_text(node))
                return formula(text) if node.macroname in _FORMULAS else text
            except (IndexError, AttributeError, KeyError, TypeError, ValueError):
                return self.nodelist_to_text((node.nodeargd and node.nodeargd.argnlist) or [])

    known = get_default_latex_context_db()
    shown: dict[str, Any] = {
        **dict.fromkeys(_UNREAD, ""), **dict.fromkeys(_CITES, "".join(MARKS["cited"])), **dict.fromkeys(_SPACES, " "),
        "and": "\n", "item": "\n%(1)s ", "ce": "%(1)s", "ch": "%(1)s", "par": "\n\n", "href": "%(3)s",
        "SI": "%(2)s %(3)s", "qty": "%(2)s %(3)s", "textsuperscript": "%(1)s".join(MARKS["raised"]),
        "footnote": "\x0e%(2)s\x0f", "verb": lambda node: node.nodeargs[0].latex_verbatim(),
    }  # fmt: skip
    macros = [MacroTextSpec(name, simplify_repl=text) for name, text in shown.items()]
    known.add_context_category("tagwright", macros=macros, prepend=True)
    return Converter(known, **{"math_mode": "text", "keep_comments": False} | options)


def to_paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, and its footnotes; where a reference was removed, no space stays before a full stop."""
    text = re.sub(r'(?<=\w)"-(?=\w)', "", text).replace("-\n", f"-{LINE}")  # "- is where a German word may break
    parts = [part for each in re.split(r"\n[ \t]*\n", text) for part in (_NOTE.sub("", each), *_NOTE.findall(each))]
    return list(filter(None, (re.sub(r" (?=[.,;)])", "", to_text(part)) for part in parts)))

r"""Read papers, office files and marked-up texts by pandoc, a program of its own (extra `documents`).

It reads every format into one tree, of which this module makes a document: title, abstract, sections. It runs without
access to other files or the network, and its memory and time are limited.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from html.entities import html5
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

from tagwright.errors import InputError
from tagwright.readers.documents.html import TAG, element_name, plain_text
from tagwright.readers.documents.markup import HTML, LINE, MARKS, formula, to_text
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, keep_present, keywords, one_line, to_document, to_sections
from tagwright.readers.limits import PICTURES, largest_document, read_whole, too_large
from tagwright.readers.lines import open_bytes, open_text
from tagwright.text.words import clean
from tagwright.types import Document

Node: TypeAlias = Mapping[str, Any]
"An element of pandoc's tree: its type `t` and its content `c`."

SECONDS, MEMORY = 60, "2g"
"What the program may take for one file. Four megabytes of LaTeX took 3 s and 0.4 GB."
ARCHIVES = frozenset({"docx", "epub", "odt", "pptx"})
"Formats that are not texts."

_MACROS = (
    r"\providecommand{\ce}[1]{#1}\providecommand{\ch}[1]{#1}\providecommand{\hspace}[1]{ }"
    r"\providecommand{\quad}{ }\providecommand{\qquad}{ }\providecommand{\hfill}{ }\providecommand{\newline}{ }"
    r"\providecommand{\keywords}[1]{\begin{saidkeywords}#1\end{saidkeywords}}"
)
"Macros of LaTeX that pandoc leaves out with their words, or with the space between words."
_KEYWORDS = frozenset({"IEEEkeywords", "keyword", "saidkeywords"})
_UNREAD = frozenset({"filecontents", "refs", "thebibliography", "tikzpicture"})
"Environments of LaTeX that hold keywords, and that are no running text."

_BREAKS = frozenset({"LineBreak", "SoftBreak"})
_WITH_ATTRIBUTES = frozenset({"Cite", "Image", "Link", "Quoted", "Span"})
_OTHERS = {"Emph", "Note", "SmallCaps", "Space", "Strikeout", "Strong", "Subscript", "Superscript", "Underline"}
_INLINE = _BREAKS | _WITH_ATTRIBUTES | _OTHERS | {"Code", "Math", "RawInline", "Str"}
_log = logging.getLogger(__name__)


def read_by_pandoc(format_: str, path: Path) -> Iterator[Located]:
    """One document, without id. format_: pandoc's name of it. Metadata: author, keyword. Raises InputError."""
    if format_ in ARCHIVES:
        with open_bytes(path) as file:
            content = read_whole(file, path, PICTURES)
    else:
        content = open_text(path).encode()
    yield 0, make_document(parse(content, format_, path))


def read_latex(path: Path) -> Iterator[Located]:
    r"""One document, without id. Files in `\input` are not read, only counted in the log. Raises InputError."""
    yield 0, make_document(parse_latex(open_text(path), path))


def read_markdown(path: Path) -> Iterator[Located]:
    """One document, without id; the text before the first heading below its title is the abstract (`to_document`).

    Title: `title:` in front matter; or the first heading if it is on top or of the first level; or the first line.
    Raises InputError.
    """
    text = open_text(path).replace("\r", "\n")
    matter = r"---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    front = re.match(matter, text, re.DOTALL)
    said = re.search(r"^title:[ \t]*(['\"]?)(.*?)\1[ \t]*$", front[1] if front else "", re.MULTILINE)
    text = re.sub(r"\\\((.{1,80}?)\\\)", r"$\1$", text[front.end() if front else 0 :])
    nodes = parse(text.encode(), "commonmark_x-smart-yaml_metadata_block", path)["blocks"]
    title, blocks = said[2] if said else "", list(_blocks(nodes))
    heading = next((place for place, (depth, _) in enumerate(blocks) if depth), None)
    if title:
        blocks = blocks[1:] if blocks[:1] == [(1, title)] else blocks
    elif heading == 0 or (heading and blocks[heading][0] == 1):
        title = blocks.pop(heading)[1]
    elif nodes and nodes[0]["t"] == "Para":
        inlines = nodes[0]["c"]
        end = next((place for place, node in enumerate(inlines) if node["t"] in _BREAKS), len(inlines))
        title, rest = _line(inlines[:end]), _line(inlines[end:])
        blocks[:1] = [(0, rest)] if rest else []
    yield 0, to_document(title, blocks)


def parse_latex(text: str, path: Path) -> Node:
    """The tree of a text in LaTeX."""
    text = re.sub(r"(?<=\w)%[ \t]*\n[ \t]*(?=\w)", "", text)  # pandoc takes the end of the line for a space
    text = re.sub(r"\\href\[[^\[\]{}]*\]", r"\\href", text)
    return parse((_MACROS + text).encode(), "latex", path)


def latex_texts(values: Sequence[str], path: Path) -> dict[str, str]:
    """Each of these values of LaTeX with its text. One that pandoc cannot read is its own text, without braces.

    All are read at once, each in a section of its own. Where that fails, as when one of them opens an environment and
    does not close it, each half is read by itself.
    """
    find_program(path)
    texts: list[list[str]] = []
    sections = (rf"\section{{{number}}}{value}" for number, value in enumerate(values))
    with suppress(InputError):
        for node in parse_latex("\n\n".join(sections), path)["blocks"]:
            if node["t"] == "Header" and _line(node["c"][2]) == str(len(texts)):
                texts.append([])
            elif texts:
                texts[-1] += (text for _, text in _blocks(node))
    if len(texts) == len(values):
        return dict(zip(values, map("\n\n".join, texts), strict=True))
    if len(values) < 2:
        return {value: re.sub("[{}]", "", value) for value in values}
    middle = len(values) // 2
    return latex_texts(values[:middle], path) | latex_texts(values[middle:], path)


def parse(content: bytes, format_: str, path: Path) -> Node:
    """The tree of a file. Raises InputError for one that pandoc cannot read, or not within its limits."""
    command = [find_program(path), "--sandbox", f"--from={format_}", "--to=json", "+RTS", f"-M{MEMORY}", "-RTS"]
    with TemporaryFile() as output:
        try:
            done = subprocess.run(
                command, input=content, stdout=output, stderr=subprocess.PIPE, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"takes more than {SECONDS} s to read", path) from None
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode:
            damaged = f"cannot be read as {format_.partition('_')[0]} ({one_line(' '.join(said.splitlines()[:2]))})"
            large = f"takes more than {MEMORY}B of memory to read"
            raise InputError(large if "Heap exhausted" in said else damaged, path)
        if output.seek(0, os.SEEK_END) > PICTURES * largest_document():
            raise InputError(too_large(), path)
        output.seek(0)
        try:
            tree: Node = json.load(output)
        except RecursionError:
            raise InputError("is nested too deep, expected a text", path) from None
    if inputs := said.count("Could not load include file"):
        _log.warning("%s: other files that it includes (\\input, %d times) are not read", path, inputs)
    return tree


def find_program(path: Path) -> str:
    """Pandoc of the package, or else that of the system."""
    package = find_spec("pypandoc")
    packaged = str(Path(package.origin).parent / "files") if package and package.origin else ""
    if program := shutil.which("pandoc", path=packaged) or shutil.which("pandoc"):
        return program
    raise InputError('reading it needs pandoc, which is not installed; pip install "tagwright[documents]"', path)


def make_document(tree: Node, title: str = "", **metadata: list[str]) -> Document:
    """The document of a tree, without id. title, metadata: unless the tree has its own."""
    meta, blocks = tree["meta"], list(_blocks(tree["blocks"]))
    titles = (" ".join(_meta_lines(meta, name)).strip(" :") for name in ("title", "subtitle"))
    title = ": ".join(filter(None, titles)) or title
    if blocks and blocks[0][0] and title in {"", blocks[0][1]}:
        title = blocks.pop(0)[1]
    said = [part for attributes, part in _find(tree["blocks"], "Div") if _KEYWORDS & {*attributes[1]}]
    words = [*_meta_lines(meta, "keywords"), *(text for _, text in _blocks(said))]
    present = keep_present(
        author=_meta_lines(meta, "author") or metadata.get("author", []),
        keyword=keywords(words) or metadata.get("keyword", []),
    )
    if "abstract" not in meta:
        return to_document(title, blocks, present)
    return Document("", title, "\n\n".join(_meta_lines(meta, "abstract")), tuple(to_sections(blocks)), present)


def _meta_lines(meta: Mapping[str, Node], name: str) -> list[str]:
    """The texts of a field: of each item or paragraph of several."""
    parts = [meta[name]] if name in meta else []
    if parts and parts[0]["t"] == "MetaList":
        parts = parts[0]["c"]
    inlines = [_line(part["c"]) for part in parts if part["t"] == "MetaInlines"]
    return inlines + [text for part in parts if part["t"] == "MetaBlocks" for _, text in _blocks(part["c"])]


def _blocks(content: Any) -> Iterator[Block]:
    """The headings and paragraphs of nodes, however nested; notes behind the paragraph that they interrupt."""
    if isinstance(content, Mapping):
        yield from _blocks_of_node(content.get("t", ""), content.get("c"))
    elif isinstance(content, list) and content and isinstance(content[0], Mapping) and content[0].get("t") in _INLINE:
        if text := _line(content):
            yield 0, text
        yield from (block for block in _blocks([*_find(content, "Note")]) if re.search(r"\w", block[1]))
    elif isinstance(content, list):
        for part in content:
            yield from _blocks(part)


def _blocks_of_node(kind: str, content: Any) -> Iterator[Block]:
    if kind == "Header":
        yield from ((content[0], text) for text in [_line(content[2])] if text)
    elif kind == "CodeBlock":
        yield 0, clean(content[1])
    elif kind == "RawBlock":
        html = re.sub(r"(?is)<!--.*?-->|<(script|style)\b.*?</\1>", "", content[1]) if content[0] == "html" else ""
        yield from ((0, line) for line in plain_text(html).splitlines())
    elif kind == "Table":
        _, caption, _, head, bodies, foot = content
        yield from _blocks(caption)
        for _, cells in (*head[1], *(row for body in bodies for rows in body[2:] for row in rows), *foot[1]):
            if text := " ".join(text for _, text in _blocks([cell[4] for cell in cells])):
                yield 0, text
    elif not (kind == "Div" and {content[0][0], *content[0][1]} & (_UNREAD | _KEYWORDS)):
        yield from _blocks(content)


def _find(content: Any, kind: str) -> Iterator[Any]:
    """The contents of all nodes of this kind."""
    if isinstance(content, Mapping) and content.get("t") == kind:
        yield content["c"]
    for part in content.values() if isinstance(content, Mapping) else content if isinstance(content, list) else ():
        yield from _find(part, kind)


def _line(inlines: Any) -> str:
    """The text of inline nodes, without notes and the numbers of references."""
    return to_text("".join(map(_marked, inlines)))


def _marked(node: Node) -> str:
    """The text of an inline node with the marks of `markup`."""
    kind, content = node["t"], node.get("c")
    if content is None:  # a space or break
        return LINE if kind == "LineBreak" else " "
    if kind == "Str":
        return str(content).replace("\u2011", "-")
    if kind in {"Code", "Math", "RawInline"}:
        text = str(content[1])
        return _read_math(text) if kind == "Math" else text if kind == "Code" else _read_tag(text, content[0])
    is_number = kind == "Link" and "reference-type" in dict(content[0][2])  # \ref of LaTeX
    if kind == "Note" or (kind == "Image" and content[2][0].startswith("media/")):  # what Word thinks of a picture
        return ""
    begin, end = (
        MARKS["cited"] if kind == "Cite" or is_number else MARKS["raised"] if kind == "Superscript" else ("", "")
    )
    inside = [] if is_number else content[1] if kind in _WITH_ATTRIBUTES else content
    return f"{begin}{''.join(map(_marked, inside))}{end}"


def _read_tag(raw: str, format_: str) -> str:
    """The mark of a tag of HTML, or the text of what is none."""
    if format_ != "html" or raw.startswith("<!--"):
        return ""
    if not (tag := TAG.fullmatch(raw)) or not (name := element_name(tag)):
        return raw
    begin, end = MARKS.get(HTML[name], ("", ""))
    return " " if HTML[name] == "block" else end if tag["end"] else begin


def _read_math(tex: str) -> str:
    r"""The text of a formula: letters by their names as HTML has them, no other macros.

    >>> _read_math(r"\beta_1 \le \frac{1}{2}\label{x}")
    'β1 ≤ 1/2'
    """
    tex = re.sub(r"\\(?:label|tag|begin|end)\*?\{[^{}]*\}|\\[^A-Za-z%#$_{}]|[&~]", " ", tex.replace("}{", "}/{"))
    tex = re.sub(r"\\([A-Za-z]+) ?", lambda name: html5.get(f"{name[1]};", ""), tex)
    return formula(re.sub(r"[{}\\]", "", tex))

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
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

from tagwright.errors import InputError
from tagwright.readers.documents.markup import LINE, MARKS, read_math, to_text
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, keep_present, keywords, one_line, to_document, to_sections
from tagwright.readers.documents.tags import mark_tags, plain_text
from tagwright.readers.limits import PICTURES, PLAIN, Reading, largest_document, read_whole, too_large
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


def read_by_pandoc(path: Path, reading: Reading = PLAIN, *, format_: str) -> Iterator[Located]:
    r"""One document, without id. format_: pandoc's name of it. Metadata: author, keyword. Raises InputError.

    Of LaTeX, files in `\input` are not read, only counted in the log.
    """
    if format_ in ARCHIVES:
        with open_bytes(path) as file:
            tree = parse(read_whole(file, path, PICTURES), format_, path)
    else:
        text = open_text(path, reading)
        tree = parse_latex(text, path) if format_ == "latex" else parse(text.encode(), format_, path)
    yield 0, make_document(tree)


def read_markdown(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """One document, without id; the text before the first heading below its title is the abstract (`to_document`).

    Title: `title:` in front matter; or the first heading if it is on top or of the first level; or the first line.
    Raises InputError.
    """
    text = open_text(path, reading).replace("\r", "\n")
    matter = r"---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    front = re.match(matter, text, re.DOTALL)
    said = re.search(r"^title:[ \t]*(['\"]?)(.*?)\1[ \t]*$", front[1] if front else "", re.MULTILINE)
    text = re.sub(r"\\\((.{1,80}?)\\\)", r"$\1$", text[front.end() if front else 0 :])
    nodes = parse(text.encode(), "commonmark_x-smart-yaml_metadata_block", path)["blocks"]
    title, blocks = said[2] if said else "", list(to_blocks(nodes))
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
                texts[-1] += (text for _, text in to_blocks(node))
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
    meta, blocks = tree["meta"], list(to_blocks(tree["blocks"]))
    titles = (" ".join(meta_lines(meta, name)).strip(" :") for name in ("title", "subtitle"))
    title = ": ".join(filter(None, titles)) or title
    if blocks and blocks[0][0] and title in {"", blocks[0][1]}:
        title = blocks.pop(0)[1]
    said = [part for attributes, part in _find(tree["blocks"], "Div") if _KEYWORDS & {*attributes[1]}]
    words = [*meta_lines(meta, "keywords"), *(text for _, text in to_blocks(said))]
    present = keep_present(
        author=meta_lines(meta, "author") or metadata.get("author", []),
        keyword=keywords(words) or metadata.get("keyword", []),
    )
    if "abstract" not in meta:
        return to_document(title, blocks, present)
    return Document("", title, "\n\n".join(meta_lines(meta, "abstract")), tuple(to_sections(blocks)), present)


def meta_lines(meta: Mapping[str, Node], name: str) -> list[str]:
    """The texts of a field: of each item or paragraph of several."""
    parts = [meta[name]] if name in meta else []
    if parts and parts[0]["t"] == "MetaList":
        parts = parts[0]["c"]
    inlines = [_line(part["c"]) for part in parts if part["t"] == "MetaInlines"]
    return inlines + [text for part in parts if part["t"] == "MetaBlocks" for _, text in to_blocks(part["c"])]


def to_blocks(content: Any) -> Iterator[Block]:
    """The headings and paragraphs of nodes, however nested; notes behind the paragraph that they interrupt."""
    if isinstance(content, Mapping):
        yield from _read_node(content.get("t", ""), content.get("c"))
    elif isinstance(content, list) and content and isinstance(content[0], Mapping) and content[0].get("t") in _INLINE:
        paragraphs = re.split(rf"{LINE}\s*{LINE}", "".join(map(_marked, content)))
        yield from ((0, text) for text in map(to_text, paragraphs) if text)
        yield from (block for block in to_blocks([*_find(content, "Note")]) if re.search(r"\w", block[1]))
    elif isinstance(content, list):
        for part in content:
            yield from to_blocks(part)


def _read_node(kind: str, content: Any) -> Iterator[Block]:
    if kind == "Header":
        yield from ((content[0], text) for text in [_line(content[2])] if text)
    elif kind == "CodeBlock":
        yield 0, clean(content[1])
    elif kind == "RawBlock":
        yield from ((0, line) for line in plain_text(content[1] if content[0] == "html" else "").splitlines())
    elif kind == "Table":
        _, caption, _, head, bodies, foot = content
        yield from to_blocks(caption)
        for _, cells in (*head[1], *(row for body in bodies for rows in body[2:] for row in rows), *foot[1]):
            if text := " ".join(text for _, text in to_blocks([cell[4] for cell in cells])):
                yield 0, text
    elif not (kind == "Div" and ({content[0][0], *content[0][1]} & (_UNREAD | _KEYWORDS) or _is_hidden(content[0]))):
        yield from to_blocks(content)


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
    if kind in {"Code", "Math"}:
        return read_math(content[1]) if kind == "Math" else str(content[1])
    if kind == "RawInline":
        return mark_tags(content[1]) if content[0] == "html" else ""
    is_picture = kind == "Image" and content[2][0].startswith("media/")  # with what Word thinks of it
    if kind == "Note" or is_picture or (kind == "Span" and _is_hidden(content[0])):
        return ""
    is_raised = kind == "Superscript"
    begin, end = MARKS["cited"] if _refers(kind, content) else MARKS["raised"] if is_raised else ("", "")
    return f"{begin}{''.join(map(_marked, content[1] if kind in _WITH_ATTRIBUTES else content))}{end}"


def _refers(kind: str, content: Any) -> bool:
    """Whether a node is the mark of a work, a note or a numbered part; a raised link within a page is one."""
    if kind == "Link":
        is_raised = any(node["t"] == "Superscript" for node in content[1])
        return "reference-type" in dict(content[0][2]) or (is_raised and content[2][0].startswith("#"))
    links = _find(content, "Link") if kind == "Superscript" else ()
    return kind == "Cite" or any(target.startswith("#") for _, _, (target, _) in links)


def _is_hidden(attributes: Any) -> bool:
    values = dict(attributes[2])
    return "hidden" in values or re.search(r"display\s*:\s*none", values.get("style", "")) is not None

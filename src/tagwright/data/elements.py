"""An XML file in, the elements that are documents out, one at a time. Nothing outside the file is ever read.

Document types are passed over, entities are not expanded: a bomb of them is refused, and so is one that lies elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from html.entities import html5
from itertools import chain, groupby
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import Element, TreeBuilder  # builds trees; expat below does the parsing
from xml.parsers import expat

from tagwright.data.lines import open_bytes, shown
from tagwright.data.text import clean
from tagwright.errors import InputError

DEEPEST = 200
"Elements inside each other; texts have some dozens."
CHUNK = 1 << 16

Test: TypeAlias = Callable[[Element], bool]


def read_elements(path: Path, name: str) -> Iterator[tuple[int, Element]]:
    """The outermost elements of a name with the lines they begin on, names without namespaces, plain or gzip.

    Raises InputError with path and line for what is not XML, is nested too deep, or declares entities that are more
    than an abbreviation; what came before has then been given.
    """
    harvest = _Harvest(name, path)
    with open_bytes(path) as file:
        for chunk in chain(iter(partial(file.read, CHUNK), b""), [b""]):
            yield from harvest.take(chunk)


def paragraphs(element: Element | None, blocks: Collection[str], skip: Test = lambda _: False) -> list[str]:
    """The text in an element, clean, in pieces that end where an element of `blocks` begins or ends.

    >>> from xml.etree.ElementTree import fromstring
    >>> paragraphs(fromstring("<sec>One <b>bee</b>.<p>Two.</p></sec>"), {"p"})
    ['One bee.', 'Two.']
    """
    if element is None:
        return []
    runs = groupby(_pieces(element, blocks, skip), key=lambda piece: piece is None)
    texts = (" ".join("".join(filter(None, run)).split()) for ends, run in runs if not ends)
    return [clean(text) for text in texts if text]


def line(element: Element | None, blocks: Collection[str] = (), skip: Test = lambda _: False) -> str:
    """The text in an element as one line."""
    return " ".join(paragraphs(element, blocks, skip))


def _pieces(element: Element, blocks: Collection[str], skip: Test) -> Iterator[str | None]:
    """Texts, and None where a paragraph ends."""
    yield element.text or ""
    for child in element:
        if not skip(child):
            end = [None] if child.tag in blocks else []
            yield from end
            yield from _pieces(child, blocks, skip)
            yield from end
        yield child.tail or ""


class _Harvest:
    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path = name, path
        self._builder: TreeBuilder | None = None
        self._depth = self._root = self._line = 0
        self._found: list[tuple[int, Element]] = []
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # which is never read: so entities without a declaration are no errors
        parser.specified_attributes = True  # values that a document type gives to all would fill the memory
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._entity, self._skipped

    def take(self, chunk: bytes) -> Iterator[tuple[int, Element]]:
        """The elements that end in the next piece of the file; b"" is its end."""
        problem = ""
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            problem = f"is not XML ({expat.ErrorString(error.code)})"
        except (LookupError, ValueError) as error:
            problem = f"is XML in an encoding that cannot be read ({error}); save it as UTF-8"
        yield from self._found
        self._found.clear()
        if problem:
            raise self._error(problem)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"nests more than {DEEPEST} elements, expected a text")
        name = _local(tag)
        if self._builder is None and name == self._name:
            self._builder, self._root, self._line = TreeBuilder(), self._depth, self._parser.CurrentLineNumber
        if self._builder is not None:
            self._builder.start(name, {_local(key): value for key, value in attributes.items()})

    def _end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(_local(tag))
            if self._depth == self._root:
                self._found.append((self._line, self._builder.close()))
                self._builder = None
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def _entity(self, name: str, parameter: bool, value: str | None, *other: str | None) -> None:
        """Refuse entities but unparsed ones (pictures), and abbreviations of short texts without references."""
        unparsed = other[-1] is not None
        if not unparsed and (parameter or value is None or len(value) > 200 or set(value) & set("&%<")):
            raise self._error(f"declares the XML entity {shown(name)}, which is never resolved; write it out")

    def _skipped(self, name: str, parameter: bool) -> None:
        """An entity of a document type that was not read; most are letters, named as in HTML."""
        if not parameter:
            self._text(html5.get(f"{name};", "\ufffd"))

    def _error(self, problem: str) -> InputError:
        return InputError(problem, self._path, self._parser.CurrentLineNumber)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]

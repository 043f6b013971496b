"""Iterate over the documents in an XML file: all elements of one name. Nothing outside the file is ever read.

Document types are ignored and no entity is expanded: a file that declares entities is refused.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from html.entities import html5
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder  # builds trees; expat below does the parsing
from xml.parsers import expat

from tagwright.core.checked import show
from tagwright.errors import InputError
from tagwright.readers.documents.markup import MARKS, Effect, choose_reading, of_jats, to_text
from tagwright.readers.limits import PLAIN, Reading, largest_document, too_large
from tagwright.readers.lines import open_bytes

DEEPEST = 200
"Maximum depth of nesting; texts have a few dozen levels."
CHUNK = 1 << 16


def read_elements(path: Path, *names: str, reading: Reading = PLAIN) -> Iterator[tuple[int, Element]]:
    """Yield the outermost elements of these names, each with the line it begins on. Reads plain files and gzip.

    Namespaces are removed from names. An element above the limit for a document is logged and left out. Raises
    InputError with path and line if the file is not XML, is nested too deep, or declares entities, after it has yielded
    the elements before that line.
    """
    harvest = _Harvest(names, path, reading)
    with open_bytes(path) as file:
        chunk = b"begin"
        while chunk:
            chunk = file.read(max(CHUNK, harvest.waiting))  # a tag is parsed anew with each chunk until it ends
            yield from harvest.take(chunk)


class Prose(NamedTuple):
    """How the text of elements is read. effect: of an element on the words around it. is_paper: see `to_text`.

    >>> from xml.etree.ElementTree import fromstring
    >>> Prose().paragraphs(fromstring("<sec>One <b>bee</b>.<p>Two<fn>Or three.</fn> bees.</p></sec>"))
    ['One bee.', 'Two bees.', 'Or three.']
    """

    effect: Callable[[Element], Effect] = of_jats
    is_paper: bool = False

    def paragraphs(self, element: Element | None) -> list[str]:
        """Return the clean text of an element in paragraphs; none of an element that is dropped."""
        if element is None or self.effect(element) == "dropped":
            return []
        found, run, later = list[str](), list[str](), list[str]()
        for piece in (*self._pieces(element), None):
            if isinstance(piece, str):
                run.append(piece)
                continue
            text = to_text("".join(run), is_paper=self.is_paper)
            if piece is None:
                found += [*filter(None, [text]), *later]
                run, later = [], []
            elif text:
                later += piece
            else:
                found += piece
        return found

    def line(self, element: Element | None) -> str:
        """Return the text of an element as one line."""
        return " ".join(self.paragraphs(element))

    def lines(self, elements: Iterable[Element]) -> list[str]:
        """Return the text of each element as one line."""
        return list(map(self.line, elements))

    def _pieces(self, element: Element) -> Iterator[str | list[str] | None]:
        """Yield texts, None at the end of a paragraph, and the paragraphs of what stands aside."""
        yield element.text or ""
        for child in element:
            tail = child.tail or ""
            while (effect := self.effect(child)) == "choice":
                child = choose_reading(child)
            if effect == "aside":
                yield self.paragraphs(child)
            elif effect == "block":
                yield from (None, *self._pieces(child), None)
            elif effect != "dropped":
                begin, end = MARKS.get(effect, ("", ""))
                yield from (begin, *self._pieces(child), end)
            yield tail


class _Harvest:
    def __init__(self, names: Collection[str], path: Path, reading: Reading) -> None:
        self._names, self._path, self._reading = names, path, reading
        self._builder: TreeBuilder | None = None
        self._depth = self._root = self._line = 0
        self._found: list[tuple[int, Element]] = []
        self._fed = self._left = 0
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # the DTD is never read, but without it undeclared entities would be errors
        parser.specified_attributes = True  # default values from a document type could fill the memory
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._entity, self._skipped

    @property
    def waiting(self) -> int:
        """The bytes of a tag or comment that has not ended yet."""
        return self._fed - max(0, self._parser.CurrentByteIndex)

    def take(self, chunk: bytes) -> Iterator[tuple[int, Element]]:
        """Parse the next part of the file, b"" at its end, and yield the elements that end there."""
        problem = ""
        self._fed += len(chunk)
        try:
            self._parser.Parse(chunk, not chunk)
            if self.waiting > largest_document() + CHUNK:
                problem = f"holds a tag or comment that {too_large()}"
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
        name = _local_name(tag)
        if not self._root and name in self._names:
            self._builder, self._left = TreeBuilder(), largest_document()
            self._root, self._line = self._depth, self._parser.CurrentLineNumber
        # 16 bytes for its tags and its memory
        size = 16 + 2 * len(name) + sum(len(key) + len(value) for key, value in attributes.items())
        if builder := self._room(size):
            builder.start(name, {_local_name(key): value for key, value in attributes.items()})

    def _end(self, tag: str) -> None:
        if self._builder:
            self._builder.end(_local_name(tag))
        if self._depth == self._root:
            if self._builder:
                self._found.append((self._line, self._builder.close()))
            self._builder, self._root = None, 0
        self._depth -= 1

    def _text(self, text: str) -> None:
        if builder := self._room(len(text)):
            builder.data(text)

    def _room(self, size: int) -> TreeBuilder | None:
        """Return the builder of the current element if `size` more is within the limit; else drop the element."""
        self._left -= size
        if self._builder and self._left < 0:
            self._reading.leave_out(InputError(too_large(), self._path, self._line))
            self._builder = None
        return self._builder

    def _entity(self, name: str, _parameter: bool, _value: str | None, *other: str | None) -> None:
        """Refuse all entities but unparsed ones (pictures): a short text expanded a million times fills the memory."""
        if other[-1] is None:
            raise self._error(f"declares the XML entity {show(name)}, which is never resolved; write it out")

    def _skipped(self, name: str, parameter: bool) -> None:
        """Replace an entity that the unread document type would declare; most are letters, named as in HTML."""
        if not parameter:
            self._text(html5.get(f"{name};", "\ufffd"))

    def _error(self, problem: str) -> InputError:
        return InputError(problem, self._path, self._parser.CurrentLineNumber)


def _local_name(name: str) -> str:
    return name.rpartition(" ")[2]

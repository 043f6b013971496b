"""Read web pages: headings become sections, running text becomes paragraphs."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from tagwright.errors import InputError
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, keywords, one_line, present, to_document, work_id
from tagwright.readers.limits import read_whole
from tagwright.readers.lines import open_bytes
from tagwright.types import Document

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark math mi mn mo ms msub msup "  # noqa: SIM905
    "mrow mtext q rp rt ruby s samp small span strike strong sub sup time td th tt u var wbr".split()
)
"Inline elements; any other begins and ends a paragraph."
_HEADINGS = {f"h{depth}": depth for depth in range(1, 7)}
_UNREAD = frozenset("button datalist dialog noscript object select svg template textarea title".split())  # noqa: SIM905
_BOILERPLATE = frozenset("aside footer nav".split())  # noqa: SIM905
_REGIONS = {**dict.fromkeys(_UNREAD, 0), **dict.fromkeys(_BOILERPLATE, 1), "article": 3, "main": 4}
"How likely the content of an element is main text, from 0 to 4; 2 elsewhere."
_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE
)
_CODE = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*>|\Z)", re.DOTALL | re.IGNORECASE)
"Comments and scripts, removed beforehand: the parser is slow on many that never end."
_DEEPEST = 50
"The deepest nesting of regions that is distinguished."
_AUTHORS, _VENUES = ("citation_author", "dc.creator", "author"), ("citation_journal_title", "og:site_name")
_TITLES, _KEYWORDS = ("citation_title", "dc.title", "og:title"), ("citation_keywords", "keywords")


def read_html(path: Path) -> Iterator[Located]:
    """One page. Its id is the DOI in its metadata, or blank.

    Only `main` or else `article` is read where the page has one, and no navigation, footers or forms. Metadata: author,
    venue, keyword, from the `meta` elements that publishers and search engines use. Raises InputError.
    """
    with open_bytes(path) as file:
        content = read_whole(file, path)
    yield 0, _page(_decoded(content, path)).document()


def plain_text(html: str) -> str:
    r"""The running text of a piece of HTML, one line for each paragraph, heading or item.

    >>> plain_text("<p>Warm &amp; <b>yellow</b></p><ul><li>Wool<li>Size M</ul>")
    'Warm & yellow\nWool\nSize M'
    """
    return "\n".join(_page(html).texts())


class _Page(HTMLParser):
    """Collects paragraphs and headings, each with its region; elements need not be closed."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[tuple[int, Block]] = []
        self._inside: list[str] = []
        self._text: list[str] = []
        self._heading = 0
        self._title: list[str] = []
        self._meta: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a paragraph, a heading or a region; note metadata."""
        if tag in {"br", "td", "th"}:
            self._text.append("\r" if tag == "br" else " ")
        elif tag not in _INLINE:
            self._flush()
            self._heading = _HEADINGS.get(tag, self._heading)
        if tag == "body":
            self._inside.clear()  # a title that is never closed would swallow the page
        if tag in _REGIONS and len(self._inside) < _DEEPEST:
            self._inside.append(tag)
        elif tag == "meta":
            values = {name: value or "" for name, value in attrs}
            name = (values.get("name") or values.get("property") or "").lower()
            self._meta.setdefault(name, []).append(one_line(values.get("content", "")))

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph, a heading or a region."""
        if tag not in _INLINE:
            self._flush()
        if tag in _HEADINGS:
            self._heading = 0
        while tag in self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Note text."""
        (self._title if self._inside == ["title"] else self._text).append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:  # noqa: ARG002
        """Skip `<![...]>`, where the parser would fail when it does not know the keyword."""
        return self.parse_bogus_comment(i)

    def document(self) -> Document:
        """Return the document."""
        self._flush()
        blocks = list(self._best())
        title = one_line("".join(self._title))
        first = next((place for place, (depth, _) in enumerate(blocks) if depth), None)
        if first is not None and (blocks[first][0] == 1 or title.casefold().startswith(blocks[first][1].casefold())):
            title = blocks.pop(first)[1]
        metadata = present(
            author=self._named(*_AUTHORS),
            venue=self._named(*_VENUES)[:1],
            keyword=keywords(self._named(*_KEYWORDS)),
        )
        document = to_document("".join(self._named(*_TITLES)[:1]) or title, blocks, metadata)
        return replace(document, id=work_id({"doi": "".join(self._named("citation_doi")[:1])}))

    def texts(self) -> list[str]:
        """Headings and paragraphs, with navigation but without buttons and forms."""
        self._flush()
        return [text for region, (_, text) in self._blocks if region]

    def _flush(self) -> None:
        """End the paragraph or heading, as two line breaks do as well."""
        texts = re.split(r"\r\s*\r", "".join(self._text))
        self._text.clear()
        region = min((_REGIONS[tag] for tag in self._inside), default=2)
        if region > 2:
            region = max(_REGIONS[tag] for tag in self._inside)
        for text in filter(None, map(one_line, texts)):
            self._blocks.append((region, (self._heading, text)))
            self._heading = 0

    def _best(self) -> Iterator[Block]:
        """The blocks of the most likely regions, if they hold a paragraph; or else all."""
        best = max((region for region, (depth, _) in self._blocks if not depth), default=0)
        return (block for region, block in self._blocks if region >= best or best == 0)

    def _named(self, *names: str) -> list[str]:
        """The values of the first of these names that the page has."""
        return next((values for name in names if (values := list(filter(None, self._meta.get(name, []))))), [])


def _page(html: str) -> _Page:
    page = _Page()
    text = _CODE.sub("", html)
    end = text.rfind(">") + 1
    page.feed(text[:end])
    page.close()
    page.handle_data(text[end:])  # no tag is complete there, and the parser would be slow to notice
    return page


def _decoded(content: bytes, path: Path) -> str:
    """The decoded text, in the declared encoding or else UTF-8; "Latin-1" means Windows-1252, as in browsers."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        said = _CHARSET.search(content[:4096])
        encoding = said[1].decode("ascii", "replace").lower() if said else "utf-8"
    latin = encoding in {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii", "windows-1252", "cp1252"}
    try:
        text = content.decode("cp1252", "replace") if latin else content.decode(encoding)
    except LookupError:
        raise InputError(f"is in the unknown encoding {encoding}; save it as UTF-8", path) from None
    except UnicodeError as error:
        raise InputError(f"is not {encoding} ({error}); save it as UTF-8", path) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

"""Read web pages: headings become sections, running text becomes paragraphs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

from tagwright.core.progress import hint
from tagwright.errors import InputError
from tagwright.readers.documents import sections
from tagwright.readers.documents.markup import HTML, LINE, MARKS, Effect, to_text, without_dollars
from tagwright.readers.documents.records import Located
from tagwright.readers.limits import convert_errors, read_whole
from tagwright.readers.lines import decode_text, is_utf8, open_bytes
from tagwright.text.words import clean
from tagwright.types import Document, Label

_HEADINGS = {f"h{depth}": depth for depth in range(1, 7)}
_REGIONS = {
    **dict.fromkeys("button datalist dialog noscript object select svg template textarea title".split(), 0),  # noqa: SIM905
    **dict.fromkeys(("aside", "footer", "nav"), 1),
    "article": 3,
    "main": 4,
}
"How likely the content of an element is main text, from 0 to 4; 2 elsewhere."
_TEXT = 2

_UNENDED = frozenset({"rb", "rt", "rp", "p", "li"})
"Elements whose end may be left out before another."
_SHOWN = frozenset({"html", "body", "main", "article"})
"Elements that programs show, if they are hidden at first: the page would have no text."
_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})

FORMATTING = frozenset("b bold br em i inf italic sc scp small strong sub sup u".split())  # noqa: SIM905
"Elements that are markup in any text where they begin and end."
TAG = re.compile(
    r"<(?P<end>/?)(?:(?P<prefix>ce|jats|mml|m|o|st1|w|xhtml):)?(?P<name>[a-z][a-z0-9-]*)"
    r"(?P<rest>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)|\s+hidden)*\s*/?)>",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"&(?:#\d{2,6}|#x[\da-f]{2,6}|[a-z]{2,8}\d?);", re.IGNORECASE)
_ABSTRACT = re.compile(
    rf"\A\s*<(?P<name>(?:jats:)?(?:title|p|b|strong|h\d))>\s*(?:{'|'.join(sections.ABSTRACTS)})[ .:]*</(?P=name)>",
    re.IGNORECASE,
)
"The heading that publishers put into an abstract."


def read_html(path: Path, encoding: str = "") -> Iterator[Located]:
    """One page. Its id is the DOI in its metadata, or blank.

    Only the main text is read: what is in `main` or else `article` where that is most of the text, or else where
    trafilatura (extra `html`) finds it; without that, all but navigation, footers and forms. Metadata: author,
    venue, keyword, from the `meta` elements that publishers and search engines use. encoding: unless a byte order mark
    tells another one, or the page says and is UTF-8; by default what the page says, by the names of browsers, or else
    UTF-8. Raises InputError.
    """
    import webencodings

    with open_bytes(path) as file:
        content = read_whole(file, path)
    pattern = rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{1,40})"""
    said = re.search(pattern, content[:4096], re.IGNORECASE)
    named = webencodings.lookup(said[1].decode("ascii", "replace")) if said else None
    codec = named.codec_info.name if named else "utf-8"
    if encoding and not (named and codec == "utf-8" and is_utf8(content)):
        codec = encoding
    html = decode_text(content, path, codec).replace("\r", "\n")
    page = _page(html)
    yield 0, page.document(page.named_text() or _extract_main_text(html, page, path))


def _extract_main_text(html: str, page: _Page, path: Path) -> list[sections.Block]:
    """The blocks from the first to the last that trafilatura takes for main text, with the headings before them.

    What it leaves out between them is most often text. All blocks without it, where it fails, and where so little is
    left that it must be wrong: less than 250 characters and than half of the page.
    """
    text, blocks = "", page.text()
    if not find_spec("trafilatura"):
        _say_once()
        return blocks
    if page.most_attributes > 1000:  # of one tag: lxml takes the square of their number
        return blocks
    with suppress(InputError), convert_errors("cannot be read", "trafilatura", path):
        from trafilatura import extract
        from trafilatura.settings import DEFAULT_CONFIG

        config = deepcopy(DEFAULT_CONFIG)
        config["DEFAULT"]["min_extracted_size"] = "1"  # a short page is one as well
        text = extract(html, include_comments=False, config=config) or ""
    lines, runs = {sections.one_line(line) for line in text.splitlines()}, _runs(text)
    places = [
        place
        for place, (_, paragraph) in enumerate(blocks)
        if paragraph in lines or 2 * len((own := _runs(paragraph)) & runs) > len(own)
    ]
    if not places:
        return blocks
    begin = places[0]
    while begin and blocks[begin - 1][0]:
        begin -= 1
    chosen = blocks[begin : places[-1] + 1]
    return blocks if _size(chosen) < 250 and 2 * _size(chosen) < _size(blocks) else chosen


def _runs(text: str) -> set[tuple[str, ...]]:
    """Each four words of a text in a row."""
    words = text.split()
    return {tuple(words[place : place + 4]) for place in range(len(words) - 3)}


@cache
def _say_once() -> None:
    hint('menus, teasers and comments in HTML may be read as text; pip install "tagwright[html]" to tell them apart')


def plain_text(html: str) -> str:
    r"""The running text of a piece of HTML, one line for each paragraph, heading or item. Unknown elements are text.

    >>> plain_text("<p>Warm &amp; <b>yellow</b></p><ul><li>Wool<li>Size <unknown></ul>")
    'Warm & yellow\nWool\nSize <unknown>'
    """
    parts, start = list[str](), 0
    for tag in filter(element_name, TAG.finditer(html)):
        name = {"title": "h6"}.get(element_name(tag), element_name(tag))
        parts += [html[start : tag.start()].replace("<", "&lt;"), f"<{tag['end']}{name}{tag['rest']}>"]
        start = tag.end()
    return "\n".join(_page("".join([*parts, html[start:].replace("<", "&lt;")])).texts())


def without_tags(text: str, names: Collection[str] = HTML) -> str:
    """The text without HTML, if one of these elements begins and ends in it, or a line of it is broken.

    >>> without_tags("CO<sub>2</sub>, a < b"), without_tags("a <b and c> d"), without_tags("Use <b> or <br> in HTML")
    ('CO2, a < b', 'a <b and c> d', 'Use <b> or <br> in HTML')
    """
    if re.search(r"[$&\\]", text):
        text = _ESCAPED.sub(lambda found: unescape(found[0]), without_dollars(text))  # also tags that are escaped
    if "<" not in text or ">" not in text:
        return text
    tags = [(tag, element_name(tag)) for tag in TAG.finditer(text)]
    begun, ended = ({name for tag, name in tags if bool(tag["end"]) == ends} for ends in (False, True))
    sure = {name for tag, name in tags if tag["prefix"]} | set(names)
    broken = "br" in sure and re.search(r"(?i)\S<br\b|<br\s*/?>\S", text)
    return plain_text(_ABSTRACT.sub("", text)) if broken or begun & ended & sure else text


def without_markup(document: Document) -> Document:
    """The document without HTML in any of its texts; for records of formats that should hold none, but often do."""
    return replace(
        document,
        title=sections.one_line(without_tags(document.title)),
        abstract=without_tags(document.abstract),
        sections=tuple(
            replace(section, paragraphs=tuple(map(without_tags, section.paragraphs))) for section in document.sections
        ),
        labels=tuple(map(without_tags, document.labels)),
        metadata={name: tuple(map(without_tags, values)) for name, values in document.metadata.items()},
    )


def label_without_tags(label: Label) -> Label:
    """The label without HTML in its names and descriptions, nor in an id that is a name."""
    tagged = (*label.languages, *label.descriptions, ("", label.description))
    if not any(re.search(r"[<&$\\]", text) for text in (*label.names, *(text for _, text in tagged))):
        return label

    def plain(texts: Iterable[str], names: Collection[str] = FORMATTING) -> tuple[str, ...]:
        return tuple(sections.one_line(text) if (text := without_tags(each, names)) != each else each for each in texts)

    return replace(
        label,
        id=plain([label.id])[0] if label.id in label.names else label.id,
        names=tuple(dict.fromkeys(plain(label.names))),
        description=without_tags(label.description),
        broader=plain(label.broader),
        languages=tuple((code, plain([name])[0]) for code, name in label.languages),
        descriptions=tuple((code, without_tags(text)) for code, text in label.descriptions),
    )


def element_name(tag: re.Match[str]) -> str:
    """The name of an element of HTML, or of what is used beside it; "" for any other."""
    name = tag["name"].lower()
    return name if name in HTML or tag["prefix"] else ""


def _size(blocks: Iterable[sections.Block]) -> int:
    return sum(len(text) for _, text in blocks)


class _Page(HTMLParser):
    """Collects paragraphs and headings, each with its region; elements need not be closed."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[tuple[int, sections.Block]] = []
        self._inside: list[str] = []
        self._marked: list[tuple[str, str]] = []
        self._dropped: list[str] = []
        self._linked = False
        self._text: list[str] = []
        self._heading = 0
        self._title: list[str] = []
        self._meta: dict[str, list[str]] = {}
        self.most_attributes = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a paragraph, a heading or a region; note metadata."""
        self.most_attributes = max(self.most_attributes, len(attrs))
        values = {name: value or "" for name, value in attrs}
        effect = self._effect(tag, values)
        if self._dropped and tag in _UNENDED and self._dropped[0] in _UNENDED:
            self._dropped.clear()
        if self._dropped or (effect == "dropped" and tag not in _VOID):
            nests = len(self._dropped) < 200 and (effect in ("block", "dropped") or tag in self._dropped)
            self._dropped += [tag] if nests else []
            return
        begin, end = MARKS.get(effect, ("", ""))
        self._text.append(begin)
        if end.strip() and len(self._marked) < 50:
            self._marked.append((tag, end))
        if effect == "block":
            self.end()
            self._heading = _HEADINGS.get(tag, self._heading)
        if tag == "body":
            self._inside.clear()  # a title that is never closed would swallow the page
        if tag in _REGIONS and len(self._inside) < 50:  # deeper regions are not distinguished
            self._inside.append(tag)
        elif tag == "meta":
            name = (values.get("name") or values.get("property") or "").lower()
            self._meta.setdefault(name, []).append(sections.one_line(without_tags(values.get("content", ""))))

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph, a heading or a region."""
        is_block = self._effect(tag, {}) == "block"
        if tag in self._dropped:
            del self._dropped[len(self._dropped) - 1 - self._dropped[::-1].index(tag) :]
            return
        if self._dropped and not (is_block or tag == "ruby"):
            return
        self._dropped.clear()  # what began outside ends
        while any(tag == name for name, _ in self._marked):
            name, end = self._marked.pop()
            self._text.append(end)
            if name == tag:
                break
        if HTML.get(tag) == "gap":
            self._text.append(" ")
        elif is_block:
            self.end()
        if tag in _HEADINGS:
            self._heading = 0
        while tag in self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Note text."""
        if not self._dropped:
            (self._title if self._inside == ["title"] else self._text).append(clean(data))

    def _effect(self, tag: str, attributes: Mapping[str, str]) -> Effect:
        """The effect of an element. A link within the page that is raised refers to a note."""
        hides = attributes.get("hidden", "until-found") != "until-found"
        if (hides or re.search(r"display\s*:\s*none", attributes.get("style", ""))) and tag not in _SHOWN:
            return "dropped"
        if tag in {"a", "sup"}:
            said = " ".join(attributes.get(name, "") for name in ("class", "role", "epub:type", "id"))
            is_note = re.search(r"noteref|footnote|reference|\bcit(?:e|ation)\b|cite_ref|fnref", said)
            within = tag == "a" and attributes.get("href", "").startswith("#")
            raised = any(name == "sup" for name, _ in self._marked)
            if is_note or (within and raised) or (tag == "sup" and self._linked):
                return "cited"
            self._linked = within if tag == "a" else self._linked
        return HTML.get(tag, "block" if "-" in tag else "inline")

    def parse_marked_section(self, i: int, report: int = 1) -> int:  # noqa: ARG002
        """Skip `<![...]>`, where the parser would fail when it does not know the keyword."""
        return self.parse_bogus_comment(i)

    def document(self, blocks: Sequence[sections.Block]) -> Document:
        """Return the document. blocks: of the main text, whose first heading is the title if it is on top."""
        blocks, title = list(blocks), sections.one_line("".join(self._title))
        top = next((text for region, (depth, text) in self._blocks if depth == 1 and region >= _TEXT), "")
        if (1, top) not in blocks and (not title or title.casefold().startswith(top.casefold())):
            title = top or title
        first = next((place for place, (depth, _) in enumerate(blocks) if depth), None)
        if first is not None and (blocks[first][0] == 1 or title.casefold().startswith(blocks[first][1].casefold())):
            title = blocks.pop(first)[1]
        metadata = sections.keep_present(
            author=self._named("citation_author", "dc.creator", "author"),
            venue=self._named("citation_journal_title", "og:site_name")[:1],
            keyword=sections.keywords(self._named("citation_keywords", "keywords")),
        )
        titles = self._named("citation_title", "dc.title", "og:title")
        document = sections.to_document("".join(titles[:1]) or title, blocks, metadata)
        return replace(document, id=sections.work_id({"doi": "".join(self._named("citation_doi")[:1])}))

    def named_text(self) -> list[sections.Block]:
        """The text of `main`, or else of an `article`, if that is most of the text; or else nothing."""
        size = _size(block for region, block in self._blocks if region >= _TEXT)
        for name in ("main", "article"):
            inside = [block for region, block in self._blocks if region >= _REGIONS[name]]
            if 2 * _size(inside) > size:
                return inside
        return []

    def text(self) -> list[sections.Block]:
        """The text outside navigation, or all text if there is no other."""
        best = min(_TEXT, max((region for region, (depth, _) in self._blocks if not depth), default=0))
        return [block for region, block in self._blocks if region >= best]

    def texts(self) -> list[str]:
        """Headings and paragraphs, with navigation but without buttons and forms."""
        return [text for region, (_, text) in self._blocks if region]

    def end(self) -> None:
        """End the paragraph or heading, as two line breaks do as well."""
        texts = re.split(rf"{LINE}\s*{LINE}", "".join(self._text))
        self._text.clear()
        self._marked.clear()
        region = min((_REGIONS[tag] for tag in self._inside), default=2)
        if region > 2:
            region = max(_REGIONS[tag] for tag in self._inside)
        for text in filter(None, map(to_text, texts)):
            self._blocks.append((region, (self._heading, text)))
            self._heading = 0

    def _named(self, *names: str) -> list[str]:
        """The values of the first of these names that the page has."""
        return next((values for name in names if (values := list(filter(None, self._meta.get(name, []))))), [])


def _page(html: str) -> _Page:
    page = _Page()
    # without comments and scripts: the parser is slow on many that never end
    code = r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*>|\Z)"
    text = re.sub(code, "", html, flags=re.DOTALL | re.IGNORECASE)
    end = text.rfind(">") + 1
    page.feed(text[:end])
    page.close()
    page.handle_data(unescape(text[end:]))  # no tag is complete there, and the parser would be slow to notice
    page.end()
    return page

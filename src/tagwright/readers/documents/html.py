"""Read web pages by pandoc: headings become sections, running text becomes paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tagwright.core.progress import hint
from tagwright.errors import InputError
from tagwright.readers.documents import sections
from tagwright.readers.documents.pandoc import meta_lines, parse, to_blocks
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.tags import UNSEEN, plain_text
from tagwright.readers.limits import PLAIN, Reading, convert_errors, read_whole
from tagwright.readers.lines import decode_text, is_utf8, open_bytes

_ASIDE = re.compile(
    r"<!--.*|<(aside|button|datalist|dialog|footer|iframe|nav|noscript|object|script|select|style|svg|template|"
    r"textarea)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"What is not the text of a page, wherever it stands."
_TITLE = re.compile(r"<title\b[^<>]*>(.*?)</title\s*>", re.IGNORECASE | re.DOTALL)


def read_html(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """One page. Its id is the DOI in its metadata, or blank.

    Only the main text is read: the element `main`, or else what trafilatura (extra `html`) takes for it; without that,
    all but navigation, footers and controls. Metadata: author, venue, keyword, from the `meta` elements that publishers
    and search engines use. The encoding is that of `reading`, unless a byte order mark tells another one, or the page
    says and is UTF-8; by default what the page says, by the names of browsers, or else UTF-8. Raises InputError.
    """
    import webencodings

    with open_bytes(path) as file:
        content = read_whole(file, path)
    pattern = rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{1,40})"""
    said = re.search(pattern, content[:4096], re.IGNORECASE)
    named = webencodings.lookup(said[1].decode("ascii", "replace")) if said else None
    codec = named.codec_info.name if named else "utf-8"
    if reading.encoding and not (named and codec == "utf-8" and is_utf8(content)):
        codec = reading.encoding
    html = decode_text(content, path, codec).replace("\r", "\n")
    page = _ASIDE.sub("", UNSEEN.sub("", html))
    title = " ".join(plain_text(found[1]) for found in [_TITLE.search(page)] if found)
    page = re.sub(r"(?i)(<meta\b[^<>]*?\s)property(?=\s*=)", r"\1name", _TITLE.sub("", page))
    tree = parse(page.encode(), "html", path)
    blocks = list(to_blocks(tree["blocks"]))
    if not re.search(r"(?i)<main\b", page):
        blocks = _main_text(html, blocks, path)

    def named_by(*names: str) -> list[str]:
        return next((values for name in names if (values := meta_lines(tree["meta"], name))), [])

    first = next((place for place, (depth, _) in enumerate(blocks) if depth), None)
    if first is not None and (blocks[first][0] == 1 or title.casefold().startswith(blocks[first][1].casefold())):
        title = blocks.pop(first)[1]
    metadata = sections.keep_present(
        author=named_by("citation_author", "dc.creator", "author"),
        venue=named_by("citation_journal_title", "og:site_name")[:1],
        keyword=sections.keywords(named_by("citation_keywords", "keywords")),
    )
    title = "".join(named_by("citation_title", "dc.title", "og:title")[:1]) or title
    document = sections.to_document(title, blocks, metadata)
    yield 0, replace(document, id=sections.work_id({"doi": "".join(named_by("citation_doi")[:1])}))


def _main_text(html: str, blocks: list[sections.Block], path: Path) -> list[sections.Block]:
    """The blocks from the first to the last that trafilatura takes for main text, with the headings before them.

    What it leaves out between them is most often text. All blocks without it, where it fails, and where so little is
    left that it must be wrong: less than 250 characters and than half of the page.
    """
    text = ""
    if not find_spec("trafilatura"):
        _say_once()
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


def _size(blocks: Iterable[sections.Block]) -> int:
    return sum(len(text) for _, text in blocks)


@cache
def _say_once() -> None:
    hint('menus, teasers and comments in HTML may be read as text; pip install "tagwright[html]" to tell them apart')

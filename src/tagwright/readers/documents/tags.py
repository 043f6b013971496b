"""Read the markup of HTML in the fields of tables and records: as the words that a reader sees."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from html import unescape

from tagwright.readers.documents import sections
from tagwright.readers.documents.markup import HTML, LINE, MARKS, to_text, without_dollars
from tagwright.types import Document, Label

FORMATTING = frozenset("b bold br em i inf italic sc scp small strong sub sup u".split())  # noqa: SIM905
"Elements that are markup in any text where they begin and end."
_TAG = re.compile(
    r"<(?P<end>/?)(?:(?P<prefix>ce|jats|mml|m|o|st1|w|xhtml):)?(?P<name>[a-z][a-z0-9-]*)"
    r"(?:(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)|\s+hidden)*\s*/?)>",
    re.IGNORECASE,
)
UNSEEN = re.compile(r"<!--.*?-->|<(annotation|del|rp|rt|script|style)\b[^<>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_ESCAPED = re.compile(r"&(?:#\d{2,6}|#x[\da-f]{2,6}|[a-z]{2,8}\d?);", re.IGNORECASE)
_ABSTRACT = re.compile(
    rf"\A\s*<(?P<name>(?:jats:)?(?:title|p|b|strong|h\d))>\s*(?:{'|'.join(sections.ABSTRACTS)})[ .:]*</(?P=name)>",
    re.IGNORECASE,
)
"The heading that publishers put into an abstract."


def plain_text(html: str) -> str:
    r"""The running text of a piece of HTML, one line for each paragraph, heading or item. Unknown elements are text.

    >>> plain_text("<p>Warm &amp; <b>yellow</b></p><ul><li>Wool<li>Size <unknown></ul>")
    'Warm & yellow\nWool\nSize <unknown>'
    """
    return "\n".join(filter(None, map(to_text, re.split(rf"\n|{LINE}\s*{LINE}", unescape(mark_tags(html))))))


def mark_tags(html: str) -> str:
    """The text with the marks of `markup` for tags, and with line ends for those of blocks."""
    return _TAG.sub(_mark, UNSEEN.sub("", html).replace("\n", " "))


def _mark(tag: re.Match[str]) -> str:
    """What `to_text` takes for a tag: a line end for that of a block, the text of an unknown one."""
    if not (name := _element_name(tag)):
        return tag[0]
    effect = HTML.get(name, "inline")
    return "\n" if effect == "block" else MARKS.get(effect, ("", ""))[bool(tag["end"])]


def _element_name(tag: re.Match[str]) -> str:
    """The name of an element of HTML, or of what is used beside it; "" for any other."""
    name = tag["name"].lower()
    return name if name in HTML or tag["prefix"] else ""


def without_tags(text: str, names: Collection[str] = HTML) -> str:
    """The text without HTML, if one of these elements begins and ends in it, or a line of it is broken.

    >>> without_tags("CO<sub>2</sub>, a < b"), without_tags("a <b and c> d"), without_tags("Use <b> or <br> in HTML")
    ('CO2, a < b', 'a <b and c> d', 'Use <b> or <br> in HTML')
    """
    if re.search(r"[$&\\]", text):
        text = _ESCAPED.sub(lambda found: unescape(found[0]), without_dollars(text))  # also tags that are escaped
    if "<" not in text or ">" not in text:
        return text
    tags = [(tag, _element_name(tag)) for tag in _TAG.finditer(text)]
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

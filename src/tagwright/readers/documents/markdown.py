"""Render Markdown as text: without comments, addresses of links and the signs of emphasis."""

import re
from html import unescape

from tagwright.readers.documents.html import TAG, element_name
from tagwright.readers.documents.markup import HTML, IN_DOLLARS, MARKS, read_formula, to_text

_CODE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?P<span>[^`\n]+)(?P=ticks)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)([^\]\n]+)\]:[ \t]*\S*[./#:]\S*[^\n]*(?:\n|\Z)", re.MULTILINE)
_ADDRESS = r"\([ \t]*(?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*\)"
_LINK = re.compile(rf"!?\[(?!\^)([^\[\]]{{0,1000}})\](?:{_ADDRESS}|\[([^\[\]\n]{{0,200}})\])")
_EMPHASIS = re.compile(
    r"(?<![\\\d])(\*{1,3})(?=[^\s*])([^*\n]{1,1000}(?:\n[^*\n]{1,1000})?)(?<=\S)\1(?!\d)"
    r"|(?<![\w\\])(_{1,3})(?=[^\s_])([^_\n]{1,1000})(?<=\S)\3(?!\w)|~~(?=\S)([^~\n]{1,1000})~~"
)
_SEEN = (
    (re.compile(r"\[\^[^\]\s]{1,100}\](?!:)"), ""),  # the mark of a footnote
    (re.compile(r"^\[\^[^\]\s]{1,100}\]:[ \t]*", re.MULTILINE), ""),
    (re.compile(r"<((?:https?://|mailto:)[^\s<>]+)>"), r"\1"),
    (re.compile(r"[ \t]*\{(?:[#.][\w-]+|\w+=[\w.%\"-]+)(?:[ \t]+(?:[#.][\w-]+|\w+=[\w.%\"-]+))*\}"), ""),
    (re.compile(r"(?<=\w)~([\w+-]{1,5})~"), r"\1"),
    (re.compile(r"\^([\w,+-]{1,5})\^"), r"\1".join(MARKS["raised"])),
    (re.compile(r"\\$", re.MULTILINE), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)


def render_visible(text: str) -> str:
    """The text of Markdown as it is shown, in its lines; code stays as it is.

    >>> render_visible("See [the *guide*](https://example.org/x), CO<sub>2</sub> and or**ch**ard[^1]. <!-- No. -->")
    'See the guide, CO2 and orchard. '
    """
    code = list[str]()

    def put_aside(found: re.Match[str]) -> str:
        code.append(found["span"] or found[0])
        return f"\x0e{len(code) - 1}\x0f"

    text = _CODE.sub(put_aside, text)
    for begin, close in (("<!--", "-->"), (r"<script\b[^<>]*>", "</script>"), (r"<style\b[^<>]*>", "</style>")):
        end = text.rfind(close) + len(close)  # what never ends is text
        text = re.sub(rf"{begin}.*?{close}", "", text[:end], flags=re.DOTALL) + text[end:]
    known = {match[1].casefold() for match in _DEFINITION.finditer(text)}
    text = _DEFINITION.sub("", text)

    def linked(found: re.Match[str]) -> str:
        is_link = found[2] is None or (found[2] or found[1]).casefold() in known
        return found[1] if is_link else found[0]

    text = IN_DOLLARS.sub(read_formula, text)
    for _ in range(2):  # an image in a link, emphasis in emphasis
        text = _EMPHASIS.sub(lambda found: found[2] or found[4] or found[5], _LINK.sub(linked, text))
    for pattern, shown in _SEEN:
        text = pattern.sub(shown, text)
    lines = TAG.sub(_without_tag, text).split("\n")
    text = unescape("\n".join(map(_line, lines)))
    return re.sub("\x0e(\\d+)\x0f", lambda found: code[int(found[1])], text)


def _without_tag(tag: re.Match[str]) -> str:
    if not (name := element_name(tag)):
        return tag[0]
    begin, end = MARKS.get(HTML[name], ("", ""))
    return " " if HTML[name] == "block" else end if tag["end"] else begin


def _line(line: str) -> str:
    """The line with the marks resolved; it keeps its indent."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + to_text(line) if any(mark in line for mark in "\x02\x05\x0b") else line

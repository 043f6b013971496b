"""The effect of each element of HTML, JATS and TEI on the words around it, in one table.

An element is inline unless it is listed here: what it holds belongs to the words around it. The readers of marked-up
text put the marks below into their text, and `to_text` makes words of it.
"""

import re
from collections.abc import Iterable, Mapping
from html.entities import html5
from typing import Literal, TypeAlias
from xml.etree.ElementTree import Element  # of trees built by tagwright.readers.documents.xml

from tagwright.text.words import clean, is_hyphenated

Effect: TypeAlias = Literal["inline", "block", "aside", "line", "join", "gap", "raised", "cited", "choice", "dropped"]
"""block: begins and ends a paragraph; aside: a paragraph of its own, behind the one that it interrupts; line: a line
ends, and a hyphen there joins its word; join: a line ends inside a word; gap: a space; raised: a superscript; cited: a
mark that refers to a work or a note; choice: several readings, of which one is read; dropped: no text."""

LINE, JOIN = "\x0b", "\x04"
MARKS: Mapping[Effect, tuple[str, str]] = {
    "line": (LINE, ""), "join": (JOIN, ""), "gap": (" ", " "), "raised": ("\x02", "\x03"), "cited": ("\x05", "\x06"),
}  # fmt: skip
"What stands before and behind the text of an element. No text holds these characters: `clean` removes them."
_CITED = "\x01"


def _make_table(**names: str) -> dict[str, Effect]:
    return {name: effect for effect, listed in names.items() for name in listed.split()}  # type: ignore[misc]


HTML = _make_table(
    inline="a abbr acronym b bdi bdo big cite code data dfn em font i img inf ins kbd label mark nobr q rb ruby s samp "
    "small span strike strong sub time tt u var wbr sc scp "
    "italic bold roman monospace underline overline named-content styled-content inline-formula xref ext-link "
    "math maction menclose merror mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace "
    "msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover semantics none mprescripts",
    block="address article aside blockquote body button caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend li link main "
    "menu meta nav noscript object ol optgroup option p pre search section select summary svg table tbody template "
    "textarea tfoot thead title tr ul video audio canvas sec list list-item disp-formula",
    line="br",
    gap="td th",
    raised="sup",
    dropped="annotation annotation-xml del rp rt script style tex-math",
)
"Elements of HTML and of the markup in the fields of databases; others are blocks if there is a hyphen in their names."

_JATS = _make_table(
    block="app attrib boxed-text caption code contrib-group def def-item disp-formula disp-quote list list-item p "
    "preformat sec speech statement supplementary-material term title verse-group",
    aside="fig fn table-wrap",
    line="br break verse-line",
    gap="given-names surname td th tr",
    raised="sup",
    choice="alternatives",
    dropped="alt-text annotation annotation-xml del graphic index-term inline-graphic label long-desc object-id "
    "permissions ref-list rp rt table tex-math",
)
_TEI = _make_table(
    block="ab addrLine address argument body byline castItem castList closer dateline div docAuthor docDate docImprint "
    "docTitle entry epigraph figDesc floatingText head item lg list opener p postscript row salute signed sp speaker "
    "table text titlePage titlePart trailer u",
    aside="figure note",
    line="cb gb l lb milestone pb",
    gap="cell forename s stage surname w",
    choice="choice app",
    dropped="del formula fw graphic index listBibl surplus table",
)
_MODIFIED = frozenset("mol min sin cos tan log exp chi".split())  # noqa: SIM905
"Words of three letters whose powers are numbers."
_PIECE = r"(?:[^$\n\\]|\\(?:math|text)\w{1,10})"
_IN_DOLLARS = re.compile(
    rf"\$(?=[^$\s])({_PIECE}{{0,40}}?[_^](?:\{{[^{{}}$\\]{{1,20}}\}}|[\d+−-]|[A-Za-z](?![A-Za-z])){_PIECE}{{0,40}})"
    rf"(?<=\S)\$(?!\d)|\\\(({_PIECE}{{1,40}})\\\)"
)
"A short formula of TeX: between dollars one with a subscript or superscript."
_INNER = rf"{_CITED}(?:[\s,;–—-]*{_CITED})*"


def of_jats(element: Element) -> Effect:
    """The effect of an element of JATS, or in a field of PubMed; the number of a reference may be inside of `sup`."""
    if element.tag == "xref":
        kind = element.get("ref-type", "")
        if kind in {"fn", "table-fn", "aff", "corresp"}:
            return "dropped"
        return "cited" if kind == "bibr" or element.find("sup") is not None else "inline"
    return _JATS.get(element.tag, "inline")


def of_tei(element: Element) -> Effect:
    """The effect of an element of TEI. `break="no"` says that a line, column or page ends inside a word."""
    if element.tag == "ref":
        return "cited" if element.get("type") in {"bibr", "foot", "note", "noteAnchor"} else "inline"
    if element.tag == "hi":
        return "raised" if "sup" in element.get("rend", element.get("rendition", "")) else "inline"
    if element.tag == "label":  # of a figure; those of lists are words
        return "gap" if _is_word("".join(element.itertext())) else "dropped"
    if element.tag == "w" and (element.get("part", "N") != "N" or element.get("join")):
        return "inline"
    effect = _TEI.get(element.tag, "inline")
    return "join" if effect == "line" and element.get("break") == "no" else effect


def choose_reading(readings: Element) -> Element:
    """The one of several readings that is read: a corrected, regularised, expanded one, or else the first."""
    rank = {name: place for place, name in enumerate("corr reg expan ex lem textual-form math".split())}  # noqa: SIM905
    texts = [reading for reading in readings if "graphic" not in reading.tag]
    return min(texts, key=lambda each: rank.get(each.tag, len(rank)), default=Element("nothing"))


def to_text(marked: str, *, is_paper: bool = False) -> str:
    r"""One line of clean text from text with marks.

    A raised list of numbers behind a word of three letters or more is a mark of a note: it goes in papers and stands
    apart elsewhere. Other superscripts belong to the word, behind a number with ^.

    >>> to_text("bees\x05[1]\x06, m\x022\x03, Ca\x022+\x03, 10\x025\x03, far\x021,2\x03, or\x04chard, hon-\x0bey")
    'bees, m2, Ca2+, 10^5, far 1,2, orchard, honey'
    """
    text = _IN_DOLLARS.sub(lambda found: read_math(found[1] or found[2]), marked)
    if any(mark in text for mark in "\x02\x04\x05\x0b"):
        text = re.sub(r"[^\S\x0b]+", " ", text)
        text = re.sub("\x05([^\x05\x06]*)\x06", lambda match: match[1] if _is_word(match[1]) else _CITED, text)
        raised = r"([^\W_]{0,40})\x02([^\x02\x03]*)\x03(?=(\w?))"
        text = re.sub(raised, lambda match: _raise_letters(match[1], match[2].strip(), match[3], is_paper), text)
        cited = rf" ?(?:\[ ?{_INNER} ?\]|\( ?{_INNER} ?\)|{_INNER})(?=([^ .,;:!?)\]\x04\x0b]?))"
        text = re.sub(cited, lambda match: match[1] and " ", text)
        text = re.sub("[\x01-\x03\x05\x06]", "", text)
        text = join_lines(re.split(r"[ \x0b]*\x04[ \x0b\x04]*", text), between="")
        text = join_lines(line for each in re.split(r" ?\x0b", text) if (line := each.strip()))
    return " ".join(clean(text).split())


def join_lines(texts: Iterable[str], between: str = " ") -> str:
    """Join lines; a word hyphenated at the end of a line becomes whole again, unless a capital or "and" follows.

    >>> join_lines(["Honey is no hon-", "ey of the Bee-", "Gees. Vor-", "und Nachteile"])
    'Honey is no honey of the Bee- Gees. Vor- und Nachteile'
    """
    parts = list[str]()
    for text in texts:
        if parts and is_hyphenated(re.sub("[¬⸗]$", "-", parts[-1]), text):
            parts[-1] = parts[-1][:-1]
        else:
            parts.append(between)
        parts.append(text)
    return "".join(parts).strip()


def without_citations(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without the numbers of references at these places.

    >>> without_citations("On bees1,2 and wasps [3].", [(7, 8), (9, 10), (21, 24)])
    'On bees and wasps.'
    """
    parts, place = list[str](), 0
    for start, end in sorted(spans):
        if place <= start < end <= len(text) and not _is_word(text[start:end]):
            parts += [text[place:start], *MARKS["cited"]]
            place = end
    return to_text("".join([*parts, text[place:]])) if place else text


def read_math(tex: str) -> str:
    r"""The text of a formula: letters by their names as HTML has them, no other macros.

    Subscripts, and superscripts of what is before the formula or of charges, belong to their words.

    >>> read_math(r"\beta_1 \le \frac{1}{2}\label{x}"), read_math(r"\mathrm{CO_2}"), read_math("E=mc^2")
    ('β1 ≤ 1/2', 'CO2', 'E=mc^2')
    """
    tex = re.sub(r"\\(?:label|tag|begin|end)\*?\{[^{}]*\}|\\[^A-Za-z%#$_{}]|[&~]", " ", tex.replace("}{", "}/{"))
    tex = re.sub(r"\\([A-Za-z]+)", lambda name: html5.get(f"{name[1]};", ""), tex)
    begin, end = MARKS["raised"]
    plain = re.sub(r"[{}\\_]", "", tex).strip()
    return re.sub(r"(?<![^ ])\^(\S+)|\^(\d*[+−-])(?!\w)", rf"{begin}\1\2{end}", plain)


def without_dollars(text: str) -> str:
    r"""The text with short formulas (`_IN_DOLLARS`) as they are read.

    >>> without_dollars(r"CO$_2$, 10$^5$,  $\mathrm{H_2O}$" "\n$5_000 and $my_name$")
    'CO2, 10^5, H2O\n$5_000 and $my_name$'
    """
    return "\n".join(to_text(line) if _IN_DOLLARS.search(line) else line for line in text.split("\n"))


def _raise_letters(word: str, text: str, following: str, is_paper: bool) -> str:
    if _CITED in text and not _is_word(text):
        return word + _CITED
    is_mark = re.fullmatch(r"\d[\d\s,;–—-]*" + ("|[a-z](?:,[a-z])*" if len(word) > 3 else ""), text)
    letters = re.search(r"[^\W\d_]{3,}$", word)
    if is_mark and letters and word not in _MODIFIED and not (len(word) == 3 and word.istitle()):
        return word + (_CITED if is_paper else f" {text}{following and ' '}")
    return word + ("^" if word[-1:].isdigit() and re.fullmatch(r"[+−-]?\d+", text) else "") + text


def _is_word(text: str) -> bool:
    """Whether it is more than a number, a letter or signs, as the names of authors are, but not `[note 1]`."""
    return re.search(r"[^\W\d_]{2,}", re.sub(r"\b(?:note|nb|lower-alpha|fn) (?=\w{1,3}\b)", "", text)) is not None

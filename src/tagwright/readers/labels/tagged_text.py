"""Read a thesaurus as tagged text: ISO 25964 and Z39.19 say what the tags mean; TemaTres, MultiTes and ERIC write it.

A term stands above its tags: `UF` other names, `BT` and `NT` what is broader and narrower, `RT` related, `SN` what
it is about; or `USE` the term that is preferred to it.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tagwright.core.display import list_first, plural
from tagwright.core.progress import note
from tagwright.readers.account import say_unused
from tagwright.types import Label

_TAGS: Mapping[str, str] = {
    **dict.fromkeys(("UF", "UP", "EP", "BF"), "names"),
    **dict.fromkeys(("USE", "EM", "BS"), "use"),
    **dict.fromkeys(("BT", "BTG", "BTP", "BTI", "TG", "OB"), "broader"),
    **dict.fromkeys(("NT", "NTG", "NTP", "NTI", "TE", "TS", "UB"), "narrower"),
    **dict.fromkeys(("RT", "TR", "TA", "VB"), "related"),
    **dict.fromkeys(("SN", "DEF", "NA", "NE"), "description"),
    "used for": "names", "use": "use", "broader term": "broader", "narrower term": "narrower",
    "related term": "related", "scope note": "description",
}  # fmt: skip
"Tag -> what it tells of a term; in English, Spanish, French, Portuguese and German, or written out before a colon."

_LONGEST = sorted(_TAGS, key=len, reverse=True)
_SHORT, _WRITTEN_OUT = ("|".join(tag for tag in _LONGEST if tag.isupper() is short) for short in (True, False))
_TAGGED = re.compile(rf"({_SHORT}|(?i:{_WRITTEN_OUT})s?(?=\s*:))(\d*)(?:\s*[:=]\s*|\s+)(\S.*)")
_OTHER = re.compile(r"([A-Z][A-Z+]{1,6}\d*)\s*:\s")
_log = logging.getLogger(__name__)

Line = tuple[int, int, str]
"Number, indent and text of a line."


def is_tagged(lines: Sequence[Line]) -> bool:
    """Whether the lines are terms with tags: a third or more are tagged, or two kinds of tags are and name other terms.

    >>> is_tagged([(1, 0, "Bees"), (2, 2, "BT Insects")]), is_tagged([(1, 0, "BT Group"), (2, 0, "Banks")])
    (True, False)
    """
    tagged = [(indent, match) for _, indent, text in lines if (match := _TAGGED.fullmatch(text))]
    if not tagged or _TAGGED.fullmatch(lines[0][2]):
        return False
    kinds, terms = {match[1] for _, match in tagged}, {text.casefold() for _, _, text in lines}
    refers = any(match[3].casefold() in terms for _, match in tagged)
    is_below = all(indent > lines[0][1] for indent, _ in tagged)
    return (len(kinds) > 1 and refers) or (3 * len(tagged) >= len(lines) and (is_below or refers))


def read_tagged(lines: Sequence[Line], path: Path) -> Iterator[tuple[int, Label]]:
    """The preferred terms as labels, each with its line. The name of a label is its id.

    What the file says of terms that it lacks, and tags that are not used, are counted in lines of log.
    """
    entries, starts = _entries(lines, path)
    folded = {term.casefold(): term for term in entries}
    preferred = {term: uses[0] for term, entry in entries.items() if len(uses := entry["use"]) == 1}
    left_out = [term for term, entry in entries.items() if len(entry["use"]) > 1]
    others, broader = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    meant = {key: folded.get(preferred.get(term, term).casefold()) for key, term in folded.items()}
    labels = {key: term for key, term in meant.items() if term and not entries[term]["use"]}
    mentioned = list[str]()

    def known(terms: Sequence[str]) -> list[str]:
        """These terms, or those preferred to them, as far as they are labels of the file."""
        mentioned.extend(terms)
        return [labels[each.casefold()] for each in terms if each.casefold() in labels]

    for term, entry in entries.items():
        for use in known(entry["use"]) if term in preferred else ():
            others[use].append(term)
        broader[term] += known(entry["broader"])
        for narrower in known(entry["narrower"]):
            broader[narrower].append(term)
    for term, entry in entries.items():
        if not entry["use"]:
            names = tuple(dict.fromkeys([term, *entry["names"], *others[term]]))
            above, related = ([*dict.fromkeys(each)] for each in (broader[term], known(entry["related"])))
            yield starts[term], Label(term, names, " ".join(entry["description"]), tuple(above), related=tuple(related))
    note(f"{path}: read as a thesaurus in tagged text (UF, BT, NT, RT, SN, USE)")
    if missing := [each for each in mentioned if each.casefold() not in labels]:
        problem, named = "%s: %d of %d references are to no term of the file: %s", list_first([*dict.fromkeys(missing)])
        _log.warning(problem, path, len(missing), len(mentioned), named)
    if left_out:
        _log.warning(
            "%s: %s that stand for several, left out: %s", path, plural(len(left_out), "term"), list_first(left_out)
        )


def _entries(lines: Sequence[Line], path: Path) -> tuple[dict[str, dict[str, list[str]]], dict[str, int]]:
    """Term -> what is said of it, and the line of each term. Lines below a tag that are indented continue it."""
    entries, starts, unused = dict[str, dict[str, list[str]]](), dict[str, int](), Counter[str]()
    least = min(indent for _, indent, text in lines if _TAGGED.fullmatch(text))
    term, role, below, beside = "", "", 0, 0
    for line, indent, text in lines:
        if (tagged := _TAGGED.fullmatch(text)) and term:
            is_near = tagged[2] in ("", "1")  # NT2 is below NT1, which says so itself
            tag = tagged[1] if tagged[1] in _TAGS else tagged[1].lower().removesuffix("s")
            role, beside = _TAGS[tag] if is_near else "", indent
            values = [value.strip() for value in re.split(r"\s*[;+]\s+", tagged[3])] if role == "use" else [tagged[3]]
            if is_near:
                entries[term][role] += values
        elif term and indent >= least and (other := _OTHER.match(text)):
            unused[other[1]] += 1
            role = ""
        elif term and below < indent >= beside:
            if role:
                entries[term][role].append(text)
        else:
            term, role, below, beside = text, "", indent, least
            starts.setdefault(term, line)
            entries.setdefault(term, {each: [] for each in _TAGS.values()})
    say_unused(path, unused)
    return entries, starts

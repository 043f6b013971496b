"""Read labels from plain text: one name a line, paths as in Google's product taxonomy, or an indented outline."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tagwright.core.display import list_first, plural
from tagwright.data.vocabulary import ARROW
from tagwright.errors import InputError
from tagwright.readers.account import say
from tagwright.readers.documents.records import POSITION
from tagwright.readers.documents.text_lines import PART
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import open_lines
from tagwright.text.words import clean
from tagwright.types import Label

_log = logging.getLogger(__name__)

_NUMBERED = re.compile(r"(\d+) - (?=\S)")

_Line: TypeAlias = tuple[int, int, str]
"Number, indent and text of a line."


def read_names(path: Path, reading: Reading = PLAIN) -> Iterator[tuple[int, Label]]:
    """Each line as a label, with the line. Comments (`# ...`) on top and blank lines are skipped; repeated ones too.

    The id is the line itself, or the number before it where all lines have one (`1 - Animals`). A line that is a path
    (`Animals > Birds`), and one that is indented below another, gets the last name and lies below its parent; its id is
    the whole path. The description of a label is the path above it. Raises InputError as `open_lines` does, for running
    text, and for other formats.
    """
    lines = list(_lines(path, reading))
    _refuse_other_formats(lines, path)
    terms = _terms(lines, path)
    if _is_running_text([names[-1] for _, _, names in terms]):
        raise InputError("looks like running text, expected labels: a name or a path a line", path)
    ids = {names: number or ARROW.join(names) for _, number, names in terms}
    spell = _spelling([names[-1] for _, _, names in terms], path)
    seen, repeated = set[tuple[str, ...]](), list[str]()
    for line, _, names in terms:
        if names in seen:
            repeated.append(str(line))
        else:
            seen.add(names)
            above = names[:-1]
            broader = (ids[above],) if above in ids else ()
            yield line, Label(ids[names], (spell(names[-1]),), ARROW.join(above), broader)
    if repeated:
        _log.warning(
            "%s: %s left out, which are repeated: %s", path, plural(len(repeated), "line"), list_first(repeated)
        )


_OF_POSITIONS, _OF_DOCUMENTS = (
    r"output-items\.txt(?:\.gz)?",
    rf"{PART}labels\.txt(?:\.gz)?",
)


def is_published(path: Path) -> bool:
    """Whether the name is that of a file of PECOS or AttentionXML, which `read_published` reads."""
    return bool(re.fullmatch(f"{_OF_POSITIONS}|{_OF_DOCUMENTS}", path.name))


def read_published(path: Path, reading: Reading = PLAIN) -> Iterator[tuple[int, Label]]:
    """PECOS's output-items.txt, with a name in each line, whose position (`#17`) is the id; or the labels of documents.

    AttentionXML's train_labels.txt has those of a document in each line, between spaces; the ids are as they stand.
    Raises InputError for a line without a name.
    """
    texts = ((line, clean(text).strip()) for line, text in open_lines(path, "take", reading))
    if re.fullmatch(_OF_DOCUMENTS, path.name):
        ids: dict[str, int] = {}
        for line, text in texts:
            ids.update((label, line) for label in text.split() if label not in ids)
        terms = [(line, label, label) for label, line in ids.items()]
    else:
        terms = [(line, f"{POSITION}{line - 1}", text) for line, text in texts]
    spell = _spelling([name for _, _, name in terms], path)
    for line, label, name in terms:
        if not name:
            raise InputError(f"is empty, expected the name of label {label}", path, line)
        yield line, Label(label, (spell(name),))


def _spelling(names: Sequence[str], path: Path) -> Callable[[str], str]:
    """How a name is written: with spaces for underscores, if some stand between words and no name has a space."""
    if any(" " in name for name in names) or not any(re.search(r"[^\W_]_[^\W_]", name) for name in names):
        return str
    say(f"{path}: underscores in names are read as spaces; ids keep them", warn=True)
    return lambda name: name.replace("_", " ").strip()


_OTHER_FORMATS: Mapping[str, str] = {
    r"<\?xml|<rdf:|<[A-Za-z]+[ >].*>$": "XML; if it is SKOS, end its name in .rdf or .xml",
    r"@(?:prefix|base) |(?:PREFIX|BASE) |<\w+:[^>]*> <\w+:[^>]*> ": "RDF; end its name in .ttl or .nt",
    r"[\[{]\s*(?:[{\"]|$)": "JSON; write a label in each line of a .jsonl file",
    r"format-version:|\[Term\]$|\*NEWRECORD": "OBO or MeSH in ASCII; convert it to SKOS",
    r"=(?:LDR|\d{3})  |\d{3}[A-Z@]? [ƒ$ǂ\x1f]": "MARC or PICA; convert it to SKOS",
    r"__label__\S|(?:\d[\d,.]* )?(?:\d+:[-\d.eE]+ ){2,}": "training data; write the names of labels, one a line",
    r"(?i:id|uri|code|notation|name|label)[,;](?=\S)": "a table; end its name in .csv",
}
"How the first line of another format begins -> what it is, and what to do."

_OTHER_LISTS: Mapping[str, str] = {
    r"\d{1,3}[.)] \S": "a list with numbers; write the names without them",
    r"[-*+] \S|#{1,6} \S": "a list in Markdown; indent the names, without signs before them",
    r"(?:UF|UP|EP|BF|USE|EM|BS|BT|TG|OB|NT|TE|TS|UB|RT|TR|TA|VB|SN|NA|NE)[A-Z]?\d*(?:\s*[:=]\s*|\s+)\S"
    r"|(?i:used for|use|(?:broader|narrower|related) terms?|scope note)\s*:": (
        "a thesaurus in tagged text (UF, BT, NT, RT, SN, USE); export it as SKOS"
    ),
}
"How half of the lines of other lists begin -> the same. The tags are English, Spanish, French, Portuguese and German."


def _refuse_other_formats(lines: Sequence[_Line], path: Path) -> None:
    """Raise InputError where the lines are of another format: names would be read from its syntax."""
    some = [f"{text} " for _, _, text in lines[:100]]
    found = [what for begin, what in _OTHER_FORMATS.items() if some and re.match(begin, some[0])]
    found += [
        what
        for begin, what in _OTHER_LISTS.items()
        if 2 * sum(bool(re.match(begin, text)) for text in some) >= len(some) > 0
    ]
    if found:
        raise InputError(f"looks like {found[0]}; expected labels: a name or a path a line", path, lines[0][0])


def _is_running_text(names: Sequence[str]) -> bool:
    """Whether the lines are long, and in a third of them or more a sentence ends, as in a text of several lines."""
    end = r"(?<=\w\w\w)[.!?…][\"'”’»)]?(?:$| +\W?[A-ZÄÖÜÅÉ0-9])|[。！？]"
    sentences = sum(bool(re.search(end, name)) for name in names)
    return sum(map(len, names)) >= 48 * len(names) > 0 and 3 * sentences >= len(names)


def _terms(lines: Sequence[_Line], path: Path) -> list[tuple[int, str, tuple[str, ...]]]:
    """Line, number and path of each term; the number is empty where not all lines have one."""
    numbered = all(_NUMBERED.match(text) for _, _, text in lines)
    terms, above = list[tuple[int, str, tuple[str, ...]]](), list[tuple[int, str]]()
    for line, indent, text in lines:
        number = _NUMBERED.match(text) if numbered else None
        parts = text[number.end() if number else 0 :].split(ARROW)
        names = [name for part in parts if (name := re.sub(r"^[ >]+|(?:^| )[ >]+$", "", part).strip())]
        if not names:
            raise InputError(f'is "{text[:60]}", expected a name, or a path of names separated by ">"', path, line)
        while above and above[-1][0] >= indent:
            above.pop()
        outline = [name for _, name in above]
        above.append((indent, ARROW.join(names)))
        terms.append((line, number[1] if number else "", (*outline, *names)))
    return terms


def _lines(path: Path, reading: Reading) -> Iterator[_Line]:
    """Number, indent and text of each line that holds a label."""
    begun = False
    for line, raw in open_lines(path, reading=reading):
        text = clean(raw.expandtabs(4))
        if text.strip() and (begun or not text.startswith("# ")):
            begun = True
            yield line, len(text) - len(text.lstrip()), text.strip()

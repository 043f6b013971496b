"""How records name their subjects: ids and names in the labels of a document, and codes of vocabularies.

A code is told by the record, or by the form of an id.

What is of another vocabulary than a tagger's labels is context: it is shown, and never taken for one of the labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from tagwright.types import Document

LABEL_SOURCE = "label_source"
"The metadata with the code of the vocabulary of each label of a record, in their order; an unknown one is none."

CHOSEN_SOURCE = "label_source_chosen"
"The metadata with the code of the vocabulary that the user has named as that of the labels."


class Source(NamedTuple):
    """How records name a vocabulary. address: how its ids begin, after http://.

    agency: MARC's code of the library that numbers it, "" where records have addresses. indicator: the second one of
    650, 7 where $2 names the vocabulary.
    """

    address: str
    agency: str = ""
    indicator: str = "7"


SOURCES: Mapping[str, Source] = {
    "gnd": Source("d-nb.info/gnd/", "DE-588"),
    "fast": Source("id.worldcat.org/fast/", "OCoLC"),
    "lcsh": Source("id.loc.gov/authorities/subjects/", indicator="0"),
    "mesh": Source("id.nlm.nih.gov/mesh/", indicator="2"),
    "yso": Source("www.yso.fi/onto/yso/"),
    "kauno": Source("www.yso.fi/onto/kauno/"),
    "agrovoc": Source("aims.fao.org/aos/agrovoc/"),
    "eurovoc": Source("eurovoc.europa.eu/"),
    "stw": Source("zbw.eu/stw/descriptor/"),
    "aat": Source("vocab.getty.edu/aat/"),
}
"MARC's code of a vocabulary -> how its subjects are written."


def source_code(text: str) -> str:
    """The code of a vocabulary as records give it, without case and the punctuation at its end; of an address its own.

    >>> source_code("GND"), source_code("lcsh."), source_code("http://www.yso.fi/onto/yso/")
    ('gnd', 'lcsh', 'yso')
    """
    if is_address(text):
        return source_of(f"{text.rstrip('/#')}/")
    return text.strip().lower().rstrip(" .,;:/")


def main_code(code: str) -> str:
    """The code without the language of the names, and the present one of a vocabulary that had another.

    >>> main_code("yso/fin"), main_code("swd")
    ('yso', 'gnd')
    """
    main = code.partition("/")[0] if not re.match(r"[\w-]+\.", code) else code
    return {"swd": "gnd"}.get(main, main)


def is_address(label_id: str) -> bool:
    """Whether an id is a web address."""
    return re.match(r"https?://\S+$", label_id) is not None


def source_of(label_id: str) -> str:
    """The code of the vocabulary that the form of an id tells, or of other addresses their beginning; else "".

    >>> source_of("(DE-588)4006216-6"), source_of("http://id.loc.gov/authorities/subjects/sh85012680")
    ('gnd', 'lcsh')
    >>> source_of("http://viaf.org/viaf/7"), source_of("(DE-627)17"), source_of("17")
    ('viaf.org/viaf/', '', '')
    """
    if known := _OF_SOURCES.match(label_id):
        return known.lastgroup or ""
    address = re.match(r"https?://(\S*[/#])", label_id)
    return address[1].lower() if address else ""


_OF_SOURCES = re.compile(
    "|".join(
        rf"(?P<{code}>https?://{re.escape(source.address)}|{code}[:/](?!/)|\({source.agency or code}\))"
        for code, source in SOURCES.items()
    )
)
"How ids of the vocabularies begin."


def number_in(label_id: str, code: str) -> str:
    """The number of an id of this vocabulary, an address, `gnd:4006216-6`, or itself; "" for another form."""
    begin = rf"(?:https?://(?:{re.escape(SOURCES[code].address)})|{code}[:/])?"
    return match[1] if (match := re.fullmatch(rf"{begin}([^\s/:()]+)", label_id)) else ""


def recognise_source(ids: Iterable[str]) -> tuple[str, str]:
    """MARC's code of the vocabulary that most of the first ids are of, and how these begin; blank if it is not known.

    >>> recognise_source(["http://d-nb.info/gnd/4006216-6", "gnd:4058047-7"]), recognise_source(["4006216-6"])
    (('gnd', 'd-nb.info/gnd/'), ('', ''))
    """
    some = list(islice(ids, 1000))
    counts = Counter(code for label_id in some for code in SOURCES if number_in(label_id, code) not in ("", label_id))
    ((code, count),) = counts.most_common(1) or [("", 0)]
    return (code, SOURCES[code].address) if 2 * count > len(some) else ("", "")


def names_of_source(ids: Iterable[str]) -> frozenset[str]:
    """The codes by which records may name the vocabulary of these ids: as recognised, or else the parts of its address.

    >>> sorted(names_of_source(["http://example.org/zoo/1", "http://example.org/zoo/2"])), names_of_source(["1"])
    (['example.org/zoo/', 'zoo'], frozenset())
    """
    some = list(islice(ids, 1000))
    if code := recognise_source(some)[0]:
        return frozenset({code})
    ((address, count),) = Counter(map(source_of, some)).most_common(1) or [("", 0)]
    if not address or 2 * count <= len(some):
        return frozenset()
    return frozenset({address, *re.findall(r"\w[\w-]*", address.partition("/")[2])})


def with_sources(document: Document) -> Iterator[tuple[str, str, str]]:
    """Each label of a document, the code of its vocabulary, and that which the user has named; "" for none."""
    sources, chosen = document.metadata.get(LABEL_SOURCE, ()), "".join(document.metadata.get(CHOSEN_SOURCE, ())[:1])
    told = sources if len(sources) == len(document.labels) else [""] * len(document.labels)
    return ((label, "" if code == "none" else code, chosen) for label, code in zip(document.labels, told, strict=True))


def relabel_document(document: Document, labels: Iterable[str]) -> Document:
    """The document with other labels, without what its metadata say of the vocabularies of those that it had."""
    kept = {field: values for field, values in document.metadata.items() if field not in (LABEL_SOURCE, CHOSEN_SOURCE)}
    return replace(document, labels=tuple(labels), metadata=kept)


def write_reference(ids: Iterable[str], name: str) -> str:
    """One text of ids and a name, for the labels of a document. Ids that hold blanks or angle brackets are left out.

    A record may give an id of another form than the vocabulary has, or none that it knows. The vocabulary then finds
    the label by the last part of the id, or by the name.

    >>> write_reference(["(DE-588)4006216-6"], "Bees"), write_reference([], "Bees")
    ('<(DE-588)4006216-6> Bees', 'Bees')
    """
    brackets = (f"<{id_}>" for id_ in dict.fromkeys(ids) if id_ and not re.search(r"[<>\s]", id_))
    return " ".join([*brackets, *([name] if name else [])])


def read_reference(text: str) -> tuple[list[str], str]:
    """The ids between angle brackets, in the order in which they are tried, and the name after them; it may be blank.

    >>> read_reference("<(DE-588)4006216-6> Bees")
    (['(DE-588)4006216-6'], 'Bees')
    >>> read_reference("Bees")
    ([], 'Bees')
    """
    if match := re.fullmatch(r"((?:<[^<>\s]+>\s*)+)(.*)", text, re.DOTALL):
        return re.findall(r"<([^<>\s]+)>", match[1]), match[2].strip()
    return [], text


def last_part(label_id: str) -> str:
    """The part of an id after its address or the code of its agency.

    It is "" below five characters, which do not stand for the id: shorter numbers occur in every vocabulary.

    >>> last_part("https://d-nb.info/gnd/4006216-6"), last_part("(DE-588)4006216-6"), last_part("gnd:4006216-6")
    ('4006216-6', '4006216-6', '4006216-6')
    >>> last_part("(OCoLC)fst00829875"), last_part("(DE-627)17")
    ('829875', '')
    """
    part = re.sub(r"^fst0*(?=\d+$)", "", re.split(r"[/#:)]", label_id)[-1])  # records so write numbers of FAST
    return part if len(part) >= 5 else ""


def bare_id(label_id: str) -> str:
    """An id without the angle brackets that Annif's files put around a URI."""
    return label_id[1:-1] if label_id.startswith("<") and label_id.endswith(">") else label_id

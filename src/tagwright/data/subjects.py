"""Which vocabulary a subject is of: by the code that a record gives for it, and by the form of its id.

What is of another vocabulary than a tagger's labels is context: it is shown, and never taken for one of the labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

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

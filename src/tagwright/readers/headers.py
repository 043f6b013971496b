"""The words by which a column of a table, or the key of a record, is known: of documents and of vocabularies.

Files and tables in memory share them. They are compared without case, accents, punctuation and spaces. The words of a
part are in order: the first that is there is taken.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from tagwright.text.words import clean

Words: TypeAlias = Mapping[str, tuple[str, ...]]
"Part of a document or of a label -> the usual names of its column, the best first."

DOCUMENT: Words = {
    "title": (
        "title", "name", "headline", "product name", "product title", "item name", "document title", "245a", "titel",
        "sachtitel", "hauptsachtitel", "main title", "article title", "nimeke", "otsikko", "huvudtitel", "titre",
        "titre propre", "publication title",
    ),
    "text": (
        "text", "body", "body html", "content", "full text", "long description", "about product", "volltext", "teksti",
        "koko teksti", "texte", "texte intégral",
    ),
    "abstract": (
        "abstract", "abstract note", "description abstract", "520a", "summary etc", "zusammenfassung", "summary",
        "description", "product description", "item description", "short description", "kurzfassung", "beschreibung",
        "tiivistelmä", "kuvaus", "sammanfattning", "beskrivning", "résumé",
    ),
    "labels": (
        "labels", "label", "label ids", "subjects", "subject", "subject headings", "subject heading", "subject terms",
        "subject added entry topical term", "topical term or geographic name entry element", "650a", "689a",
        "schlagwort", "schlagwörter", "schlagworte", "manual tags",
    ),
    "id": (
        "id", "identifier", "doc id", "product id", "item id", "sku", "seller sku", "asin", "uniq id", "handle",
        "biblionumber", "mms id", "001", "key", "title id", "record id", "ppn", "kennung", "tunniste", "identifierare",
        "identifiant",
    ),
}  # fmt: skip

MORE_LABELS = (
    "schlagwoerter", "schlagwortfolge", "schlagwortkette", "deskriptoren", "asiasanat", "asiasana", "deskriptorit",
    "ämnesord", "deskriptorer", "sujets", "vedette", "vedettes", "vedettes matière", "mots matières", "descripteurs",
    "index terms", "descriptors", "mesh terms",
)  # fmt: skip
"Names of labels that count where none of DOCUMENT is there."

LIKE_LABELS = (
    "keywords", "author keywords", "subject keywords", "subject other", "653a", "stichwort", "stichwörter",
    "stichworte", "automatic tags", "tags", "avainsana", "avainsanat", "nyckelord", "mot clé", "mots clés", "tag",
    "category", "categories", "topic", "topics", "class", "classes", "genre", "genres", "kategorie", "kategorien",
    "kategoria", "kategoriat", "kategori", "kategorier", "catégorie", "catégories",
)  # fmt: skip
"""Names of columns that stay metadata, and that a message names where no document has a label: their terms come from
authors, sellers or other databases, not from whoever indexed the documents with a vocabulary."""

LABEL: Words = {
    "id": (
        "id", "uri", "identifier", "key", "code", "label id", "category id", "concept id", "concept uri", "iri",
        "term id", "topic id", "subject id", "class id", "tag id", "category code", "class code", "kennung", "koodi",
        "tunniste", "kod", "identifiant",
    ),
    "name": (
        "name", "label", "category", "title", "term", "tag", "topic", "class", "subject", "preflabel",
        "preferred label", "preferred name", "preferred term", "label name", "category name", "topic name",
        "class name", "display name", "heading", "descriptor", "caption", "bezeichnung", "benennung", "schlagwort",
        "deskriptor", "titel", "nimi", "termi", "asiasana", "luokka", "namn", "benämning", "ämnesord", "nom",
        "libellé", "intitulé", "terme", "vedette",
    ),
    "names": (
        "names", "synonyms", "other names", "aliases", "altlabels", "altlabel", "synonym", "alternative names",
        "alternative labels", "other labels", "used for", "variants", "synonyme", "synonymes", "synonyymit",
        "synonymer", "autres noms",
    ),
    "description": (
        "description", "definition", "scope note", "text", "about", "explanation", "beschreibung", "erläuterung",
        "kuvaus", "määritelmä", "selite", "beskrivning", "définition",
    ),
    "broader": (
        "broader", "parent", "parents", "parent id", "broader id", "parent code", "parent uri", "parent name",
        "parent label", "parent category", "parent notation", "broader term", "broader terms", "broader concept",
        "broader notation", "bt", "oberbegriff", "oberbegriffe", "übergeordnet", "yläkäsite", "yläkäsitteet",
        "överordnad", "överordnat begrepp", "terme générique",
    ),
    "notation": ("notation", "code", "class number", "koodi", "kod"),
    **{part: (part,) for part in ("translated", "types", "schemes", "collections", "replaces")},
    "related": ("related", "related terms", "related term", "rt"),
    "exact": ("exact", "exact match"),
    "close": ("close", "close match"),
    "replaced_by": ("replaced by", "is replaced by"),
}  # fmt: skip


def recognise_columns(columns: Iterable[str], words: Words) -> dict[str, str]:
    """Part -> its column, by the best of its words that is there; a column is of one part only.

    >>> recognise_columns(["Nimeke", "Tiivistelmä", "ISBN"], DOCUMENT), recognise_columns(["prefLabel", "code"], LABEL)
    ({'title': 'Nimeke', 'abstract': 'Tiivistelmä'}, {'id': 'code', 'name': 'prefLabel'})
    """
    free = {_key(column): column for column in reversed([*columns])}
    parts = dict[str, str]()
    for part, usual in words.items():
        if key := next((key for key in map(_key, usual) if key in free), ""):
            parts[part] = free.pop(key)
    return parts


def is_among_words(column: str, words: Sequence[str]) -> bool:
    """Whether the name of a column is one of these words."""
    return _key(column) in map(_key, words)


def of_web_of_science(columns: Collection[str]) -> dict[str, str]:
    """Column -> part, of the tags of an export of the Web of Science; empty unless TI and SO are columns.

    >>> of_web_of_science(["PT", "TI", "SO", "ID"]), of_web_of_science(["ID", "TI"])
    ({'TI': 'title', 'ID': 'keywords plus'}, {})
    """
    parts = {"ti": "title", "ab": "abstract", "ut": "id", "id": "keywords plus"}  # its ID is no id
    tags = {column: column.strip().casefold() for column in columns}
    if not {"ti", "so"} <= {*tags.values()}:
        return {}
    return {column: parts[tag] for column, tag in tags.items() if tag in parts}


def language_of(column: str, words: Words) -> tuple[str, str]:
    """The part of a column for one language, and the tag of the language; empty where it is none.

    >>> language_of("prefLabel@de", LABEL), language_of("label_en", LABEL), language_of("parent_id", LABEL)
    (('name', 'de'), ('name', 'en'), ('', ''))
    """
    tagged = r"(?P<name>.*\w)(?:_|@|:| ?\(|\[)(?P<tag>[a-z]{2,3}(?:[-_][a-z]{2,4})?)[)\]]?"
    match = re.fullmatch(tagged, column.strip().casefold())
    if not match or match["tag"] == "id":
        return "", ""
    part = next((part for part, usual in words.items() if is_among_words(match["name"], usual)), "")
    return (part, match["tag"].replace("_", "-")) if part in ("name", "names", "description") else ("", "")


@lru_cache(10_000)
def fold_column(column: str) -> str:
    """The name of a column without case, accents and punctuation.

    Of a path into XML the last part counts; what Dublin Core puts before or after a name does not.

    >>> fold_column("Body (HTML)"), fold_column("650 $a")
    ('body html', '650a')
    >>> fold_column("record - oai_dc:dc - dc:subject"), fold_column("dc.subject[en]")
    ('subject', 'subject')
    """
    name = clean(column).casefold().rpartition(" - ")[2].strip()
    name = re.sub(r"^(?:(?:dc|dcterms|skos)[:._ ]+|https?://purl\.org/dc/(?:terms|elements/1\.1)/)", "", name)
    name = re.sub(r"\[[\w-]*\]$", "", name)
    name = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    name = " ".join(re.sub(r"[\W_ǂ]+", " ", name).split())
    return re.sub(r"^(\d{3}) ([a-z])$", r"\1\2", name)


def _key(column: str) -> str:
    """Return the key to compare; nothing longer than 500 characters is a name, nor kept in memory."""
    return fold_column(column).replace(" ", "") if len(column) <= 500 else ""

"""Read a SKOS thesaurus in Turtle, RDF/XML or N-Triples. Needs rdflib (extra `skos`), never the network."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from xml.parsers import expat

from tagwright.core.checked import shown
from tagwright.core.extras import require
from tagwright.core.progress import unlogged
from tagwright.errors import InputError
from tagwright.readers.labels.languages import by_preference, choose_languages, main, searched
from tagwright.readers.lines import open_lines
from tagwright.text.words import clean
from tagwright.types import Label

if TYPE_CHECKING:
    from rdflib import Graph, URIRef

Format: TypeAlias = Literal["turtle", "rdfxml", "ntriples"]

_PARSERS = {"turtle": "turtle", "rdfxml": "xml", "ntriples": "nt"}
_CORE, _XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
_BASE = "file:///"
"The base of relative ids, so that they do not depend on where the file is."
GROWTH = 5
"How many times longer entities may make a file; namespaces make it twice as long."

_REFERENCE = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&([^\s&;<#]+);", re.DOTALL)
"A reference to an entity; there are none within comments and CDATA."
_log = logging.getLogger(__name__)


def read_labels(path: Path | str, language: str | None, file_format: Format, likely: str = "") -> list[Label]:
    """The concepts of a thesaurus, sorted by URI, which is their id.

    names: skos:prefLabel, then altLabel, then hiddenLabel, also of SKOS-XL; description: definition, else scopeNote;
    broader: broader, and narrower turned round. The preferred name is in the language (the first of several), else
    without a language tag, else in English, else in the first language by tag. The other texts are those in the
    language, in the language of the preferred name, and without a tag. languages: the names in all languages, where
    there are several. Concepts that are owl:deprecated are left out, and so are those without any label, which a logged
    warning counts.

    Raises InputError for a file that is not SKOS in this format, and without rdflib; ConfigError for a language that
    it lacks.
    """
    graph = _parse("\n".join(text for _, text in open_lines(path, "take")), path, file_format)
    concepts = _concepts(graph)
    if not concepts:
        raise InputError("holds no skos:Concept in use, expected a SKOS thesaurus", path)
    tags = Counter(text.language for concept in concepts for text in _texts(graph, concept, "prefLabel"))
    available = sorted(filter(None, tags), key=lambda tag: (-tags[tag], tag))
    languages = choose_languages(available, language, path, likely)
    several = len(set(map(main, available))) > 1
    labels = [label for concept in concepts if (label := _label(graph, concept, languages, several))]
    if len(labels) < len(concepts):
        left_out = len(concepts) - len(labels)
        _log.warning("%s: %d of %d concepts have no label and are left out", path, left_out, len(concepts))
    return labels


def _parse(text: str, path: Path | str, file_format: Format) -> Graph:
    require("reading SKOS", "rdflib", path=path)
    import rdflib

    if file_format == "rdfxml":
        text = _written_out(text, path)
    try:
        with unlogged("rdflib"):  # it warns, with tracebacks, about dates and URIs that are not read here
            return rdflib.Graph().parse(data=text, format=_PARSERS[file_format], publicID=_BASE)
    except Exception as error:  # for broken input the parsers raise IndexError, RecursionError and many more
        raise InputError(f"is not {file_format} ({_reason(error)})", path, _line(error)) from None


def _written_out(text: str, path: Path | str) -> str:
    """Expand the entities of an XML file. Anything else in a document type is refused.

    Many RDF/XML files abbreviate namespaces, as in `<!ENTITY skos "http://...">`. Short values without references are
    harmless; external entities are in other files, and nested ones grow without bound. rdflib handles entities slowly,
    so none is left to it.
    """
    values = _abbreviations(text, path)
    left = GROWTH * len(text)

    def value(match: re.Match[str]) -> str:
        nonlocal left
        found = values.get(match[1] or "")
        left -= len(found or "")
        if left < 0:
            raise InputError(f"grows more than {GROWTH} times by the XML entity {shown(match[1])}; write it out", path)
        return match[0] if found is None else found

    return _REFERENCE.sub(value, text) if values else text


def _abbreviations(text: str, path: Path | str) -> dict[str, str]:
    """The entities that the document type declares, escaped for any place in the text."""
    found: dict[str, str] = {}

    def document_type(_name: str, system: str | None, public: str | None, _internal: bool) -> None:
        if system or public:
            problem = f"refers to the document type {shown(system or public)}, which is never read; remove it"
            raise InputError(problem, path, parser.CurrentLineNumber)

    def entity(name: str, parameter: bool, value: str | None, *_: str | None) -> None:
        if parameter or value is None or len(value) > 200 or set(value) & set("&%<"):
            problem = f"declares the XML entity {shown(name)}; only short ones without references may be; write it out"
            raise InputError(problem, path, parser.CurrentLineNumber)
        found.setdefault(name, re.sub(r"[\"'>\s]", lambda match: f"&#{ord(match[0])};", value))

    def root(_name: str, _attributes: dict[str, str]) -> None:
        raise _RootReachedError

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler, parser.StartElementHandler = document_type, entity, root
    with contextlib.suppress(_RootReachedError):
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(f"is not XML ({expat.ErrorString(error.code)})", path, error.lineno) from None
    return found


class _RootReachedError(Exception):
    """Raised after the document type: only elements follow."""


def _reason(error: Exception) -> str:
    """A parser's message in one short line; rdflib's Turtle errors show the surrounding file."""
    text = error.getMessage() if hasattr(error, "getMessage") else str(error) or type(error).__name__
    complaint = re.search(r"Bad syntax \((.*?)\) at \^", text, re.DOTALL)
    text = " ".join((complaint[1] if complaint else text).split())
    return text if len(text) <= 100 else text[:99] + "…"


def _line(error: Exception) -> int | None:
    if hasattr(error, "getLineNumber"):
        return int(error.getLineNumber())
    return int(error.lines) + 1 if hasattr(error, "lines") else None


def _concepts(graph: Graph) -> list[URIRef]:
    from rdflib import OWL, RDF, URIRef

    deprecated = {node for node, value in graph.subject_objects(OWL.deprecated) if str(value).lower() in ("true", "1")}
    concepts = graph.subjects(RDF.type, URIRef(_CORE + "Concept"), unique=True)
    return sorted(node for node in concepts if isinstance(node, URIRef) and node not in deprecated)


def _label(graph: Graph, concept: URIRef, languages: Sequence[str], several: bool) -> Label | None:
    """The concept as a label; None when it has no name at all. several: keep the languages of names."""
    from rdflib import URIRef

    def texts(kind: str) -> list[_Text]:
        return sorted(_texts(graph, concept, kind), key=lambda text: (by_preference(text.language, languages), text))

    names = [*texts("prefLabel"), *texts("altLabel"), *texts("hiddenLabel")]
    if not names:
        return None
    notes = [*texts("definition"), *texts("scopeNote")]
    wanted = {"", *map(main, languages), main(names[0].language)}
    above = {*graph.objects(concept, URIRef(_CORE + "broader")), *graph.subjects(URIRef(_CORE + "narrower"), concept)}
    return Label(
        _clean(concept),
        searched([(text.language, text.text) for text in names], languages),
        next((text.text for text in notes if main(text.language) in wanted), ""),
        tuple(sorted(_clean(node) for node in above if isinstance(node, URIRef))),
        tuple(dict.fromkeys((text.language, text.text) for text in names if text.language)) if several else (),
    )


class _Text(NamedTuple):
    language: str
    text: str


def _texts(graph: Graph, concept: URIRef, kind: str) -> Iterator[_Text]:
    """The literals of one SKOS property, also through nodes: SKOS-XL labels, structured notes."""
    from rdflib import RDF, Literal, URIRef

    nodes = [*graph.objects(concept, URIRef(_CORE + kind)), *graph.objects(concept, URIRef(_XL + kind))]
    others = [node for node in nodes if not isinstance(node, Literal)]
    inner = (graph.objects(node, path) for node in others for path in (URIRef(_XL + "literalForm"), RDF.value))
    for node in itertools.chain(nodes, *inner):
        if isinstance(node, Literal) and (text := _clean(node)):
            yield _Text((node.language or "").lower(), text)


def _clean(text: str) -> str:
    """Clean text; half a surrogate pair, which Turtle can escape, becomes U+FFFD."""
    return clean(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()

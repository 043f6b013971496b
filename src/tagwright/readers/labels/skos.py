"""Read and write a SKOS thesaurus in Turtle, RDF/XML or N-Triples. Needs rdflib (extra `skos`), never the network.

This module is imported where a thesaurus is read or written, since rdflib takes its time.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias
from urllib.parse import quote
from xml.parsers import expat

import rdflib
from rdflib import DCTERMS, RDF, RDFS, SKOS, Graph, URIRef
from rdflib.parser import InputSource
from rdflib.term import Node

from tagwright.core.display import plural
from tagwright.core.progress import silence_log
from tagwright.data.text_languages import by_preference, language_subtag, names_to_search
from tagwright.errors import InputError
from tagwright.readers.labels.jsonl import follow_steps, replaced_ids
from tagwright.readers.labels.languages import by_language, choose_languages
from tagwright.readers.lines import open_bytes, open_lines, whole_characters
from tagwright.text.words import clean
from tagwright.types import Label

Format: TypeAlias = Literal["turtle", "rdfxml", "ntriples"]

_PARSERS = {"turtle": "turtle", "rdfxml": "xml", "ntriples": "nt"}
_XL = rdflib.Namespace("http://www.w3.org/2008/05/skos-xl#")
_BASE = "file:///"
"The base of relative ids, so that they do not depend on where the file is."


def read_labels(
    path: Path | str, language: str | None, file_format: Format, likely: str = ""
) -> tuple[list[Label], str]:
    """The concepts of a thesaurus, sorted by URI, which is their id, and what is left out.

    names: skos:prefLabel, then altLabel, then hiddenLabel, also of SKOS-XL; description: definition, else scopeNote;
    broader: broader, and narrower turned round; related in both directions. The preferred name is in the language (the
    first of several), else without a language tag, else in English, else in the first language by tag. The other names
    that are searched, and the description, are in the language, in that of the preferred name, or without a tag.
    languages, descriptions: all names and descriptions with their languages. notation: skos:notation, of several the
    first; types: rdf:type other than skos:Concept; schemes: inScheme, topConceptOf, hasTopConcept; collections: those
    that the concept is a member of, also through others; exact, close: exactMatch, closeMatch; replaces: concepts of
    which dct:isReplacedBy or dct:replaces says so, also by way of others that are out of use.

    A concept is a skos:Concept, or else what SKOS says a concept alone can have (`_concepts`). Where it has no
    prefLabel, rdfs:label is its name. Deprecated concepts (`_find_deprecated`), those without a name and those without
    an IRI are left out. The text beside the labels, which may be blank, is one line that counts them and the parents
    not found.

    Raises InputError for a file that is not SKOS in this format, and without rdflib; ConfigError for a language that
    it lacks.
    """
    graph = _parse(path, file_format)
    every = _concepts(graph)
    deprecated = _find_deprecated(graph)
    concepts = sorted(node for node in every if isinstance(node, URIRef) and node not in deprecated)
    if not concepts:
        raise InputError("holds no skos:Concept in use, expected a SKOS thesaurus", path)
    tags = Counter(language for concept in concepts for language, _ in _preferred_names(graph, concept))
    available = sorted(filter(None, tags), key=lambda tag: (-tags[tag], tag))
    languages = choose_languages(available, language, path, likely)
    collections = _collections(graph)
    replaced = replaced_ids(_replacements(graph))
    labels = [
        replace(label, collections=collections.get(concept, ()), replaces=tuple(sorted(replaced.get(label.id, ()))))
        for concept in concepts
        if (label := _label(graph, concept, languages))
    ]
    reasons = {
        "deprecated": len(every & deprecated),
        "without an IRI": sum(not isinstance(node, URIRef) for node in every - deprecated),
        "without a name": len(concepts) - len(labels),
    }
    return labels, _left_out(labels, len(every), reasons)


def _left_out(labels: Sequence[Label], concepts: int, reasons: Mapping[str, int]) -> str:
    """One line that counts the concepts that are left out and the parents that are not among the labels."""
    ids = {label.id for label in labels}
    missing = len({parent for label in labels for parent in label.broader} - ids)
    counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    parts = [
        f"{sum(reasons.values()):,} of {concepts:,} concepts left out: {counts}" if counts else "",
        f"{plural(missing, 'broader concept')} not found" if missing else "",
    ]
    return "; ".join(filter(None, parts))


def lines(labels: Iterable[Label], file_format: Format) -> Iterator[str]:
    """The lines of a SKOS file that `read_labels` reads: what SKOS can say of the labels. Raises InputError.

    Ids that are no URIs are taken as relative ones. Names are prefLabel, the first in its language, and altLabel.
    """
    graph = Graph()
    graph.bind("skos", SKOS)
    for label in labels:
        concept = _to_uri(label.id)
        graph.add((concept, RDF.type, SKOS.Concept))
        for field, (predicate, _) in {**_LINKS, "replaces": (DCTERMS.replaces, None)}.items():
            for target in getattr(label, field):
                graph.add((concept, predicate, _to_uri(target)))
        for collection in label.collections:
            graph.add((_to_uri(collection), RDF.type, SKOS.Collection))
            graph.add((_to_uri(collection), SKOS.member, concept))
        for kind, code, text in _literals(label):
            graph.add((concept, SKOS[kind], rdflib.Literal(text, lang=code or None)))
    with silence_log("rdflib"):
        yield from graph.serialize(format=_PARSERS[file_format]).rstrip("\n").split("\n")


def is_uri(label_id: str) -> bool:
    """Whether an id is written as it is."""
    return str(_to_uri(label_id)) == label_id


def _literals(label: Label) -> Iterator[tuple[str, str, str]]:
    """The property of each text of a label, its language, and the text."""
    tagged = {name for _, name in label.languages}
    names = [*label.languages, *(("", name) for name in label.names if name not in tagged)]
    described = label.descriptions or [("", text) for text in (label.description,) if text]
    for texts, first, other in ((names, "prefLabel", "altLabel"), (described, "definition", "scopeNote")):
        seen: set[str] = set()
        for code, text in texts:
            yield other if code in seen else first, code, text
            seen.add(code)
    if label.notation:
        yield "notation", "", label.notation


def _to_uri(label_id: str) -> URIRef:
    """An id as a URI."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", label_id) is None:  # a relative one
        return URIRef(_BASE + quote(label_id, safe="#/:"))
    return URIRef(re.sub(r"[\x00-\x20<>\"{}|\\^`]", lambda sign: quote(sign[0]), label_id))


def _parse(path: Path | str, file_format: Format) -> Graph:
    """The graph of a file. XML says its encoding itself."""
    source = InputSource()
    source.setPublicId(_BASE)
    if file_format == "rdfxml":
        with open_bytes(path) as file:
            content = file.read()
        _refuse_entities(content, path)
    else:
        content = "\n".join(text for _, text in open_lines(path, "take")).encode("utf-8", "surrogatepass")
    source.setByteStream(BytesIO(content))
    try:
        with silence_log("rdflib"):  # it warns, with tracebacks, about dates and URIs that are not read here
            return Graph().parse(source, format=_PARSERS[file_format], publicID=_BASE)
    except Exception as error:  # for broken input the parsers raise IndexError, RecursionError and many more
        raise InputError(f"is not {file_format} ({_reason(error)})", path, _line(error)) from None


def _refuse_entities(content: bytes, path: Path | str) -> None:
    """Refuse XML that refers to other files, has entities of entities, or grows to several times its size.

    Many thesauri abbreviate namespaces by entities, which rdflib expands; a text that grows takes it quadratic time.
    What is not XML at all is left to rdflib, which says so.
    """
    left = 5 * len(content)
    referring = "has an XML entity of another file (SYSTEM or PUBLIC) or of other entities; write it out"

    def refuse(problem: str) -> NoReturn:
        raise InputError(problem, path, parser.CurrentLineNumber)

    def document_type(_name: str, system: str | None, public: str | None, _internal: bool) -> None:
        if system or public:
            refuse(referring)

    def entity(_name: str, parameter: bool, value: str | None, *_: str | None) -> None:
        if parameter or value is None or set(value) & set("&<"):
            refuse(referring)

    def grow(text: str) -> None:
        nonlocal left
        left -= len(text)
        if left < 0:
            refuse("grows more than 5 times by its XML entities; write them out")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler, parser.CharacterDataHandler = document_type, entity, grow
    parser.StartElementHandler = lambda _name, attributes: grow("".join(attributes.values()))
    with contextlib.suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(content, True)


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


def _concepts(graph: Graph) -> set[Node]:
    """The resources that are concepts: of the type skos:Concept, of a subclass of it, or by what is said of them.

    Only concepts are broader, narrower, related or top concepts. Resources without a type that are in a scheme or have
    a prefLabel are concepts too, unless all that is known of them is which concept they match.
    """

    def of_types(classes: Iterable[Node | None]) -> set[Node]:
        return {node for kind in classes for node in graph.subjects(RDF.type, kind)}

    groups = of_types((SKOS.ConceptScheme, SKOS.Collection, SKOS.OrderedCollection))
    in_groups = SKOS.inScheme | SKOS.topConceptOf
    groups.update(graph.subjects(SKOS.hasTopConcept | SKOS.member | SKOS.memberList), graph.objects(None, in_groups))
    match = SKOS.exactMatch | SKOS.closeMatch | SKOS.broadMatch | SKOS.narrowMatch | SKOS.relatedMatch
    maybe = {*graph.subjects(SKOS.inScheme)} | ({*graph.subjects(SKOS.prefLabel)} - {*graph.objects(None, match)})
    others = {node for node in maybe if (node, RDF.type, None) not in graph}
    others.update(graph.subjects(SKOS.broader | SKOS.narrower | SKOS.related | SKOS.topConceptOf))
    return of_types(graph.transitive_subjects(RDFS.subClassOf, SKOS.Concept)) | (others - groups)


def _find_deprecated(graph: Graph) -> set[Node]:
    """The resources that are out of use.

    Signs of it are a property called deprecated (owl:deprecated), a status (euvoc:status, adms:status, vs:term_status)
    or a type (owl:DeprecatedClass, madsrdf:DeprecatedAuthority) that says so, and dct:isReplacedBy.
    """
    nodes = set(graph.subjects(DCTERMS.isReplacedBy, None))
    for predicate in graph.predicates(unique=True):
        name = _last_part(predicate).casefold()
        if name == "deprecated":
            nodes.update(
                node for node, value in graph.subject_objects(predicate) if str(value).lower() in ("true", "1")
            )
        elif name.endswith("status") or predicate == RDF.type:
            begins = ["deprecated", "obsolete"]
            begins += [] if predicate == RDF.type else ["retired", "withdrawn", "superseded", "archaic"]
            pairs = graph.subject_objects(predicate)
            nodes.update(node for node, value in pairs if _last_part(value).lower().startswith(tuple(begins)))
    return nodes


def _replacements(graph: Graph) -> dict[str, set[str]]:
    """Id of a concept -> those in its place, by dct:isReplacedBy, by dct:replaces turned round, and the like."""
    found = defaultdict[str, set[str]](set)
    for predicate in graph.predicates(unique=True):
        name = _last_part(predicate).casefold()
        if name in ("isreplacedby", "replacedby", "useinstead", "replaces"):
            for one, other in graph.subject_objects(predicate):
                old, new = (other, one) if name == "replaces" else (one, other)
                if isinstance(old, URIRef) and isinstance(new, URIRef):
                    found[_clean(str(old))].add(_clean(str(new)))
    return found


def _last_part(node: Node) -> str:
    """The last part of an address."""
    return re.split("[/#]", str(node))[-1]


def _label(graph: Graph, concept: URIRef, languages: Sequence[str]) -> Label | None:
    """The concept as a label, without its collections; None when it has no name at all."""

    def sorted_(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return sorted(texts, key=lambda text: (by_preference(text[0], languages), text))

    names = sorted_(_preferred_names(graph, concept))
    for kind in ("altLabel", "hiddenLabel"):
        names += sorted_(_texts(graph, concept, kind))
    if not names:
        return None
    notes = list(
        dict.fromkeys(text for kind in ("definition", "scopeNote") for text in sorted_(_texts(graph, concept, kind)))
    )
    wanted = {"", *map(language_subtag, languages), language_subtag(names[0][0])}
    return Label(
        _clean(concept),
        names_to_search(names, languages),
        next((text for language, text in notes if language_subtag(language) in wanted), ""),
        languages=by_language(name for name in names if name[0]),
        notation=min((_clean(str(value)) for value in graph.objects(concept, SKOS.notation)), default=""),
        descriptions=by_language(notes) if len(notes) > 1 or any(language for language, _ in notes) else (),
        **_links(graph, concept),
    )


_LINKS: Mapping[str, tuple[URIRef, URIRef | rdflib.paths.Path]] = {
    "types": (RDF.type, RDF.type),
    "broader": (SKOS.broader, SKOS.broader | ~SKOS.narrower),
    "schemes": (SKOS.inScheme, SKOS.inScheme | SKOS.topConceptOf | ~SKOS.hasTopConcept),
    "related": (SKOS.related, SKOS.related | ~SKOS.related),
    "exact": (SKOS.exactMatch, SKOS.exactMatch),
    "close": (SKOS.closeMatch, SKOS.closeMatch),
}
"Field of a label -> the property that is written, and what is read."


def _links(graph: Graph, concept: URIRef) -> dict[str, tuple[str, ...]]:
    """Return the types of a concept, its schemes and collections, and related concepts: sorted URIs by field."""
    found = {field: {*graph.objects(concept, path)} - {SKOS.Concept} for field, (_, path) in _LINKS.items()}
    return {field: _ids(nodes) for field, nodes in found.items()}


def _collections(graph: Graph) -> dict[Node, tuple[str, ...]]:
    """The collections that each node is a member of, ordered ones too, and the collections that these are in."""
    direct = defaultdict[Node, set[Node]](set)
    for collection, member in graph.subject_objects(SKOS.member):
        direct[member].add(collection)
    for collection, members in graph.subject_objects(SKOS.memberList):
        with contextlib.suppress(ValueError):  # of a list with a cycle, after its items
            for member in graph.items(members):
                direct[member].add(collection)
    return {member: _ids(follow_steps(member, direct)) for member in direct}


def _ids(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The URIs among nodes, sorted."""
    return tuple(sorted(_clean(str(node)) for node in nodes if isinstance(node, URIRef)))


def _preferred_names(graph: Graph, concept: Node) -> list[tuple[str, str]]:
    """The preferred names with their languages; where there is none, rdfs:label."""
    return list(_texts(graph, concept, "prefLabel")) or list(_literal(graph.objects(concept, RDFS.label)))


def _texts(graph: Graph, concept: Node, kind: str) -> Iterator[tuple[str, str]]:
    """The literals of one SKOS property, also through nodes: SKOS-XL labels, structured notes."""
    nodes = [*graph.objects(concept, SKOS[kind]), *graph.objects(concept, _XL[kind])]
    others = [node for node in nodes if not isinstance(node, rdflib.Literal)]
    inner = (graph.objects(node, path) for node in others for path in (_XL["literalForm"], RDF.value))
    return _literal(itertools.chain(nodes, *inner))


def _literal(nodes: Iterable[Node]) -> Iterator[tuple[str, str]]:
    """Language and text of the literals among nodes, without blank ones."""
    for node in nodes:
        if isinstance(node, rdflib.Literal) and (text := _clean(node)):
            yield (node.language or "").lower(), text


def _clean(text: str) -> str:
    """Clean text; Turtle can escape half a surrogate pair."""
    return clean(whole_characters(text)).strip()

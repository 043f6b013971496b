from __future__ import annotations

import gzip
import socket
from pathlib import Path

import pytest
from tests.readers.reading import labels_refusal as refusal
from tests.readers.reading import written

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.types import Label

PREFIXES = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix z: <http://zoo/> .
"""
TURTLE = """\
z:2 a skos:Concept ; skos:prefLabel "Birds"@en, "Vögel"@de ; skos:altLabel "Fowl"@en, "Aves" , "Federvieh"@de ;
    skos:hiddenLabel "Brids"@en ; skos:scopeNote "Not planes."@en ; skos:definition "They fly."@en .
z:1 a skos:Concept ; skos:prefLabel "Animals"@en ; skos:narrower z:2 ; skos:scopeNote "No plants."@en, "Ohne."@de .
z:3 a skos:Concept ; skos:prefLabel "Owls"@en ; skos:broader z:2 .
"""
ZOO = [
    Label("http://zoo/1", ("Animals",), "No plants.", (), (("en", "Animals"),),
          descriptions=(("en", "No plants."), ("de", "Ohne."))),
    Label("http://zoo/2", ("Birds", "Fowl", "Aves", "Brids"), "They fly.", ("http://zoo/1",),
          (("en", "Birds"), ("en", "Fowl"), ("en", "Brids"), ("de", "Vögel"), ("de", "Federvieh")),
          descriptions=(("en", "They fly."), ("en", "Not planes."))),
    Label("http://zoo/3", ("Owls",), "", ("http://zoo/2",), (("en", "Owls"),)),
]  # fmt: skip
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [ <!ENTITY skos "http://www.w3.org/2004/02/skos/core#"> <!ENTITY nbsp "&#160;"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="&skos;">
  <skos:Concept rdf:about="http://zoo/1"><skos:prefLabel xml:lang="en">Animals</skos:prefLabel></skos:Concept>
  <rdf:Description rdf:about="http://zoo/2">
    <rdf:type rdf:resource="&skos;Concept"/>
    <skos:prefLabel xml:lang="en">Water&nbsp;birds</skos:prefLabel>
    <skos:broader rdf:resource="http://zoo/1"/>
  </rdf:Description>
</rdf:RDF>
"""
TRIPLES = """\
<http://zoo/2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept> .
<http://zoo/2> <http://www.w3.org/2004/02/skos/core#prefLabel> "V\\u00F6gel"@de .
"""


def turtle(folder: Path, content: str, prefixes: str = PREFIXES) -> Path:
    return written(folder, prefixes + content, "zoo.ttl")


def test_turtle_concepts_become_labels_sorted_by_uri(tmp_path: Path) -> None:
    assert list(Vocabulary.read(turtle(tmp_path, TURTLE))) == ZOO
    assert list(Vocabulary.read(written(tmp_path, gzip.compress((PREFIXES + TURTLE).encode()), "zoo.ttl.gz"))) == ZOO


def test_rdf_xml_with_namespace_entities_is_read(tmp_path: Path) -> None:
    assert list(Vocabulary.read(written(tmp_path, XML, "zoo.rdf"))) == [
        Label("http://zoo/1", ("Animals",), languages=(("en", "Animals"),)),
        Label("http://zoo/2", ("Water\u00a0birds",), "", ("http://zoo/1",), (("en", "Water\u00a0birds"),)),
    ]


def test_fallback_goes_to_no_language_then_english_then_the_first_by_tag(tmp_path: Path) -> None:
    content = """z:0 a skos:Concept ; skos:prefLabel "gesucht"@de .
    z:1 a skos:Concept ; skos:prefLabel "a"@cs, "plain", "b"@en . z:2 a skos:Concept ; skos:prefLabel "a"@cs, "b"@en .
    z:3 a skos:Concept ; skos:prefLabel "b"@fr, "x"@cs . """
    labels = Vocabulary.read(turtle(tmp_path, content), language="de")
    assert [label.name for label in labels] == ["gesucht", "plain", "b", "x"]


def test_a_language_nothing_is_in_is_refused_with_those_there_are(tmp_path: Path) -> None:
    message = refusal(turtle(tmp_path, TURTLE), ConfigError, language="fr")
    assert message == 'zoo.ttl: no names in the language "fr"; the languages are en, de'


def test_skos_xl_labels_and_structured_notes_are_read(tmp_path: Path) -> None:
    content = """z:1 a skos:Concept ; xl:prefLabel [ xl:literalForm "Animals"@en ] ; xl:altLabel z:l ;
    skos:definition [ rdf:value "What moves."@en ] . z:l xl:literalForm "Fauna"@en ."""
    (animals,) = Vocabulary.read(turtle(tmp_path, content))
    assert animals.languages == (("en", "Animals"), ("en", "Fauna"))
    assert (animals.names, animals.descriptions) == (("Animals", "Fauna"), (("en", "What moves."),))


def test_deprecated_concepts_and_things_that_are_no_concepts_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = """z:1 a skos:Concept ; skos:prefLabel "Dragons"@en ; owl:deprecated true .
    z:2 a skos:Concept ; skos:prefLabel "Owls"@en ; owl:deprecated false . [] a skos:Concept ; skos:prefLabel "x"@en .
    z:3 a skos:ConceptScheme ; skos:prefLabel "Zoo"@en . z:4 a skos:Collection ; skos:prefLabel "Night"@en ."""
    path = turtle(tmp_path, content)
    assert list(Vocabulary.read(path)) == [Label("http://zoo/2", ("Owls",), languages=(("en", "Owls"),))]
    said = f"{path}: 2 of 3 concepts left out: 1 deprecated, 1 without an IRI"
    assert caplog.messages == [said]
    Vocabulary.read(path)  # from the cache
    assert caplog.messages == [said, said]


@pytest.mark.parametrize(
    "sign",
    [
        "<http://purl.org/dc/terms/isReplacedBy> z:2",
        "a owl:DeprecatedClass",
        "a <http://www.loc.gov/mads/rdf/v1#DeprecatedAuthority>",
        'owl:deprecated "1"',
        '<http://publications.europa.eu/ontology/authority/deprecated> "true"',
        "<http://e/euvoc#status> <http://e/authority/concept-status/DEPRECATED>",
        '<http://www.w3.org/2003/06/sw-vocab-status/ns#term_status> "archaic"',
    ],
)
def test_a_deprecated_concept_is_left_out_however_its_thesaurus_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sign: str
) -> None:
    content = f"""z:1 a skos:Concept ; skos:prefLabel "Bees, old" ; {sign} .
    z:2 a skos:Concept, z:ArchaicPeriod ; skos:prefLabel "Bees" ;
    <http://e/euvoc#status> <http://e/authority/concept-status/CURRENT> ."""
    assert Vocabulary.read(turtle(tmp_path, content)).ids == ("http://zoo/2",)
    assert "1 of 2 concepts left out: 1 deprecated" in caplog.text


def test_a_label_of_rdf_schema_is_the_name_of_a_concept_without_another(tmp_path: Path) -> None:
    content = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    z:1 a skos:Concept ; rdfs:label "Bees"@en, "Bienen"@de .
    z:2 a skos:Concept ; skos:prefLabel "Wasps"@en ; rdfs:label "z2" ."""
    labels = Vocabulary.read(turtle(tmp_path, content), language="de")
    assert [label.names for label in labels] == [("Bienen",), ("Wasps",)]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ('z:1 skos:prefLabel "Bees" .', ["1"]),
        ('z:1 skos:altLabel "Bees" ; skos:inScheme z:s . z:s skos:prefLabel "Zoo" .', ["1"]),
        ('z:1 a z:Insect ; skos:prefLabel "Bees" . z:Insect rdfs:subClassOf skos:Concept .', ["1"]),
        ('z:1 a z:Insect ; skos:prefLabel "Bees" ; skos:broader z:2 . z:2 skos:prefLabel "Insects" .', ["1", "2"]),
        ('z:1 skos:prefLabel "Bees" ; skos:exactMatch z:3 . z:3 skos:prefLabel "Apoidea" .', ["1"]),
        ('z:1 skos:prefLabel "Bees" . z:3 a z:Person ; skos:prefLabel "Ann Low" .', ["1"]),
        ('z:1 skos:prefLabel "Bees" . z:3 skos:prefLabel "Night" ; skos:member z:1 .', ["1"]),
        ('z:1 skos:prefLabel "Bees" . z:3 skos:prefLabel "Zoo" ; skos:hasTopConcept z:1 .', ["1"]),
    ],
)
def test_concepts_without_the_type_of_a_concept_are_read(tmp_path: Path, content: str, ids: list[str]) -> None:
    rdfs = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    vocabulary = Vocabulary.read(turtle(tmp_path, rdfs + content))
    assert vocabulary.ids == tuple(f"http://zoo/{each}" for each in ids)


def test_parents_that_are_not_found_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = """z:1 a skos:Concept ; skos:prefLabel "Bees" ; skos:broader z:8, z:9 .
    z:2 a skos:Concept ; skos:prefLabel "Wasps" ; skos:broader z:8, z:1 ."""
    path = turtle(tmp_path, content)
    Vocabulary.read(path)
    assert caplog.messages == [f"{path}: 2 broader concepts not found"]


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252", "utf-16", "utf-8", "UTF-8"])
def test_xml_is_read_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    text = XML.replace("UTF-8", encoding).replace("Animals", "Bär")
    assert Vocabulary.read(written(tmp_path, text.encode(encoding), "zoo.rdf"))[0].name == "Bär"


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        ("UTF-8", "zoo.rdf:4: is not rdfxml (not well-formed (invalid token))"),
        ("klingon", "zoo.rdf: is not rdfxml (unknown encoding: klingon)"),
    ],
)
def test_xml_that_is_not_in_the_encoding_that_it_declares_is_refused(
    tmp_path: Path, encoding: str, problem: str
) -> None:
    text = XML.replace("UTF-8", encoding).replace("Animals", "Bär und Bär")
    assert refusal(written(tmp_path, text.encode("latin-1"), "zoo.rdf")) == problem


def test_concepts_without_any_label_are_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = """z:1 a skos:Concept ; skos:prefLabel " " . z:2 a skos:Concept ; skos:altLabel "Owls"@en .
    z:3 a skos:Concept ."""
    path = turtle(tmp_path, content)
    assert Vocabulary.read(path).ids == ("http://zoo/2",)
    assert caplog.messages == [f"{path}: 2 of 3 concepts left out: 2 without a name"]


# What is refused


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("zoo.ttl", "<a> <b>\n<c> <d>", "zoo.ttl:2: is not turtle ("),
        ("zoo.ttl", "(" * 5000, "zoo.ttl: is not turtle (maximum recursion depth exceeded"),
        ("zoo.nt", "<a> <b>", "zoo.nt: is not ntriples (Invalid line: <a> <b>)"),
        ("zoo.rdf", "<a>\n<b></a>", "zoo.rdf:2: is not rdfxml (mismatched tag)"),
        ("zoo.rdf", "no xml", "zoo.rdf:1: is not rdfxml (syntax error)"),
        ("zoo.ttl", b"\n\xff", "zoo.ttl:2: byte 0xff is not UTF-8; save the file as UTF-8"),
        ("zoo.ttl", "", "zoo.ttl: holds no skos:Concept in use, expected a SKOS thesaurus"),
        ("zoo.nt", "<http://a> <http://b> <http://c> .", "zoo.nt: holds no skos:Concept in use"),
        ("zoo.ttl.gz", b"", "zoo.ttl.gz: holds no skos:Concept in use"),
        ("zoo.ttl.gz", b"x", "zoo.ttl.gz: is a broken gzip file"),
    ],
)
def test_a_file_that_is_no_thesaurus_is_refused(tmp_path: Path, name: str, content: str | bytes, problem: str) -> None:
    assert refusal(written(tmp_path, content, name)).startswith(problem)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("comment", ["", f"<!--{'x' * 70_000}-->"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"&#160;"', 'SYSTEM "file:///etc/passwd"'),
        ('"&#160;"', 'PUBLIC "x" "http://localhost/x"'),
        ('"&#160;"', '"&skos;&skos;"'),
        ('"&#160;"', '"&#38;skos;&#38;skos;"'),
        ('"&#160;"', '"<rdf:li/>&skos;"'),
        ("<!ENTITY nbsp", '<!ENTITY % secret "ha"> %secret; <!ENTITY nbsp'),
        ("<!ENTITY nbsp", '<!ENTITY % secret SYSTEM "http://localhost/x.dtd"> %secret; <!ENTITY nbsp'),
        ("rdf:RDF [", 'rdf:RDF SYSTEM "http://localhost/x.dtd" ['),
    ],
)
def test_xml_that_refers_to_another_file_or_entity_is_refused(
    tmp_path: Path, encoding: str, comment: str, old: str, new: str
) -> None:
    text = XML.replace("UTF-8", encoding).replace(old, new, 1).replace("<!DOCTYPE", f"{comment}<!DOCTYPE")
    assert refusal(written(tmp_path, text.encode(encoding), "zoo.rdf")) == (
        "zoo.rdf:2: has an XML entity of another file (SYSTEM or PUBLIC) or of other entities; write it out"
    )


@pytest.mark.parametrize(("old", "new"), [("&nbsp;", "&nbsp;" * 1000), ("zoo/1", "&nbsp;" * 1000)])
def test_xml_that_grows_many_times_by_its_entities_is_refused(tmp_path: Path, old: str, new: str) -> None:
    text = XML.replace("&#160;", "ha" * 100).replace(old, new, 1)
    assert "grows more than 5 times by its XML entities; write them out" in refusal(written(tmp_path, text, "zoo.rdf"))


@pytest.mark.parametrize(("name", "content"), [("zoo.ttl", PREFIXES + TURTLE), ("zoo.rdf", XML), ("zoo.nt", TRIPLES)])
def test_reading_opens_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert "http://zoo/2" in Vocabulary.read(written(tmp_path, content, name)).index


WHOLE = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix e: <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:zoo a skos:ConceptScheme ; skos:hasTopConcept e:1 .
e:1 a skos:Concept, e:Topic ; skos:notation "59" ; skos:prefLabel "Animals"@en, "Djur"@sv ; skos:narrower e:2 .
e:2 a skos:Concept, e:Topic, e:Kind ; skos:notation "598" ; skos:inScheme e:zoo, e:farm ; skos:related e:3 ;
    skos:prefLabel "Birds"@en, "Fåglar"@sv ; skos:altLabel "Aves"@sv ; skos:exactMatch <http://d/598> ;
    skos:closeMatch <http://w/Q5113> ; skos:definition "They fly."@en, "De flyger."@sv ; skos:scopeNote "Not bats."@en .
e:3 a skos:Concept ; skos:topConceptOf e:zoo ; skos:prefLabel "Eggs" ; skos:scopeNote "Laid." .
e:4 a skos:Concept ; skos:prefLabel "Old"@en ; owl:deprecated true .
e:night a skos:Collection ; skos:prefLabel "Night"@en ; skos:member e:2, e:inner .
e:inner a skos:OrderedCollection ; skos:memberList ( e:3 e:1 ) .
"""


def test_a_concept_keeps_all_that_skos_says_of_it(tmp_path: Path) -> None:
    animals, birds, eggs = Vocabulary.read(turtle(tmp_path, WHOLE, ""), language="sv")
    assert animals == Label(
        "http://e/1", ("Djur",), languages=(("sv", "Djur"), ("en", "Animals")), notation="59",
        types=("http://e/Topic",), schemes=("http://e/zoo",), collections=("http://e/inner", "http://e/night"),
    )  # fmt: skip
    assert birds == Label(
        "http://e/2", ("Fåglar", "Aves"), "De flyger.", ("http://e/1",),
        languages=(("sv", "Fåglar"), ("sv", "Aves"), ("en", "Birds")), notation="598",
        types=("http://e/Kind", "http://e/Topic"), schemes=("http://e/farm", "http://e/zoo"),
        collections=("http://e/night",), related=("http://e/3",), exact=("http://d/598",), close=("http://w/Q5113",),
        descriptions=(("sv", "De flyger."), ("en", "They fly."), ("en", "Not bats.")),
    )  # fmt: skip
    assert eggs == Label(
        "http://e/3", ("Eggs",), "Laid.", schemes=("http://e/zoo",), related=("http://e/2",),
        collections=("http://e/inner", "http://e/night"),
    )  # fmt: skip
    assert list(Vocabulary.read(tmp_path / "zoo.ttl", language="sv")) == [animals, birds, eggs]  # from the cache


def test_a_list_of_members_with_a_cycle_ends(tmp_path: Path) -> None:
    content = """z:1 a skos:Concept ; skos:prefLabel "Owls" . z:c skos:memberList z:l .
    z:l rdf:first z:1 ; rdf:rest z:l ."""
    assert Vocabulary.read(turtle(tmp_path, content))[0].collections == ("http://zoo/c",)


def test_relative_ids_do_not_depend_on_where_the_file_lies(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "a"):
        path = turtle(folder, '<#owl> a skos:Concept ; skos:prefLabel "Owls" .')
        assert Vocabulary.read(path).ids == ("file:///#owl",)

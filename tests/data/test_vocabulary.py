from __future__ import annotations

import contextlib
import gzip
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.readers.reading import labels_refusal as refusal
from tests.readers.reading import same_folder

from tagwright.data.vocabulary import Format, Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.readers.labels.files import label_lines, read_labels
from tagwright.types import Document, Label

ANIMALS = Label("1", ("Animals", "Fauna"), "What moves.")
BIRDS = Label("2", ("Birds", "Aves"), broader=("1",))
OWLS = Label("3", ("Owls",), broader=("2", "elsewhere"))
ZOO = Vocabulary([ANIMALS, BIRDS, OWLS])


def written(folder: Path, content: str | bytes, name: str = "labels.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# A vocabulary in memory


def test_names_alone_are_labels_whose_ids_they_are() -> None:
    assert list(Vocabulary(["Sports", BIRDS])) == [Label("Sports", ("Sports",)), BIRDS]


def test_labels_keep_their_order_and_are_found_by_position_id_and_slice() -> None:
    assert list(ZOO) == [ANIMALS, BIRDS, OWLS]
    assert ZOO.ids == ("1", "2", "3")
    assert ZOO.index == {"1": 0, "2": 1, "3": 2}
    assert ZOO[-1] == OWLS
    assert list(ZOO[1:]) == [BIRDS, OWLS]
    assert BIRDS in ZOO


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([], "the vocabulary is empty, expected at least one label"),
        ([ANIMALS, BIRDS, Label("1", ("x",))], 'two labels have the id "1"; every label needs its own'),
        ([Label("1", ())], 'label "1" has the names [], expected one or more texts'),
        ([Label("1", ("x", " "))], 'label "1" has the names ["x", " "], expected one or more texts'),
    ],
)
def test_labels_that_make_no_vocabulary_are_refused(labels: list[Label], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Vocabulary(labels)
    assert str(caught.value) == problem


def test_a_label_is_resolved_by_id_then_preferred_name_then_any_name() -> None:
    vocabulary = Vocabulary(
        [
            Label("http://x/1", ("Mercury", "Quicksilver", "Hg")),
            Label("2", ("Planets", "Mercury", "Wanderers")),
            Label("Hg", ("Units", "Wanderers")),
            Label("4", ("Jupiter",)),
            Label("5", ("jupiter", "Zeus", "ZEUS")),
        ]
    )
    given_and_found = {
        "<http://x/1>": 0,
        "http://x/1": 0,
        " mercury ": 0,
        "QUICKSILVER": 0,
        "Hg": 2,
        "hg": 0,
        "Wanderers": None,
        "Jupiter": None,
        "zeus": 4,
        "Pluto": None,
    }
    assert {value: vocabulary.resolve(value) for value in given_and_found} == given_and_found


def test_names_in_languages_that_are_not_searched_count_last(tmp_path: Path) -> None:
    vocabulary = Vocabulary(
        [
            Label("1", ("Poison",), languages=(("en", "Poison"), ("de", "Gift"), ("de", "Bank"))),
            Label("2", ("Gift", "Present"), languages=(("en", "Gift"), ("en", "Present"), ("de", "Geschenk"))),
            Label("3", ("Bank",), languages=(("en", "Bank"), ("de", "Geldhaus"))),
            Label("4", ("Benches",), languages=(("en", "Benches"), ("sv", "Pall"))),
            Label("5", ("Stools",), languages=(("en", "Stools"), ("sv", "Pall"))),
            Label("6", ("Lids",), languages=(("en", "Lids"), ("sv", "Lock"), ("sv", "Geldhaus"))),
        ]
    )
    vocabulary.save(tmp_path)
    found = {"GESCHENK": 1, "Gift": 1, "Bank": 2, "Geldhaus": 2, "Geschenk -- Sweden": None, "pall": None, "Tack": None}
    for each in (vocabulary, Vocabulary.load(tmp_path)):
        assert {name: each.resolve(name) for name in found} == found
        assert each.ambiguous(["Gift", "Bank", "pall", "Tack"]) == {"pall": ["4", "5"]}


def test_gold_labels_are_counted_once_and_documents_without_labels_keep_their_row() -> None:
    gold = ZOO.gold([Document("a", labels=("3", "owls", "1")), Document("b"), Document("c", labels=("<2>",))])
    assert gold.indptr.tolist() == [0, 2, 2, 3]
    assert gold.labels.tolist() == [0, 2, 1]
    assert gold.scores.tolist() == [1, 1, 1]


def test_a_gold_label_outside_the_vocabulary_is_refused_or_left_out() -> None:
    documents = [Document("a", labels=("1",)), Document("b", labels=("2", "33"))]
    with pytest.raises(InputError) as caught:
        ZOO.gold(documents)
    assert str(caught.value).startswith('document "b" has the label "33", which is not in the vocabulary')
    assert ZOO.gold(documents, unknown="ignore").labels.tolist() == [0, 1]


def test_unknown_gold_labels_are_counted_and_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    documents = [Document("a", labels=("1", "yak", "emu")), Document("b", labels=("yak", "gnu", "ibex", "ibis"))]
    assert ZOO.gold(documents, unknown="warn").labels.tolist() == [0]
    expected = (
        '6 of 7 gold labels are not in the vocabulary and are left out: yak, emu, gnu and 2 more (first: document "a")'
    )
    assert caplog.messages == [expected]


# Circles


def linked(**broader: str) -> Vocabulary:
    return Vocabulary(Label(name, (name,), broader=tuple(above)) for name, above in broader.items())


@pytest.mark.parametrize(
    ("vocabulary", "ids"),
    [
        (ZOO, set()),
        (linked(a="bc", b="d", c="d", d=""), set()),
        (linked(a="a"), {"a"}),
        (linked(a="b", b="cx", c="by", x="", y="z", z=""), {"b", "c"}),
        (linked(a="b", b="c", c="d", d="b"), {"b", "c", "d"}),
    ],
)
def test_a_circle_of_broader_links_is_found(vocabulary: Vocabulary, ids: set[str]) -> None:
    cycle = vocabulary.cycle()
    assert set(cycle) == ids
    assert cycle[:1] == cycle[-1:]
    assert len(cycle) == len(ids) + bool(ids)
    assert all(upper in vocabulary[vocabulary.index[lower]].broader for lower, upper in itertools.pairwise(cycle))


def test_a_hierarchy_far_deeper_than_python_recurses_is_walked() -> None:
    chain = [Label(str(depth), ("x",), broader=(str(depth - 1),)) for depth in range(3_000)]
    assert Vocabulary(chain).cycle() == ()
    closed = Vocabulary([*chain, Label("-1", ("x",), broader=("2999",))])
    assert len(closed.cycle()) == 3_002


# JSON lines


def test_a_label_has_names_or_a_name_and_its_texts_are_cleaned(tmp_path: Path) -> None:
    lines = (
        '{"id": 1, "names": ["Animals ", "Fauna", "", "Fauna"], "description": "What\\u0000moves.", "broader": null}\n'
        '\n{"id": "2", "name": "Cafe\\u0301", "names": ["Bar"], "broader": [1]}\n'
    )
    assert list(Vocabulary.read(written(tmp_path, lines))) == [
        Label("1", ("Animals", "Fauna"), "What moves."),
        Label("2", ("Café", "Bar"), broader=("1",)),
    ]


def test_labels_of_the_extreme_classification_repository_have_their_position_as_notation(tmp_path: Path) -> None:
    lines = b'{"uid": "B00", "title": "Lamp", "content": "Shines."}\n{"uid": "B01", "title": "Desk"}\n'
    vocabulary = Vocabulary.read(written(tmp_path, gzip.compress(lines), "lbl.json.gz"))
    assert list(vocabulary) == [
        Label("B00", ("Lamp",), "Shines.", notation="#0"),
        Label("B01", ("Desk",), notation="#1"),
    ]


def test_labels_of_micol_and_futex_have_all_names_and_the_definition(tmp_path: Path) -> None:
    record = {"label": "7", "name": ["Bees", "Apis"], "definition": "They fly.", "combined_text": "Bees. They fly."}
    vocabulary = Vocabulary.read(written(tmp_path, json.dumps(record).encode(), "MAG_label.json"))
    assert list(vocabulary) == [Label("7", ("Bees", "Apis"), "They fly.")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"names": ["x"]}', 'labels.jsonl:3: id is missing, expected a text; write "id": "..." on every line'),
        ('{"id": "1", "names": ["x"]}', 'labels.jsonl:3: the id "1" is taken by line 1'),
        ('{"id": "2"}', 'labels.jsonl:3: label "2" has no name; write "names": ["..."]'),
        ('{"id": "2", "names": ["", " "]}', 'labels.jsonl:3: label "2" has no name; write "names": ["..."]'),
        (
            '{"id": "2", "names": "x"}',
            'labels.jsonl:3: names is "x", expected a list of names; write ["x"]',
        ),
        (
            '{"id": "2", "name": "x", "broader": "1"}',
            'labels.jsonl:3: broader is "1", expected a list of broader ids; write ["1"]',
        ),
        ('{"id": "2", "name": "x", "description": ["y"]}', 'labels.jsonl:3: description is ["y"], expected a text'),
        ("2,x", "labels.jsonl:3: is not JSON (Extra data at column 2); each line must hold one object"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = written(tmp_path, '{"id": "1", "names": ["a"]}\n\n' + line + "\n")
    assert refusal(path) == problem


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.tsv", "labels.csv", "labels.jsonl.gz"])
@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_a_file_without_labels_is_refused(tmp_path: Path, name: str, content: str) -> None:
    packed = gzip.compress(content.encode()) if name.endswith(".gz") else content
    assert refusal(written(tmp_path, packed, name)) == f"{name}: holds no labels, expected at least one"


def test_an_unknown_kind_of_file_is_refused_with_the_kinds_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, "x", "labels.docx")
    problem = refusal(path, ConfigError)
    assert problem.startswith('labels.docx: the name ends in ".docx", expected one of .jsonl, ')
    assert "; rename it, or in Python give input_format=jsonl, " in problem
    with pytest.raises(ConfigError, match='no vocabulary format "docx"; there are jsonl, tsv'):
        Vocabulary.read(path, input_format="docx")  # type: ignore[arg-type]


def test_of_a_file_that_is_not_there_near_names_in_its_folder_are_said(tmp_path: Path) -> None:
    assert refusal(tmp_path / "labels.tx") == "labels.tx: no such file"
    assert refusal(tmp_path / "nowhere" / "labels.tx") == "labels.tx: no such file"
    for name in ("labels.txt", "documents.jsonl"):
        written(tmp_path, "Bees\n", name)
    (tmp_path / "labels.t").mkdir()
    assert refusal(tmp_path / "labels.tx") == "labels.tx: no such file; did you mean labels.txt?"


# TSV and CSV


def test_tsv_without_header_is_uri_name_and_notation(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff<http://x/1>\tAnimals; wild\t590\r\n<http://x/2>\tBirds\n3\tOwls\t\n", "labels.tsv")
    assert list(Vocabulary.read(path)) == [
        Label("http://x/1", ("Animals; wild",), notation="590"),
        Label("http://x/2", ("Birds",)),
        Label("3", ("Owls",)),
    ]


LANGUAGES = "uri,notation,label_de,label_en,label_fr\n<1>,59,Tiere,Animals,\n<2>,598,Vögel,,Oiseaux\n"


@pytest.mark.parametrize(
    ("language", "names"),
    [
        (None, ["Animals", "Vögel"]),
        ("de", ["Tiere", "Vögel"]),
        ("fr", ["Animals", "Oiseaux"]),
        ("EN-GB", ["Animals", "Vögel"]),
    ],
)
def test_names_are_in_the_language_or_else_in_english_or_the_first_that_has_one(
    tmp_path: Path, language: str | None, names: list[str]
) -> None:
    vocabulary = Vocabulary.read(written(tmp_path, LANGUAGES, "labels.csv"), language=language)
    assert [label.names for label in vocabulary] == [(name,) for name in names]


def test_a_language_without_a_column_is_refused_with_those_there_are(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, LANGUAGES, "labels.csv"), ConfigError, language="it")
    assert message == 'labels.csv: no names in the language "it"; the languages are de, en, fr'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,name\n1,a\n2,\n", 'labels.csv:3: label "2" has no name; fill in the column "name"'),
        ('id,name\n1,"a\nb"\n,c\n', 'labels.csv:4: has no id; fill in the column "id"'),
        ("id,name\n1,a\n\n1,b\n", 'labels.csv:4: the id "1" is taken by line 2'),
        ("id,name\n1,a,b\n", "labels.csv:2: has 3 columns, expected 2: id, name"),
        (
            'id,name\n1,"a\n',
            "labels.csv:2: is not CSV (unexpected end of data); a quote in a quoted cell is written twice",
        ),
        (
            "id,colour\n1,a\n",
            'labels.csv:1: the columns are ["id", "colour"], expected once each, among them "name", '
            '"names" or "label_LANGUAGE", and for ids of their own "id" or "uri"',
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: str, problem: str) -> None:
    assert refusal(written(tmp_path, content, "labels.csv")) == problem


# Names alone, paths, outlines


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "Sports\n\nArts, old and new\nSports\n"),
        ("a.txt", "# My labels\nSports\r\nArts, old and new"),
        ("a.csv", 'name\nSports\n"Arts, old and new"\n'),
        ("a.csv", 'Sports\n"Arts, old and new"\n'),
        ("a.csv", "Name;Description\nSports;\nArts, old and new;\n"),
        ("a.tsv", "Sports\nArts, old and new\n"),
        ("a.txt", "Names\nSports\nArts, old and new\n"),
    ],
)
def test_a_label_that_has_only_a_name_has_it_as_id(tmp_path: Path, name: str, content: str) -> None:
    assert list(Vocabulary.read(written(tmp_path, content, name))) == [
        Label("Sports", ("Sports",)),
        Label("Arts, old and new", ("Arts, old and new",)),
    ]


def test_googles_product_taxonomy_is_read_as_it_comes(tmp_path: Path) -> None:
    content = (
        "# Google_Product_Taxonomy_Version: 2021-09-21\n1 - Animals & Pet Supplies\n"
        "3237 - Animals & Pet Supplies > Live Animals\n"
        "2 - Animals & Pet Supplies > Pet Supplies\n7385 - Animals & Pet Supplies > Pet Supplies > Beds\n"
        "436 - Furniture\n6433 - Furniture > Beds\n"
    )
    vocabulary = Vocabulary.read(written(tmp_path, content, "taxonomy-with-ids.en-US.txt"))
    assert list(vocabulary) == [
        Label("1", ("Animals & Pet Supplies",)),
        Label("3237", ("Live Animals",), "Animals & Pet Supplies", ("1",)),
        Label("2", ("Pet Supplies",), "Animals & Pet Supplies", ("1",)),
        Label("7385", ("Beds",), "Animals & Pet Supplies > Pet Supplies", ("2",)),
        Label("436", ("Furniture",)),
        Label("6433", ("Beds",), "Furniture", ("436",)),
    ]
    assert vocabulary.shown_name(1) == "Live Animals"
    assert vocabulary.shown_name(5) == "Furniture > Beds"
    assert vocabulary.shown_name(1, whole=True) == "Animals & Pet Supplies > Live Animals"


def test_paths_without_numbers_and_outlines_have_their_path_as_id(tmp_path: Path) -> None:
    labels = [
        Label("Animals", ("Animals",)),
        Label("Animals > Birds", ("Birds",), "Animals", ("Animals",)),
        Label("Animals > Birds > Owls", ("Owls",), "Animals > Birds", ("Animals > Birds",)),
        Label("Plants", ("Plants",)),
    ]
    paths = "Animals\nAnimals > Birds\nAnimals > Birds > Owls\nPlants\n"
    assert list(Vocabulary.read(written(tmp_path, paths, "paths.txt"))) == labels
    outline = "Animals\n\tBirds\n\t\tOwls\nPlants\n"
    assert list(Vocabulary.read(written(tmp_path, outline, "outline.txt"), input_format="names")) == labels
    assert list(Vocabulary.read(written(tmp_path, outline.replace("\t", "  "), "outline.txt"))) == labels


def test_a_workbook_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, b"PK\x03\x04", "labels.ods")
    assert refusal(path) == "labels.ods: is a spreadsheet workbook, which cannot be read; save the sheet as CSV"


def test_a_path_that_runs_in_a_circle_ends() -> None:
    assert linked(a="b", b="a").path(0) == ("b", "a")


# Any file


WHOLE = Label(
    "http://e/2", ("Fåglar", "Aves"), "De flyger.\nSom vinden.", ("http://e/1", "http://e/0"),
    languages=(("sv", "Fåglar"), ("sv", "Aves"), ("en", "Birds; fowl"), ("en", "a|b")), translated=("birds",),
    notation="598", types=("http://e/Kind", "http://e/Topic"), schemes=("http://e/zoo",),
    collections=("http://e/night",), related=("http://e/3", "http://e/4;x"), exact=("http://d/598",),
    close=("http://w/Q5113",), replaces=("http://e/20", "http://e/21"),
    descriptions=(("sv", "De flyger.\nSom vinden."), ("en", '["They fly"]'), ("en", "Not bats."), ("", "Aves, L.")),
)  # fmt: skip


@pytest.mark.parametrize("name", ["zoo.jsonl.gz", "zoo.csv", "zoo.tsv"])
def test_nothing_of_a_label_is_lost_in_a_file(tmp_path: Path, name: str) -> None:
    labels = [Label("1", ("Bees; bumblebees",), "They fly; or not."), WHOLE, Label("3", ('["x"]', "y"))]
    Vocabulary(labels).write(tmp_path / name)
    assert list(Vocabulary.read(tmp_path / name)) == labels
    assert (tmp_path / name).read_bytes()[:2] in ((b"\x1f\x8b",) if name.endswith(".gz") else (b"id",))


REPLACED = {
    "zoo.ttl": """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix dct: <http://purl.org/dc/terms/> .
        @prefix e: <http://e/> .
        e:1 a skos:Concept ; skos:prefLabel "Bees" ; dct:replaces e:0 .
        e:2 a skos:Concept ; skos:prefLabel "Wasps" .
        e:8 a skos:Concept ; skos:prefLabel "Old insects" ; dct:isReplacedBy e:9, e:2 .
        e:9 a skos:Concept ; skos:prefLabel "Insects, old" ; dct:isReplacedBy e:8, e:1 .""",
    "zoo.jsonl": """{"id": "http://e/1", "name": "Bees", "replaces": ["http://e/0"]}
        {"id": "http://e/2", "name": "Wasps"}
        {"id": "http://e/8", "name": "Old insects", "isReplacedBy": ["http://e/9", "http://e/2"]}
        {"id": "http://e/9", "replaced_by": ["http://e/8", "http://e/1"]}""",
    "zoo.csv": """id,name,replaces,replaced_by\nhttp://e/1,Bees,http://e/0,\nhttp://e/2,Wasps,,
http://e/8,Old insects,,http://e/9|http://e/2\nhttp://e/9,,,<http://e/8>|http://e/1""",
    "zoo.tsv": """uri\tlabel\tIs replaced by\treplaces\n<http://e/1>\tBees\t\thttp://e/0\n<http://e/2>\tWasps\t
<http://e/8>\tOld insects\t<http://e/9>; <http://e/2>\n<http://e/9>\t\thttp://e/8;http://e/1""",
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_label_says_which_concepts_out_of_use_it_replaces(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of 8 and 9, which name each other, 8 is replaced by 2 and, by way of 9, by 1; so is 9."""
    (tmp_path / name).write_text(REPLACED[name])
    expected = {"http://e/1": ("http://e/0", "http://e/8", "http://e/9"), "http://e/2": ("http://e/8", "http://e/9")}
    vocabulary = Vocabulary.read(tmp_path / name)
    assert {label.id: tuple(sorted(label.replaces)) for label in vocabulary} == expected
    assert "2 concepts out of use left out" in caplog.text or "2 deprecated" in caplog.text
    vocabulary.save(tmp_path)
    assert Vocabulary.load(tmp_path).replacements == vocabulary.replacements == {
        "http://e/0": ("http://e/1",), "http://e/8": ("http://e/1", "http://e/2"),
        "http://e/9": ("http://e/1", "http://e/2"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["zoo.ttl", "zoo.nt", "zoo.rdf"])
def test_skos_holds_what_skos_can_say(tmp_path: Path, name: str) -> None:
    label = replace(WHOLE, translated=(), description="De flyger.\nSom vinden.", related=("http://e/3",))
    label = replace(label, broader=("http://e/0", "http://e/1"), names=("Fåglar", "Aves"))
    Vocabulary([label]).write(tmp_path / name)
    (found,) = Vocabulary.read(tmp_path / name, language="sv")
    assert set(found.languages) == set(label.languages)
    assert set(found.descriptions) == set(label.descriptions)
    assert replace(found, languages=(), descriptions=()) == replace(label, languages=(), descriptions=())


def test_an_id_that_is_no_uri_becomes_a_relative_one(tmp_path: Path) -> None:
    Vocabulary([Label("Animals > Birds", ("Birds",)), Label("http://e/a b", ("b",))]).write(tmp_path / "zoo.ttl")
    assert Vocabulary.read(tmp_path / "zoo.ttl").ids == ("file:///Animals%20%3E%20Birds", "http://e/a%20b")


def test_a_list_of_names_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match="cannot be written as lines of the format names"):
        label_lines(ZOO, "names")


def test_descriptions_and_names_by_language_are_chosen_alike_from_every_file(tmp_path: Path) -> None:
    (tmp_path / "zoo.jsonl").write_text(
        '{"id": "1", "names": {"en": ["Birds"], "sv": ["F\u00e5glar"]}, "notation": "598", '
        '"descriptions": {"en": ["They fly."], "sv": ["De flyger."]}}\n', encoding="utf-8"
    )  # fmt: skip
    (tmp_path / "zoo.csv").write_text(
        "uri,label_en,label_sv,notation,description_en,description_sv\n<1>,Birds,Fåglar,598,They fly.,De flyger.\n",
        encoding="utf-8",
    )
    for language, name, description in (("sv", "Fåglar", "De flyger."), (None, "Birds", "They fly.")):
        one, other = (Vocabulary.read(tmp_path / f"zoo.{end}", language=language)[0] for end in ("jsonl", "csv"))
        assert one == other
        assert (one.name, one.description, one.notation) == (name, description, "598")
        assert (one.name_in("sv"), one.description_in("sv")) == ("Fåglar", "De flyger.")


@same_folder
@given(
    st.binary(max_size=200) | st.text('id,name\n\r\t"|;<>{}[]:1é').map(str.encode),
    st.sampled_from(["jsonl", "tsv", "csv", "names"]),
)
@example(b"id,name\n1,\x00\n", "csv")
def test_any_bytes_are_read_or_refused_with_an_input_error(tmp_path: Path, content: bytes, file_format: Format) -> None:
    path = written(tmp_path, content)
    with contextlib.suppress(InputError):
        assert len(Vocabulary.read(path, input_format=file_format)) > 0


NAMED = """\
{"id": "1", "names": {"en": ["Birds"], "de": ["Vögel"], "fi": ["Linnut", "Aves"]}}
{"id": "2", "names": {"de": ["Eulen"]}}
{"id": "3", "name": "Bees"}
"""


@pytest.mark.parametrize(
    ("language", "names"),
    [(None, ("Vögel",)), ("fi", ("Linnut", "Aves")), ("en+fi", ("Birds", "Linnut", "Aves"))],
)
def test_json_names_by_language(tmp_path: Path, language: str | None, names: tuple[str, ...]) -> None:
    """German is the most frequent language, but English comes first where there is a name in it."""
    path = tmp_path / "zoo.jsonl"
    path.write_text(NAMED, encoding="utf-8")
    birds, owls, bees = Vocabulary.read(path, language=language)
    assert birds.names == (names if language else ("Birds",))
    assert birds.languages == (("en", "Birds"), ("de", "Vögel"), ("fi", "Linnut"), ("fi", "Aves"))
    assert (owls.names, owls.languages) == (("Eulen",), (("de", "Eulen"),))
    assert bees == Label("3", ("Bees",))


def test_names_that_are_given_beside_those_by_language_stay_unless_a_language_is_asked_for(tmp_path: Path) -> None:
    labels = [Label("1", ("Birds",), languages=(("en", "Birds"), ("de", "Vögel"))), Label("2", ("Owls",))]
    Vocabulary(labels).write(tmp_path / "zoo.jsonl")
    assert list(read_labels(tmp_path / "zoo.jsonl", likely=lambda: "de")) == labels
    german = Vocabulary.read(tmp_path / "zoo.jsonl", language="de")
    assert [label.names for label in german] == [("Vögel",), ("Owls",)]
    assert list(Vocabulary.read(tmp_path / "zoo.jsonl", language="finnish")) == labels  # the stemmer's, not theirs


@pytest.mark.parametrize("code", ["", "d e", "ü", "de_"])
def test_a_language_that_is_no_code_is_refused(tmp_path: Path, code: str) -> None:
    (tmp_path / "zoo.jsonl").write_text(f'{{"id": "1", "names": {{"{code}": ["Birds"]}}}}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"zoo.jsonl:1: names has the language"):
        Vocabulary.read(tmp_path / "zoo.jsonl")


def test_a_vocabulary_is_shown_in_a_line_by_its_size_and_first_names(tmp_path: Path) -> None:
    assert repr(ZOO) == "Vocabulary of 3 labels: Animals, Birds, Owls"
    assert repr(Vocabulary(["Bees"])) == "Vocabulary of 1 label: Bees"
    many = Vocabulary([f"Label\n{number}" for number in range(1200)])
    assert repr(many) == "Vocabulary of 1,200 labels: Label 0, Label 1, Label 2, ..."
    assert len(repr(Vocabulary(["long" * 1000]))) < 100
    many.save(tmp_path)
    assert repr(Vocabulary.load(tmp_path)) == repr(many)


def test_a_name_that_several_labels_share_is_ambiguous_and_not_missing(caplog: pytest.LogCaptureFixture) -> None:
    vocabulary = Vocabulary([Label("m1", ("Mercury",)), Label("m2", ("mercury",)), Label("v", ("Venus",))])
    documents = [Document("1", labels=("Mercury", "Venus")), Document("2", labels=("Mercury", "Pluto"))]
    assert vocabulary.gold(documents, unknown="warn").labels.tolist() == [2]
    assert caplog.messages == [
        '1 of 4 gold labels are not in the vocabulary and are left out: Pluto (first: document "2")',
        '2 of 4 gold labels are ambiguous and are left out: Mercury (m1, m2) (first: document "1")',
    ]
    with pytest.raises(InputError, match=r'the label "Mercury", which is ambiguous, the name of m1, m2; give an id'):
        vocabulary.gold(documents)

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import BEES, Values, in_xml, iso2709, marc_record, utf8
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, on_command_line
from tagwright.readers.documents.marc import _decode_records, read_marc
from tagwright.readers.limits import Reading
from tagwright.types import Document, Label, Section

READ = Document(
    "990001",
    "Bees : how they fly. Part 2, Wings",
    "In spirals. And why.",
    (Section("Contents", 1, ("Spirals -- Circles.",)),),
    {
        "author": ("Low, Ann, 1970-", "Bee, Bo."),
        "year": ("2019",),
        "publisher": ("Hive Press",),
        "language": ("eng",),
        "keyword": ("spirals",),
        "note": ("Includes index.",),
        "label_source": ("ddc", "rvk", "lcsh", "gnd", "mesh"),
    },
    (
        "595.799",
        "WV 4000",
        "Bees--Behavior",
        "<(DE-588)4006216-6> Bienen",
        "<https://id.nlm.nih.gov/mesh/D005416> Insect Flight",
    ),
)


def title(text: str, number: str = "1") -> list[tuple[str, str | tuple[str, ...]]]:
    return [("001", number), ("245", ("00", f"a{text}"))]


@pytest.mark.parametrize(("name", "write"), [("x.mrc", utf8), ("x.dat", utf8), ("x.xml", in_xml), ("x.dat", in_xml)])
def test_a_record_is_read_whole(tmp_path: Path, name: str, write: Callable[..., bytes]) -> None:
    assert read(written(tmp_path, write(marc_record(BEES)), name)) == [READ]


def test_records_in_the_answer_of_a_harvest(tmp_path: Path) -> None:
    record = in_xml(marc_record(BEES)).decode().partition("?>")[2]
    answer = f"<OAI-PMH><ListRecords><record><header/><metadata>{record}</metadata></record></ListRecords></OAI-PMH>"
    assert read(written(tmp_path, answer, "x.xml")) == [READ]


def test_marc_8_is_recognised_by_the_leader(tmp_path: Path) -> None:
    """Accents come before their letters: 0xE8 is the diaeresis; Greek letters follow an escape."""
    record = iso2709([("001", b"1"), ("245", b"00\x1faDie V\xe8ogel :\x1fb\x1b(SAB\x1b(B /")])
    [document] = read(written(tmp_path, record, "x.mrc"))
    assert document.title == "Die Vögel : ΑΒ"


def test_damaged_records_are_said_and_the_others_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = [utf8(marc_record(title(f"Bees {number}", str(number)))) for number in range(4)]
    wrong_base = good[0][:12] + b"xxxxx" + good[0][17:]
    not_utf8 = good[1].replace(b"Bees 1", b"B\xff\xffs 1")
    path = written(tmp_path, wrong_base + good[1] + b"\r\n" + not_utf8 + good[2] + good[3][:-5], "x.mrc")
    with caplog.at_level(logging.WARNING):
        assert [document.title for document in read(path)] == ["Bees 1", "Bees 2"]
    first, second, third = (record.getMessage().removeprefix(f"{path}:") for record in caplog.records)
    assert first == "1: left out: is a damaged MARC record: the lengths in its leader or directory do not fit"
    assert second == "3: left out: is a MARC record whose text is not in UTF-8, as its leader says"
    assert third == "5: left out: is a MARC record that breaks off"


def test_a_record_without_number_or_title(tmp_path: Path) -> None:
    notes = marc_record([("520", ("  ", "aIn spirals."))])
    assert read(written(tmp_path, utf8(notes, notes), "x.mrc")) == [
        Document(f"{tmp_path.as_posix()}/x.mrc{end}", "", "In spirals.") for end in ("", "#2")
    ]


def test_labels_of_one_vocabulary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, utf8(marc_record(BEES)), "x.mrc")
    with on_command_line():
        read(path)
    assert capsys.readouterr().err == (
        f"tagwright: {path}: labels are subjects of ddc (1), rvk (1), lcsh (1), gnd (1), mesh (1); "
        "to take those of one: --columns labels=ddc\n"
    )
    document = Corpus.read(path, columns={"labels": "GND"})[0]
    assert document.labels == ("<(DE-588)4006216-6> Bienen",)
    assert document.metadata["subject"] == ("595.799", "WV 4000", "Bees--Behavior", "Insect Flight")


def test_other_columns_and_vocabularies_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, utf8(marc_record(BEES)), "x.mrc")
    with on_command_line(), pytest.raises(ConfigError) as caught:
        Corpus.read(path, columns={"title": "245"})
    assert str(caught.value) == (
        "a catalogue record has no column for title; only the source of labels: --columns labels=lcsh"
    )
    with pytest.raises(InputError, match="no subject is of the vocabulary stw; there are ddc"):
        Corpus.read(path, columns={"labels": "stw"})


def test_a_chain_of_the_german_authority_file(tmp_path: Path) -> None:
    chain = ("689", ("00", "aBienen", "0(DE-588)4006216-6", "0https://d-nb.info/gnd/4006216-6"))
    path = written(tmp_path, utf8(marc_record([*title("Bees"), chain])), "x.mrc")
    label = "<(DE-588)4006216-6> <https://d-nb.info/gnd/4006216-6> Bienen"
    assert Corpus.read(path, columns={"labels": "gnd"})[0].labels == (label,)


@pytest.mark.parametrize(
    ("subfields", "expected"),
    [
        (("kLetters and photographs,", "f1891-1894."), "Letters and photographs, 1891-1894"),
        (("aLow papers,", "f1891-1894", "g(bulk 1892)."), "Low papers, 1891-1894 (bulk 1892)"),
        (("aHow bees fly.",), "How bees fly."),
    ],
)
def test_form_and_dates_are_the_title_of_an_archive(tmp_path: Path, subfields: tuple[str, ...], expected: str) -> None:
    record = marc_record([("001", "1"), ("245", ("10", *subfields))])
    assert read(written(tmp_path, utf8(record), "x.mrc"))[0].title == expected


LINKED: list[tuple[str, Values]] = [
    ("001", "1"),
    ("100", ("1 ", "6880-03", "aLow, Ann.")),
    ("245", ("10", "6880-01", "aMifeng yu guoyuan /", "cLow.")),
    ("520", ("  ", "6880-02", "aMifeng.")),
    ("650", (" 7", "6880-04", "aMifeng", "2sears")),
    ("880", ("1 ", "6100-03/$1", "a刘安")),
    ("880", ("10", "6245-01/$1", "a蜜蜂与果园 /", "c刘安.")),
    ("880", ("  ", "6520-02/$1", "a蜜蜂在果园里采蜜。")),
    ("880", (" 7", "6650-04/$1", "a蜜蜂", "2sears")),
    ("880", ("  ", "6500-00/$1", "a附录。")),
    ("880", ("  ", "ano link")),
]


@pytest.mark.parametrize(("name", "write"), [("x.mrc", utf8), ("x.xml", in_xml)])
def test_the_original_script_is_read_beside_the_romanised_one(
    tmp_path: Path, name: str, write: Callable[..., bytes]
) -> None:
    assert read(written(tmp_path, write(marc_record(LINKED)), name)) == [
        Document(
            "1",
            "Mifeng yu guoyuan = 蜜蜂与果园",
            "Mifeng.\n\n蜜蜂在果园里采蜜。",
            metadata={"author": ("Low, Ann", "刘安"), "note": ("附录。",), "label_source": ("sears", "sears")},
            labels=("Mifeng", "蜜蜂"),
        )
    ]


def test_damaged_indicators_and_codes_of_subfields_are_no_part_of_the_text(tmp_path: Path) -> None:
    records = [
        iso2709([("001", b"1"), ("245", b" 10\x1faBees"), ("520", b"\x1faIn spirals.")]),
        iso2709([("001", b"2"), ("245", b"1\x1faWasps")]),
        iso2709([("001", b"3"), ("245", "é0\x1faAnts\x1f".encode())]),
    ]
    assert [(each.title, each.abstract) for each in read(written(tmp_path, b"".join(records), "x.mrc"))] == [
        ("Bees", "In spirals."),
        ("Wasps", ""),
        ("Ants", ""),
    ]
    content = [b"00\x1f\xb9Bees", "00\x1féWasps".encode(), b"00\x1faAnts\x1f"]
    fields = [(str(520 + number), each) for number, each in enumerate(content)]
    path = written(tmp_path, iso2709([("001", b"1"), *fields], b"nam a22"), "x.mrc")
    [(_, (found, _))] = _decode_records(path)  # type: ignore[misc]
    assert [each.subfields for each in found[2:]] == [
        (("\ufffd", "Bees"),), (("\ufffd", "Wasps"),), (("a", "Ants"),)
    ]  # fmt: skip


def test_fields_are_read_to_their_ends_where_the_directory_is_wrong(tmp_path: Path) -> None:
    """Some programs count characters instead of bytes: here two umlauts come before 001 and 245."""
    right = iso2709([("100", "1 \x1faMüller-Bär".encode()), ("001", b"7"), ("245", b"00\x1faBees")])
    there, counted = b"100001700000001000200017245000900019", b"100001500000001000200015245000900017"
    wrong = right.replace(there, counted)
    assert wrong != right
    [document] = read(written(tmp_path, wrong, "x.mrc"))
    assert (document.id, document.title) == ("7", "Bees")


def test_text_in_another_encoding_than_the_leader_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    russian = iso2709([("001", b"1"), *[("245", "00\x1faПчёлы и сады".encode("cp1251")), ("520", b"  \x1fa\xd6")]])
    path = written(tmp_path, russian + utf8(marc_record(title("Vögel", "2"))), "x.mrc")
    assert [each.title for _, each in read_marc(path, Reading(encoding="cp1251"))] == ["Пчёлы и сады", "Vögel"]
    assert not caplog.messages
    list(read_marc(path))
    assert caplog.messages == [
        f"{path}:1: text is not in MARC-8, as the leader says; if another encoding is meant, name it: encoding=cp1252"
    ]
    with pytest.raises(InputError, match="1: is a MARC record whose text is not in ascii"):
        list(read_marc(written(tmp_path, russian, "y.mrc"), Reading(encoding="ascii")))


def test_chinese_text_that_breaks_off_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record = iso2709([("001", b"1"), ("245", b"00\x1faBees \x1b$1!0")])
    assert read(written(tmp_path, record, "x.mrc"))[0].title == "Bees"
    assert capfd.readouterr().err == ""


ITALIAN: list[tuple[str, Values]] = [
    ("001", "IT1"),
    ("100", ("  ", "a19961119d1996    ||||0itac50      ba")),
    ("101", ("0 ", "aita")),
    ("200", ("1 ", "aLe api nel frutteto", "econ disegni", "fA. Low", "h2", "iLe ali")),
    ("210", ("  ", "aRoma", "cAlveare", "d1997")),
    ("300", ("  ", "aIndice.")),
    ("327", ("0 ", "aSpirali")),
    ("330", ("  ", "aLe api visitano gli alberi.")),
    ("461", (" 1", "tInsetti")),
    ("600", (" 1", "aLow", "bAnn")),
    ("606", ("  ", "3027226120", "aApi", "xVolo", "yItalia", "2rameau")),
    ("610", ("0 ", "aspirali")),
    ("676", ("  ", "a595.799")),
    ("686", ("  ", "aWV 4", "2rvk")),
    ("700", (" 1", "aLow", "bA.")),
    ("712", ("02", "aIstituto delle api")),
]
UNIMARC = "00000nam0a2200000   450 "


@pytest.mark.parametrize(("name", "write"), [("x.mrc", utf8), ("x.xml", in_xml)])
def test_unimarc_is_recognised_and_read(
    tmp_path: Path, name: str, write: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, write(marc_record(ITALIAN, UNIMARC)), name)
    assert read(path) == [
        Document(
            "IT1",
            "Le api nel frutteto : con disegni. 2, Le ali",
            "Le api visitano gli alberi.",
            (Section("Contents", 1, ("Spirali",)),),
            {
                "author": ("Low, A.", "Istituto delle api"),
                "year": ("1996",),
                "publisher": ("Alveare",),
                "venue": ("Insetti",),
                "language": ("ita",),
                "keyword": ("spirali",),
                "note": ("Indice.",),
                "label_source": ("none", "rameau", "ddc", "rvk"),
            },
            ("Low, Ann", "<027226120> Api--Volo--Italia", "595.799", "WV 4"),
        )
    ]
    assert f"{path}:1: is UNIMARC, and read as such" in caplog.messages


def test_unimarc_in_an_encoding_of_its_own_is_no_marc_8(tmp_path: Path) -> None:
    """In ISO 5426 the acute accent is 0xC2, which in MARC-8 is a sign of its own."""
    path = written(tmp_path, iso2709([("001", b"1"), ("200", b"1 \x1faL'\xc2et\xc2e")]), "x.mrc")
    assert refusal(path) == (
        "x.mrc:1: is UNIMARC whose text is not in UTF-8; export it as UTF-8, or name its encoding: encoding=cp1251"
    )
    assert [each.title for _, each in read_marc(path, Reading(encoding="latin-1"))] == ["L'ÂetÂe"]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("<http://x.org/gnd/4006216-6> Wasps", 0),
        ("<(DE-588)4006216-6> Wasps", 0),
        ("<(DE-627)17> <(DE-588)4006216-6>", 0),
        ("<(DE-588)9999999-9> Wasps", 1),
        ("<(DE-588)9999999-9> wasps--Nests", None),
        ("Wasps--Nests", None),
        ("595.799", 1),
        ("<https://id.nlm.nih.gov/mesh/D001516>", 0),
        ("<(DE-627)17> Ants", None),
        ("Ants--Nests", None),
    ],
)
def test_subjects_find_their_labels(reference: str, expected: int | None) -> None:
    """By id, its last part, an exact match, notation or name; a subdivided heading is not the main one."""
    bees = Label("http://x.org/gnd/4006216-6", ("Bees", "Bienen"), exact=("https://id.nlm.nih.gov/mesh/D001516",))
    vocabulary = Vocabulary([bees, Label("17", ("Wasps",), notation="595.799")])
    assert vocabulary.resolve(reference) == expected

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import BEES, in_xml, iso2709, marc_record, utf8
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, on_command_line
from tagwright.readers.limits import collecting, document_limit
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


@pytest.mark.parametrize("name", ["x.mrc", "x.dat"])
def test_a_record_is_read_whole(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path, utf8(marc_record(BEES)), name)) == [READ]


@pytest.mark.parametrize("name", ["x.xml", "x.dat"])
def test_marcxml_holds_the_same(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path, in_xml(marc_record(BEES)), name)) == [READ]


def test_records_in_the_answer_of_a_harvest(tmp_path: Path) -> None:
    inner = in_xml(marc_record(BEES)).decode().partition("<record>")[2].rpartition("</record>")[0]
    answer = (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header><identifier>o</identifier>'
        '</header><metadata><marc:record xmlns:marc="http://www.loc.gov/MARC21/slim" xmlns="http://www.loc.gov/MARC21/slim">'
        f"{inner}</marc:record></metadata></record></ListRecords></OAI-PMH>"
    )
    assert read(written(tmp_path, answer, "x.xml")) == [READ]


def test_marc_8_is_recognised_by_the_leader(tmp_path: Path) -> None:
    """Accents come before their letters: 0xE8 is the diaeresis; Greek letters follow an escape."""
    record = iso2709([("001", b"1"), ("245", b"00\x1faDie V\xe8ogel :\x1fb\x1b(SAB\x1b(B /")])
    [document] = read(written(tmp_path, record, "x.mrc"))
    assert document.title == "Die Vögel : ΑΒ"


def test_utf_8_under_a_leader_that_says_marc_8(tmp_path: Path) -> None:
    record = iso2709([("001", b"1"), ("245", "00\x1faDie Vögel".encode())])
    assert read(written(tmp_path, record, "x.mrc"))[0].title == "Die Vögel"


def test_signs_around_an_unsorted_article_are_no_part_of_the_title(tmp_path: Path) -> None:
    assert read(written(tmp_path, utf8(marc_record(title("\x98Die\x9c Vögel"))), "x.mrc"))[0].title == "Die Vögel"
    assert read(written(tmp_path, in_xml(marc_record(title("\x98Die\x9c Vögel"))), "x.xml"))[0].title == "Die Vögel"


def test_damaged_records_are_said_and_the_others_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = [utf8(marc_record(title(f"Bees {number}", str(number)))) for number in range(4)]
    wrong_base = good[0][:12] + b"xxxxx" + good[0][17:]
    not_utf8 = good[1].replace(b"Bees 1", b"B\xff\xffs 1")
    path = written(tmp_path, wrong_base + good[1] + b"\r\n" + not_utf8 + good[2] + good[3][:-5], "x.mrc")
    with caplog.at_level(logging.WARNING):
        assert [document.title for document in read(path)] == ["Bees 1", "Bees 2"]
    first, second, third = (record.getMessage().removeprefix(f"{path}:") for record in caplog.records)
    assert first.startswith("1: left out: is a damaged MARC record (")
    assert second == "3: left out: is a MARC record whose text is not in UTF-8, as its leader says"
    assert third == "5: left out: is a MARC record that breaks off"


def test_errors_of_records_are_collected(tmp_path: Path) -> None:
    good = utf8(marc_record(title("Bees")))
    path, errors = written(tmp_path, good[:12] + b"xxxxx" + good[17:] + good, "x.mrc"), list[InputError]()
    with collecting(errors.append):
        assert [document.title for document in read(path)] == ["Bees"]
    assert [error.line for error in errors] == [1]


def test_a_file_of_damaged_records_alone_is_an_error(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, b"00050nam  2200025 a 4500" + b"x" * 40, "x.mrc")) == (
        "x.mrc:1: is a MARC record that breaks off"
    )


def test_a_record_above_the_limit_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    large, small = marc_record(title("Bees " * 400)), marc_record(title("Wasps", "2"))
    with document_limit(1000):
        assert [each.title for each in read(written(tmp_path, utf8(large, small), "x.mrc"))] == ["Wasps"]
    assert "1: left out: is larger than 1,000 bytes" in caplog.text


def test_deleted_records_and_authorities_are_passed_over(tmp_path: Path) -> None:
    deleted = marc_record(title("Gone"), "00000dam a2200000 a 4500")
    authority = marc_record([("001", "2"), ("150", ("  ", "aBees"))], "00000nz  a2200000n  4500")
    assert [each.title for each in read(written(tmp_path, utf8(deleted, authority, marc_record(BEES)), "x.mrc"))] == [
        READ.title
    ]


def test_a_record_whose_type_is_blank_is_read(tmp_path: Path) -> None:
    untyped = marc_record(title("Bees"), "00000    a2200000   4500")
    assert [each.title for each in read(written(tmp_path, utf8(untyped), "x.mrc"))] == ["Bees"]


def test_a_record_without_number_or_title(tmp_path: Path) -> None:
    notes = marc_record([("520", ("  ", "aIn spirals."))])
    assert read(written(tmp_path, utf8(notes, notes), "x.mrc")) == [
        Document(f"{tmp_path.as_posix()}/x.mrc{end}", "", "In spirals.") for end in ("", "#2")
    ]


def test_labels_of_one_vocabulary(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, utf8(marc_record(BEES)), "x.mrc")
    with on_command_line():
        read(path)
    assert caplog.messages == [
        f"{path}: labels are subjects of ddc (1), rvk (1), lcsh (1), gnd (1), mesh (1); "
        "to take those of one: --columns labels=ddc"
    ]
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
    ("reference", "expected"),
    [
        ("<http://x.org/gnd/4006216-6> Wasps", 0),
        ("<(DE-588)4006216-6> Wasps", 0),
        ("<(DE-627)17> <(DE-588)4006216-6>", 0),
        ("<(DE-588)9999999-9> Wasps", 1),
        ("<(DE-588)9999999-9> wasps--Nests", 1),
        ("Wasps--Nests", 1),
        ("595.799", 1),
        ("<https://id.nlm.nih.gov/mesh/D001516>", 0),
        ("<(DE-627)17> Ants", None),
        ("Ants--Nests", None),
    ],
)
def test_subjects_find_their_labels(tmp_path: Path, reference: str, expected: int | None) -> None:
    """By id, its last part, an exact match, notation, name, or main heading."""
    bees = Label("http://x.org/gnd/4006216-6", ("Bees", "Bienen"), exact=("https://id.nlm.nih.gov/mesh/D001516",))
    vocabulary = Vocabulary([bees, Label("17", ("Wasps",), notation="595.799")])
    (tmp_path / "saved").mkdir()
    vocabulary.save(tmp_path / "saved")
    for each in (vocabulary, Vocabulary.load(tmp_path / "saved")):
        assert each.resolve(reference) == expected

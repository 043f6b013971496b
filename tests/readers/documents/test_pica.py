"""PICA+ records, plain and normalised."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.readers.limits import document_limit
from tagwright.types import Document, Section

BEES = """\
002@ $0Aau
003@ $0123456789
010@ $ager
011@ $a2019$n[2019]
021A $aDie @Bienen$dwie sie fliegen$hvon Ann Low
028A $dAnn$aLow
028C/01 $9987654321$8Bee, Bo ; ID: gnd/1
029A $aHive Institute$bDepartment of Flight
029F $9123456780$7gnd/2$8Bee Society [Tb1] ; ID: gnd/2
033A $pBerlin$nHive Press
037A $aMit Register
041A/00 $9040062163$7gnd/4006216-6$aBiene
044K $9106150764$7gnd/4016963-5$aFlug
044K $9106150765$8Tanz [Tb1] ; ID: gnd/1
044N $aSpiralen
045F $a595.799
045Q/01 $9106407082$842.75 Insekten
045R $aWV 4000
046L $aText deutsch und englisch
046M $aSpiralen; Kreise
046M $aTänze$dein Anhang$hBo Bee
047I $aIn Spiralen, für 5$$.
"""
READ = Document(
    "123456789",
    "Die Bienen : wie sie fliegen",
    "In Spiralen, für 5$.",
    (Section("Contents", 1, ("Spiralen; Kreise", "Tänze : ein Anhang / Bo Bee")),),
    {
        "author": ("Low, Ann", "Bee, Bo", "Hive Institute Department of Flight", "Bee Society"),
        "responsibility": ("von Ann Low",),
        "year": ("2019",),
        "publisher": ("Hive Press",),
        "language": ("ger",),
        "keyword": ("Spiralen",),
        "note": ("Mit Register", "Text deutsch und englisch"),
    },
    ("<gnd/4006216-6> Biene", "<gnd/4016963-5> Flug", "<106150765> Tanz", "595.799", "42.75", "WV 4000"),
)


def normalised(plain: str) -> str:
    """The record on one line: 0x1F before each subfield, 0x1E after each field."""
    fields = (line.replace("$$", "\0").replace("$", "\x1f").replace("\0", "$") for line in plain.splitlines())
    return "".join(f"{field}\x1e" for field in fields) + "\n"


@pytest.mark.parametrize("name", ["x.pica", "x.dat"])
@pytest.mark.parametrize(
    "write", [str, normalised, lambda plain: plain.replace("$$", "\0").replace("$", "ƒ").replace("\0", "$")]
)
def test_a_record_is_read_whole(tmp_path: Path, name: str, write) -> None:  # type: ignore[no-untyped-def]
    second = "003@ $02\n021A $aAnts\n"
    separator = "" if write is normalised else "\n"
    content = separator.join(write(each) for each in (BEES, second))
    assert read(written(tmp_path, content, name)) == [READ, Document("2", "Ants")]


def test_the_subjects_of_one_vocabulary_are_taken(tmp_path: Path) -> None:
    [document] = Corpus.read(written(tmp_path, BEES, "x.pica"), columns={"labels": "gnd"})
    assert document.labels == READ.labels[:3]
    assert document.metadata["subject"] == ("595.799", "42.75", "WV 4000")


def test_damaged_records_are_said_with_their_lines_and_the_others_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, f"003@ $01\nTitle: Bees\n\n{BEES}", "x.pica")
    with caplog.at_level(logging.WARNING):
        assert read(path) == [READ]
    assert "x.pica:2: left out: 'Title: Bees' is no field of PICA+" in caplog.text


def test_a_file_without_a_readable_record_is_refused(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "Bees", "x.pica")).startswith("x.pica:1: 'Bees' is no field of PICA+")


def test_a_record_above_the_limit_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    large = "003@ $01\n" + "021A $aBees\n" * 100
    with document_limit(1000):
        assert read(written(tmp_path, f"{large}\n{BEES}", "x.pica")) == [READ]
    assert "x.pica:1: left out: is larger than 1,000 bytes" in caplog.text


def test_authority_records_are_passed_over(tmp_path: Path) -> None:
    authority = "002@ $0Tsv1\n003@ $01\n041A $aBiene\n"
    assert read(written(tmp_path, f"{authority}\n{BEES}", "x.pica")) == [READ]

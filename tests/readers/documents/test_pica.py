"""PICA+ records, plain and normalised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.readers.reading import read, written

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
        "label_source": ("gnd", "gnd", "gnd", "ddc", "bkl", "rvk"),
    },
    ("<gnd/4006216-6> Biene", "<gnd/4016963-5> Flug", "<106150765> Tanz", "595.799", "42.75", "WV 4000"),
)


def normalised(plain: str) -> str:
    """The record on one line: 0x1F before each subfield, 0x1E after each field."""
    fields = (line.replace("$$", "\0").replace("$", "\x1f").replace("\0", "$") for line in plain.splitlines())
    return "".join(f"{field}\x1e" for field in fields) + "\n"


def of_client(plain: str) -> str:
    """As the cataloguing client shows it."""
    return plain.replace("$$", "\0").replace("$", "ƒ").replace("\0", "$") + "\n"


def binary(plain: str) -> str:
    """0x1E before and after each field, and 0x1D at the end of the record."""
    return "\x1e" + normalised(plain).strip("\n").replace("\x1e", "\x1e\x1e")[:-1] + "\x1d"


def for_import(plain: str) -> str:
    """0x1D on a line before the record, 0x1E before each field, a field on a line."""
    return "\x1d\n" + "".join(f"\x1e{each}\n" for each in normalised(plain).strip("\x1e\n").split("\x1e"))


def in_xml(plain: str) -> str:
    record = ""
    for line in plain.splitlines():
        tag, _, rest = line.partition(" ")
        number = f' occurrence="{tag[5:]}"' if tag[5:] else ""
        parts = rest.replace("$$", "\0").replace("&", "&amp;").split("$")[1:]
        subfields = "".join(f'<subfield code="{each[0]}">{each[1:]}</subfield>' for each in parts).replace("\0", "$")
        record += f'<datafield tag="{tag[:4]}"{number}>{subfields}</datafield>'
    return f'<record xmlns="info:srw/schema/5/picaXML-v1.0">{record}</record>'


def in_ppxml(plain: str) -> str:
    return (
        in_xml(plain).replace("datafield", "tag").replace(' tag="', ' id="').replace("occurrence=", "occ=")
        .replace("subfield", "subf").replace("code=", "id=").replace("info:srw/schema/5/picaXML-v1.0", "http://ppxml-1.0")
        .replace("<tag ", "<global><tag ", 1).replace("</record>", "</global></record>")
    )  # fmt: skip


WRITERS: dict[str, Callable[[str], str]] = {
    "plain": lambda plain: f"{plain}\n",
    "plain without blank lines": str,
    "of the client": of_client,
    "normalised": normalised,
    "normalised without line ends": lambda plain: normalised(plain).strip("\n"),
    "binary": binary,
    "binary with line ends": lambda plain: f"{binary(plain)}\n",
    "normalised with 0x1D": lambda plain: normalised(plain).strip("\n") + "\x1d\r\n",
    "import": for_import,
    "with the number before the record": lambda plain: f"12345     \x1e{normalised(plain)}",
    "XML": in_xml,
    "PPXML": in_ppxml,
}


@pytest.mark.parametrize("name", ["x.pica", "x.dat"])
@pytest.mark.parametrize("serialisation", WRITERS)
def test_every_record_is_read_whole_in_every_serialisation(tmp_path: Path, name: str, serialisation: str) -> None:
    second = "003@ $02\n021A $aAnts\n"
    content = "".join(WRITERS[serialisation](f"003@ $0{number}\n021A $aAnts\n") for number in range(3, 6))
    content = "".join(WRITERS[serialisation](each) for each in (BEES.replace("002@ $0Aau\n", ""), second)) + content
    if "XML" in serialisation:
        content = f'<?xml version="1.0"?>\n<collection>{content}</collection>'
    assert read(written(tmp_path, content, name)) == [READ, *(Document(each, "Ants") for each in "2345")]


def test_fields_of_copies_belong_to_the_record_before_them(tmp_path: Path) -> None:
    """In dumps each level of a record has an end of its own, and the number of the record before it."""
    title, library, copy = ("003@ $01\n021A $aAnts\n", "101@ $a22\n", "203@/01 $02\n044K $aAmeise\n")
    record = "".join(
        f"01000003  {place}\x1e{normalised(each)}\x1d" for place, each in enumerate((title, library, copy))
    )
    content = record.replace("\n", "") + binary("003@ $02\n021A $aBees\n")
    assert read(written(tmp_path, content, "x.pica")) == [
        Document("1", "Ants", metadata={"label_source": ("gnd",)}, labels=("Ameise",)),
        Document("2", "Bees"),
    ]


def test_a_damaged_binary_record_costs_itself_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [binary(f"003@ $0{number}\n021A $aAnts\n").encode() for number in range(1, 6)]
    records[1] = records[1].replace(b"021A", b"Title")
    records[2] = records[2].replace(b"Ants", b"\xff")
    records[3] = records[3].replace(b"Ants", b"Ants" * 1000)
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "1000")
    assert [each.id for each in read(written(tmp_path, b"".join(records), "x.pica"))] == ["1", "5"]
    first, second, third = (message.partition("x.pica:")[2] for message in caplog.messages)
    assert first.startswith("2: left out: 'Title \\x1faAnts' is no field of PICA+")
    assert second == "3: left out: byte 0xff is not UTF-8; encoding=cp1252 names another"
    assert third.startswith("4: left out: is larger than 1,000 bytes")

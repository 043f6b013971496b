from __future__ import annotations

import logging
import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pymarc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymarc import marc8_to_unicode
from tests.readers.documents.catalogue_records import BEES, Values, in_xml, marc_record, utf8
from tests.readers.reading import read, written

from tagwright.catalogues.copies import read_records, write_copy
from tagwright.catalogues.iso2709 import to_marc8
from tagwright.catalogues.subjects import (
    NewSubject,
    Provenance,
    Suggested,
    fields_of,
    of_run,
    subject_field,
    suggested_by,
)
from tagwright.data.subjects import recognise_source
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.types import Label, Run

PROVENANCE = Provenance(source="gnd", date="20260131", method="tagwright 9")
BEE = NewSubject("http://x.org/bee", "Bienen", 0.825)
BEAR = NewSubject("4006216-6", "Bär & Łódź <Б>")
SUBJECTS = [BEE, BEAR]
PLAIN = [field for field in BEES if field[0] != "650"]
FIELDS = [
    ("650", " 7", [("8", "1\\p"), ("a", "Bienen"), ("0", "http://x.org/bee"), ("2", "gnd")]),
    ("650", " 7", [("8", "2\\p"), ("a", "Bär & Łódź <Б>"), ("0", "(DE-588)4006216-6"), ("2", "gnd")]),
    ("883", "0 ", [("8", "1\\p"), ("a", "tagwright 9"), ("c", "0.825"), ("d", "20260131")]),
    ("883", "0 ", [("8", "2\\p"), ("a", "tagwright 9"), ("d", "20260131")]),
]


def suggest(subjects: Sequence[NewSubject] = SUBJECTS) -> Suggested:
    return lambda _, __: subjects


def copied(folder: Path, records: bytes, name: str = "in.mrc", suggested: Suggested | None = None) -> bytes:
    path = written(folder, records, name)
    write_copy(path, folder / f"out.{name}", suggested or suggest(), PROVENANCE)
    assert path.read_bytes() == records
    return (folder / f"out.{name}").read_bytes()


def fields(record: bytes) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """All fields of a record as pymarc reads them; those of control have their data as a subfield."""
    decoded = pymarc.Record(data=record, hide_utf8_warnings=True)
    return [
        (each.tag, "", [("", each.data or "")])
        if each.control_field
        else (each.tag, "".join(each.indicators or ""), [(one.code, one.value) for one in each.subfields])
        for each in decoded.fields
    ]


def many_records() -> list[bytes]:
    """Records with texts drawn at random: every other one is in MARC-8, whose accents come before their letters."""
    rng = random.Random(0)
    words = {
        True: ["bees", "Vögel", "Łódź", "Пчёлы", "蜂", "a\u0301"],
        False: ["bees", "V\xe8ogel", "\xa1\xe2od\xe2z", "\x1b(NpCELY\x1b(B", "&c."],
    }

    def text(in_utf8: bool) -> str:
        return " ".join(rng.choices(words[in_utf8], k=rng.randint(1, 12)))

    found = []
    for number in range(200):
        in_utf8 = number % 2 == 0
        tags = sorted(rng.choices(["100", "245", "500", "520", "650", "655", "700", "856", "900"], k=rng.randint(1, 9)))
        content = [(tag, ("  ", f"a{text(in_utf8)}", f"b{text(in_utf8)}")) for tag in tags]
        leader = "00000nam a2200000 a 4500" if in_utf8 else "00000nam  2200000 a 4500"
        found.append(marc_record([("001", f"n{number}"), *content], leader).as_marc())
    return found


def test_many_records_are_copied_byte_for_byte_but_for_the_added_fields(tmp_path: Path) -> None:
    records = many_records()
    parts = copied(tmp_path, b"".join(records)).split(b"\x1d")
    copies = [part + b"\x1d" for part in parts[:-1]]
    assert (len(copies), parts[-1]) == (200, b"")
    assert sum(record[9:10] == b"a" for record in records) == 100
    for record, copy in zip(records, copies, strict=True):
        base, copied_base = int(record[12:17]), int(copy[12:17])
        assert copy[5:12] + copy[17:24] == record[5:12] + record[17:24]
        assert int(copy[:5]) == len(copy)
        assert copy[copied_base:].startswith(record[base:-1])
        entries, copied_entries = (
            [each[start : start + 12] for start in range(24, end - 1, 12)]
            for each, end in ((record, base), (copy, copied_base))
        )
        added = [each for each in copied_entries if each not in entries]
        assert [each for each in copied_entries if each in entries] == entries
        assert [each[:3] for each in added] == [b"650", b"650", b"883", b"883"]
        assert [each[:1] for each in copied_entries] == sorted(each[:1] for each in copied_entries)
        before, after = fields(record), fields(copy)
        new = [each for each in after if each[1] in (" 7", "0 ")]
        assert [each for each in after if each not in new] == before
        expected = FIELDS if record[9:10] == b"a" else marc8(FIELDS)
        assert new == expected


def marc8(expected: list[tuple[str, str, list[tuple[str, str]]]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The same where pymarc does not resolve the reference of a character that is not in the Latin set."""
    return [
        (tag, indicators, [(code, value.replace("Б", "&#x0411;")) for code, value in subfields])
        for tag, indicators, subfields in expected
    ]


XML = """<?xml version="1.0" encoding="{encoding}"?>
<!-- two records --><c:collection xmlns:c="http://www.loc.gov/MARC21/slim">
  <c:record>
    <c:leader>00000nam a2200000 a 4500</c:leader>
    <c:controlfield tag='001'> 1 </c:controlfield>
    <c:datafield tag="245" ind1="0" ind2="0"><c:subfield code="a">B\xe4r <![CDATA[<Biene>]]></c:subfield></c:datafield>
    <c:datafield tag="650" ind1=" " ind2="7"><c:subfield code="8">4\\p</c:subfield></c:datafield>
    <c:datafield tag="690" ind1=" " ind2=" "/>{six}
    <c:datafield tag="900" ind1=" " ind2=" "/>
  </c:record><c:record><c:controlfield tag="001">2</c:controlfield></c:record>
</c:collection>
"""
XML_650 = (
    '\n    <c:datafield tag="650" ind1=" " ind2="7"><c:subfield code="8">5\\p</c:subfield>'
    '<c:subfield code="a">{name}</c:subfield><c:subfield code="0">(DE-588)4006216-6</c:subfield>'
    '<c:subfield code="2">gnd</c:subfield></c:datafield>'
)
XML_883 = (
    '\n    <c:datafield tag="883" ind1="0" ind2=" "><c:subfield code="8">5\\p</c:subfield>'
    '<c:subfield code="a">tagwright 9</c:subfield><c:subfield code="d">20260131</c:subfield></c:datafield>'
)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-8", "Bär &amp; Łódź &lt;Б&gt;"), ("iso-8859-1", "B&#228;r &amp; &#321;&#243;d&#378; &lt;&#1041;&gt;")],
)
def test_xml_is_copied_byte_for_byte_but_for_the_added_fields(tmp_path: Path, encoding: str, name: str) -> None:
    """Each field goes behind those of its hundred, in the encoding of the file and with its prefix and indent."""
    only_first: Suggested = lambda number, _: [BEAR] if number == "1" else []  # noqa: E731
    given = XML.format(encoding=encoding, six="").encode(encoding)
    six = XML_650.format(name=name) + XML_883
    expected = XML.format(encoding=encoding, six=six).encode(encoding)
    assert copied(tmp_path, given, "in.xml", only_first) == expected


def test_large_xml_is_copied_in_parts(tmp_path: Path) -> None:
    records = [marc_record([("001", f"n{number}"), ("245", ("00", "aBees " + "x" * 500))]) for number in range(300)]
    content = in_xml(*records)
    copy = copied(tmp_path, content, "in.xml", suggest([BEE]))
    assert copy.count(b"</datafield>") == content.count(b"</datafield>") + 600
    assert [each.labels for each in read(tmp_path / "out.in.xml")] == [("<http://x.org/bee> Bienen",)] * 300


def test_records_that_cannot_be_enriched_are_copied_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = utf8(marc_record([("001", "1"), ("245", ("00", "aBees"))]))
    nameless = utf8(marc_record([("245", ("00", "aBees"))]))
    long = utf8(marc_record([("001", "9"), *(("520", ("  ", "a" + "x" * 9975)) for _ in range(10))]))
    damaged = good[:12] + b"xxxxx" + good[17:]
    with caplog.at_level(logging.WARNING):
        copy = copied(tmp_path, damaged + b"\r\n" + nameless + long + b"\n" + good + good[:-4])
    assert copy.startswith(damaged + b"\r\n" + nameless + long + b"\n")
    assert copy.endswith(b"\x1d" + good[:-4])
    assert caplog.messages == [
        f"{tmp_path}/in.mrc:1: is copied without suggestions: its lengths do not fit (and 2 other records)",
        f"{tmp_path}/in.mrc:2: is copied without suggestions: it has no control number (001)",
    ]


def test_records_that_cannot_be_read_are_said_to_be_copied_and_labels_are_not_spoken_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    good = utf8(marc_record(BEES))
    path = written(tmp_path, good[:12] + b"xxxxx" + good[17:] + good, "in.mrc")
    with caplog.at_level(logging.INFO):
        corpus, _ = read_records(path)
    assert len(corpus) == 1
    assert any("is copied without suggestions: it is a damaged MARC record" in each for each in caplog.messages)
    said = "".join(caplog.messages) + capsys.readouterr().err
    assert not [each for each in ("left out", "invalid literal", "labels are subjects") if each in said]
    with pytest.raises(InputError, match="damaged MARC record"):
        read_records(written(tmp_path, good[:12] + b"xxxxx" + good[17:], "damaged.mrc"))


def test_a_record_that_would_get_too_long_is_copied_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    long = utf8(marc_record([("001", "9"), *(("520", ("  ", "a" + "x" * 9975)) for _ in range(10))]))
    assert write_copy(written(tmp_path, long, "in.mrc"), tmp_path / "out", suggest(), PROVENANCE) == (0, 0, 0)
    assert (tmp_path / "out").read_bytes() == long
    assert caplog.messages == [
        f"{tmp_path}/in.mrc:1: is copied without suggestions: it would have {len(long) + 209:,} bytes, "
        "at most 99,999 are possible"
    ]


def test_a_repeated_number_is_found_by_its_place(tmp_path: Path) -> None:
    """The second record is deleted, the third cannot be read: they get no suggestions, those with their number do."""
    texts = {"1": "Bees", "x": "Gone", "y": "Lost", "2": "Wasps", "3": "Bees, second printing"}
    leaders = {"x": "00000dam a2200000 a 4500"}
    records = [
        marc_record(
            [("001", id_ if id_ == "2" else "1"), ("245", ("00", f"a{text}"))], *filter(None, [leaders.get(id_)])
        )
        for id_, text in texts.items()
    ]
    damaged = utf8(records[2]).replace(b"Lost", b"\xff\xff\xff\xff")
    path = written(tmp_path, utf8(*records[:2]) + damaged + utf8(*records[3:]), "in.mrc")
    expected = {"1": "Bees", "2": "Wasps", "1#5": "Bees, second printing"}
    labels = Vocabulary([Label(id_, (text,)) for id_, text in expected.items()])
    for xml in (False, True):
        if xml:
            path, expected = written(tmp_path, in_xml(*records), "in.xml"), {**expected, "1#3": "Lost"}
            labels = Vocabulary([Label(id_, (text,)) for id_, text in expected.items()])
        corpus, places = read_records(path)
        assert set(corpus.ids) == set(expected)
        run = Run.from_rows([{labels.index[each.id]: 1.0} for each in corpus])
        suggested = suggested_by(of_run(run, labels), corpus.ids, places)
        assert write_copy(path, tmp_path / "out", suggested, PROVENANCE) == (len(expected), len(expected), 0)
        copies = read(tmp_path / "out", format="marcxml" if xml else "marc")
        assert {each.id: each.title for each in copies} == expected
        assert all(each.labels == (f"<(DE-588){each.id}> {each.title}",) for each in copies)


def later(record: bytes, folder: Path, name: str, subjects: Sequence[NewSubject] | None) -> bytes:
    """A copy of a copy, made a year later."""
    path = written(folder, record, f"copy.{name}")
    suggested: Suggested = lambda _, __: subjects  # noqa: E731
    write_copy(path, folder / "later", suggested, replace(PROVENANCE, date="20270131"))
    return (folder / "later").read_bytes()


FILES: dict[str, Callable[[], bytes]] = {
    "in.mrc": lambda: b"".join(many_records()),
    "in.xml": lambda: in_xml(*(marc_record([*PLAIN, ("900", ("  ", "aLocal"))]) for _ in range(3))),
    "indented.xml": lambda: XML.format(encoding="iso-8859-1", six="").encode("iso-8859-1"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_copy_of_a_copy_is_equal_and_what_was_rejected_since_is_gone(tmp_path: Path, name: str) -> None:
    records = FILES[name]()
    copy = copied(tmp_path, records, name)
    assert copy != records
    assert later(copy, tmp_path, name, SUBJECTS) == copy
    assert later(copy, tmp_path, name, None) == copy
    assert later(copy, tmp_path, name, [BEE]) == copied(tmp_path, records, name, suggest([BEE]))
    assert later(copy, tmp_path, name, []) == records


def test_the_number_of_subjects_taken_out_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, copied(tmp_path, utf8(marc_record(PLAIN))), "copy.mrc")
    assert write_copy(path, tmp_path / "out", suggest([BEE]), PROVENANCE) == (1, 1, 2)


CATALOGUED: list[tuple[str, Values]] = [
    ("082", ("04", "81\\p", "a595.79", "222")),
    ("650", (" 7", "83\\p", "aBienen", "0(DE-588)4006216-6", "2gnd")),  # of ours, but linked to another origin too
    ("650", (" 0", "aBees.")),
    ("650", (" 7", "aBienenzucht", "2gnd")),  # of ours once: somebody took its link away
    ("651", (" 7", "82\\p", "aBerlin", "2gnd")),
    ("883", ("1 ", "81\\p", "aautodewey", "d20260101", "qDLC", "c1")),
    ("883", ("0 ", "83\\p", "aTagwrighter", "d20260101")),
]


@pytest.mark.parametrize("name", ["in.mrc", "in.xml"])
def test_subjects_that_a_cataloguer_entered_are_never_touched(tmp_path: Path, name: str) -> None:
    ours: list[tuple[str, Values]] = [
        ("883", ("0 ", f"8{link}\\p", "atagwright 0.9.0", "d20260101")) for link in (2, 3)
    ]
    start: list[tuple[str, Values]] = [("001", "1"), ("245", ("00", "aBees"))]
    with_ours, without = (
        marc_record(sorted([*start, *CATALOGUED, *more], key=lambda field: field[0])) for more in (ours, [])
    )
    as_file = in_xml if name == "in.xml" else utf8
    assert later(as_file(with_ours), tmp_path, name, []) == as_file(without)


@pytest.mark.parametrize(
    ("subject", "source"),
    [
        (NewSubject("https://d-nb.info/gnd/4006216-6", "Biene"), "gnd"),  # its number is there
        (NewSubject("gnd:1", "Bienenzucht"), "gnd"),  # its name is there, without a number
        (NewSubject("http://id.loc.gov/authorities/subjects/sh85012704", "Bees"), "lcsh"),
    ],
)
def test_what_a_cataloguer_entered_is_not_added_again(tmp_path: Path, subject: NewSubject, source: str) -> None:
    record: list[tuple[str, Values]] = [("001", "1"), ("245", ("00", "aBees")), *CATALOGUED]
    path = written(tmp_path, utf8(marc_record(record)), "in.mrc")
    provenance = replace(PROVENANCE, source=source)
    assert write_copy(path, tmp_path / "out", suggest([subject]), provenance) == (0, 0, 0)
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    other = subject._replace(id="gnd:2", name="Wespen")
    assert write_copy(path, tmp_path / "out", suggest([subject, other]), provenance) == (1, 1, 0)


@pytest.mark.parametrize(
    ("label_id", "source", "indicators", "number", "code"),
    [
        ("http://d-nb.info/gnd/4058047-7", "gnd", " 7", "(DE-588)4058047-7", "gnd"),
        ("gnd:4058047-7", "gnd", " 7", "(DE-588)4058047-7", "gnd"),
        ("(DE-588)4058047-7", "gnd", " 7", "(DE-588)4058047-7", "gnd"),
        ("http://id.worldcat.org/fast/829875", "fast", " 7", "(OCoLC)fst00829875", "fast"),
        ("http://id.loc.gov/authorities/subjects/sh85012704", "lcsh", " 0", "=", ""),
        ("https://id.nlm.nih.gov/mesh/D001516", "mesh", " 2", "=", ""),
        ("http://www.yso.fi/onto/yso/p3147", "yso", " 7", "=", "yso/fin"),
        ("http://www.yso.fi/onto/yso/p3147", "yso/swe", " 7", "=", "yso/swe"),
        ("http://aims.fao.org/aos/agrovoc/c_874", "agrovoc", " 7", "=", "agrovoc"),
        ("http://eurovoc.europa.eu/1040", "eurovoc", " 7", "=", "eurovoc"),
        ("c_874", "agrovoc", " 7", "http://aims.fao.org/aos/agrovoc/c_874", "agrovoc"),
        ("http://x.org/1", "zoo", " 7", "=", "zoo"),
        ("1", "local", " 7", "(local)1", "local"),
    ],
)
def test_numbers_and_sources_as_catalogues_write_them(
    label_id: str, source: str, indicators: str, number: str, code: str
) -> None:
    field = subject_field(label_id, "Bees", source, "fi")
    number = label_id if number == "=" else number
    expected = (("a", "Bees"), ("0", number), *([("2", code)] if code else []))
    assert (field.indicators, field.subfields) == (indicators, expected)
    known = {"http": source.partition("/")[0], "gnd:": "gnd"}.get(label_id[:4], "")
    assert recognise_source([label_id])[0] == ("" if source == "zoo" else known)


def test_883_is_as_marc_defines_it() -> None:
    """First indicator: 0 by a machine, 1 by one in part, 2 not by one; $d yyyymmdd; $q of who assigns.

    $c is a decimal from 0 to 1.

    A person decided on subjects that were accepted, so the confidence of the machine is not said of them.
    """
    subjects = [
        NewSubject("1", "A", 1.0),
        NewSubject("2", "B", assigned="1", date="20260102"),
        NewSubject("3", "C", assigned="2", date="20260103"),
        NewSubject("4", "D", 0.00012),
    ]
    fields = fields_of(subjects, replace(PROVENANCE, agency="DE-101"))
    assert [(field.tag, field.indicators, *field.subfields) for field in fields[4:]] == [
        ("883", "0 ", ("8", "1\\p"), ("a", "tagwright 9"), ("c", "1"), ("d", "20260131"), ("q", "DE-101")),
        ("883", "1 ", ("8", "2\\p"), ("a", "tagwright 9"), ("d", "20260102"), ("q", "DE-101")),
        ("883", "2 ", ("8", "3\\p"), ("a", "tagwright 9"), ("d", "20260103"), ("q", "DE-101")),
        ("883", "0 ", ("8", "4\\p"), ("a", "tagwright 9"), ("c", "0.0001"), ("d", "20260131"), ("q", "DE-101")),
    ]


def test_a_record_whose_fields_overlap_keeps_its_subjects(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy = copied(tmp_path, utf8(marc_record([("001", "1"), ("245", ("00", "aBees"))])))
    start = copy.index(b"883")
    overlapping = copy[: start + 7] + b"00000" + copy[start + 12 :]
    assert later(overlapping, tmp_path, "in.mrc", []) == overlapping
    assert caplog.messages[-1].endswith("copy.in.mrc:1: is copied without suggestions: its lengths do not fit")


@pytest.mark.parametrize("name", ["in.mrc", "in.xml"])
@pytest.mark.parametrize("end", [b"4500", b"450 "])
def test_records_of_unimarc_are_copied_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, end: bytes
) -> None:
    record = marc_record([("001", "1"), ("200", ("1 ", "aLe api"))], "00000nam0a2200000   4500")
    content = (in_xml(record, record) if name == "in.xml" else utf8(record, record)).replace(b"4500", end)
    assert copied(tmp_path, content, name) == content
    problem = "no MARC 21 record" if name == "in.mrc" and end == b"450 " else "UNIMARC"
    assert caplog.messages == [
        f"{tmp_path}/{name}:1: is copied without suggestions: it is {problem} (and 1 other record)"
    ]


def test_the_input_is_never_replaced(tmp_path: Path) -> None:
    path = written(tmp_path, utf8(marc_record(BEES)), "in.mrc")
    (tmp_path / "link.mrc").symlink_to(path)
    for output in (path, tmp_path / "link.mrc"):
        with pytest.raises(ConfigError, match="the copy would replace the records; name another file"):
            write_copy(path, output, suggest(), PROVENANCE)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "1", "title": "Bees"}')
    with pytest.raises(InputError, match=r"x\.jsonl: is of the format jsonl, expected MARC records \(marc, marcxml\)"):
        write_copy(path, tmp_path / "out", suggest(), PROVENANCE)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            '<!DOCTYPE r [<!ENTITY e "x">]><record><datafield tag="245">&e;</datafield></record>',
            "declares the XML entity",
        ),
        ('<record><controlfield tag="001">1</controlfield><datafield tag="245">', "it is not XML"),
        ('<record><datafield tag="245"/></record>'.encode("utf-16"), "it is in UTF-16"),
        ('<?xml version="1.0" encoding="UT9-8"?><record><datafield tag="245"/></record>', "unknown encoding: UT9-8"),
    ],
)
def test_xml_that_cannot_be_copied(tmp_path: Path, content: str | bytes, problem: str) -> None:
    path = written(tmp_path, content, "in.xml")
    with pytest.raises(InputError, match=problem):
        write_copy(path, tmp_path / "out.xml", suggest(), PROVENANCE)
    assert not (tmp_path / "out.xml").exists()


@pytest.mark.parametrize("code", ["", "gnd$", "g d"])
def test_codes_that_would_break_a_field(code: str) -> None:
    with pytest.raises(ConfigError, match="expected MARC's code of the vocabulary, of letters and digits"):
        Provenance(source=code, date="20260131")


LATIN = [chr(code) for code in range(0xC0, 0x180) if unicodedata.decomposition(chr(code)) or chr(code) in "æøœłđðþßı"]
LATIN = [sign for sign in LATIN if not unicodedata.decomposition(sign).startswith("<")]


@given(st.text(st.sampled_from([*LATIN, *map(chr, range(0x20, 0x7F))])))
def test_latin_letters_are_read_again(text: str) -> None:
    """By another implementation, pymarc's."""
    assert marc8_to_unicode(to_marc8(text)) == unicodedata.normalize("NFC", text)


@given(st.text())
def test_every_text_can_be_written_without_signs_of_the_format(text: str) -> None:
    written = to_marc8("".join(sign for sign in text if sign >= " " and not "\ud800" <= sign <= "\udfff"))
    assert not set(written) & set(b"\x1b\x1d\x1e\x1f")


def test_a_subject_that_was_only_left_is_written_where_an_earlier_copy_wrote_it_and_nowhere_else() -> None:
    origin, left = Provenance(source="zoo", date="20260102"), BEE._replace(kept=True)
    written = fields_of([BEE], origin)
    assert fields_of([left], origin) == []  # the record has it in a form of its own
    assert fields_of([left], origin, record=(), earlier=written) == written
    assert fields_of([left], origin, record=written, earlier=written) == []

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.readers.documents.s2orc import adapt_s2orc
from tagwright.types import Document, Section

BODY = [
    {"text": "Bees fly.", "section": "Introduction", "sec_num": "1"},
    {"text": "They do.", "section": "Introduction", "sec_num": "1"},
    {"text": "We looked.", "section": "Bees", "sec_num": "2.1"},
    {"text": "At wings.", "section": "Wings", "sec_num": "2.1.1"},
    {"text": "Yes.", "section": "Conclusion", "sec_num": None},
]
SECTIONS = (
    Section("Introduction", 1, ("Bees fly.", "They do.")),
    Section("", 1),
    Section("Bees", 2, ("We looked.",)),
    Section("Wings", 3, ("At wings.",)),
    Section("Conclusion", 1, ("Yes.",)),
)
AUTHORS = [{"first": "Ann", "middle": ["B"], "last": "Müller", "suffix": ""}, {"name": "Bo Low"}]
WORKS = {
    "BIBREF0": {"title": "x", "link": "8", "other_ids": {"DOI": ["10.1000/a"]}},
    "BIBREF1": {"title": "y", "link": None, "other_ids": {"DOI": ["10.1000/B"]}},
    "BIBREF2": {"title": "z", "other_ids": {}},
}
PARSE = {"abstract": [{"text": "Short."}, {"text": "Good."}], "body_text": BODY, "bib_entries": WORKS}
LISTED: dict[str, dict[str, Any]] = {
    "2019": {"paper_id": "7", "grobid_parse": PARSE, "latex_parse": None, "s2_pdf_hash": "0",
             "metadata": {"title": "Bees", "authors": AUTHORS, "abstract": None}},
    "2019 with an abstract": {"paper_id": "7", "metadata": {"title": "Bees", "authors": AUTHORS, "abstract":
                              "Short.\n\nGood."}, "grobid_parse": {"abstract": [{"text": "Sh"}]}, "latex_parse": PARSE},
    "first release": {"paper_id": "7", "title": "Bees", "authors": AUTHORS, **PARSE},
    "doc2json": {"paper_id": "7", "title": "Bees", "authors": AUTHORS, "venue": "", "abstract": "Short.\n\nGood.",
                 "pdf_parse": PARSE, "latex_parse": None},
    "CORD-19": {"paper_id": "7", "metadata": {"title": "Bees", "authors": AUTHORS}, **PARSE, "back_matter": []},
}  # fmt: skip


@pytest.mark.parametrize("layout", LISTED)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_papers_with_listed_paragraphs(tmp_path: Path, layout: str, name: str) -> None:
    text = json.dumps(LISTED[layout], indent=2 if name == "a.json" else None)
    metadata = {"author": ("Ann B Müller", "Bo Low"), "reference": ("8", "10.1000/b")}
    [document] = read(written(tmp_path, text, name))
    assert document == Document("7", "Bees", "Short.\n\nGood.", SECTIONS, metadata)


def test_works_of_2019_have_several_links() -> None:
    record = {"paper_id": "1", "grobid_parse": {"bib_entries": {"b0": {"links": "8"}, "b1": {"links": ["9", "10"]}}}}
    assert adapt_s2orc(record)["metadata"] == {"reference": ["8", "9"]}


def test_fields_that_are_not_read_are_counted_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    more = {"back_matter": [{"text": "Thanks."}], "ref_entries": {}}
    records = [
        {"paper_id": "1", "pdf_parse": PARSE | more, "latex_parse": PARSE, "mag_id": "3"},
        {"paper_id": "2", "metadata": {"title": "Bees", "doi": "10.1/a"}, "grobid_parse": PARSE | more, "mag_id": None},
        {"paper_id": "3", **PARSE, **more, "mag_id": "4", "venue": "J Bees"},
    ]
    path = written(tmp_path, "".join(json.dumps(each) + "\n" for each in records))
    assert len(read(path)) == 3
    assert caplog.messages == [f"{path}: not read: mag_id (2), latex_parse (1), back_matter (1)"]


def test_sections_may_be_paths() -> None:
    texts = {"a": "Methods", "b": "Methods ::: Bees", "c": "Methods ::: Wings ::: Left", "d": "Methods", "e": ""}
    record = adapt_s2orc({"paper_id": "1", "body_text": [{"text": t, "section": s} for t, s in texts.items()]})
    assert [(each["heading"], each["level"], each["paragraphs"]) for each in record["sections"]] == [
        ("Methods", 1, ["a"]),
        ("Bees", 2, ["b"]),
        ("Wings", 2, []),
        ("Left", 3, ["c"]),
        ("Methods", 1, ["d"]),
        ("", 1, ["e"]),
    ]


PARTS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("title", "Bees", None),
    ("author", "", None),
    ("authorfirstname", "Ann", None),
    ("authorlastname", "Low", None),
    ("abstract", "Short.", None),
    ("sectionheader", "Introduction", {"n": "1"}),
    ("paragraph", "Bees fly.", None),
    ("sectionheader", "Wings", {"n": "1.1"}),
    ("paragraph", "Four.", None),
    ("bibentry", "x", {"matched_paper_id": 8}),
    ("bibentry", "y", {"doi": "10.1000/B"}),
    ("bibentry", "z", None),
]


def annotated() -> tuple[str, dict[str, Any]]:
    """A text with notes of where its parts lie, as lists in strings."""
    text, notes = "", dict[str, list[dict[str, Any]]]()
    for kind, part, attributes in PARTS:
        span: dict[str, Any] = {"start": len(text), "end": len(text) + len(part)}
        notes.setdefault(kind, []).append(span | ({"attributes": attributes} if attributes else {}))
        text += part + " "
    notes["author"][0]["end"] = notes["authorlastname"][0]["end"]
    notes["paragraph"].insert(0, dict(notes["abstract"][0]))
    return text, {kind: json.dumps(spans) for kind, spans in notes.items()} | {"formula": None}


def test_papers_with_annotated_text(tmp_path: Path) -> None:
    text, notes = annotated()
    sections = (Section("Introduction", 1, ("Bees fly.",)), Section("Wings", 2, ("Four.",)))
    metadata = {"author": ("Ann Low",), "reference": ("8", "10.1000/b")}
    expected = Document("7", "Bees", "Short.", sections, metadata)
    content = {"text": text, "annotations": notes}
    first = {"corpusid": 7, "externalids": {"doi": "x"}, "content": {"source": {}, **content}}
    head = {"corpusid": 7, "title": "Bees", "authors": [{"name": "Ann Low"}]}
    second = {**head, "body": content, "bibliography": content}
    for record in (first, second):
        assert read(written(tmp_path, json.dumps(record))) == [expected]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"body_text": "Bees fly."}, 'x.jsonl:1: body_text is "Bees fly.", expected a list of objects'),
        ({"body_text": ["Bees fly."]}, 'body_text holds "Bees fly.", expected an object with text'),
        ({"body_text": [{"text": None}]}, 'body_text holds {"text": null}, expected an object with text'),
        ({"pdf_parse": [1]}, "pdf_parse is [1], expected an object"),
        ({"content": {"text": 3}}, "content.text is 3, expected a text"),
        ({"content": {"annotations": {"title": "[{]"}}}, 'annotations.title is "[{]", expected a list of objects'),
        ({"content": {"annotations": {"title": [{"start": "a"}]}}}, "a list of objects with start and end"),
    ],
)
def test_what_is_of_a_wrong_type_is_named(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    assert problem in refusal(written(tmp_path, json.dumps({"paper_id": "1", **fields})))


def test_attributes_of_a_heading_that_are_no_object_are_ignored() -> None:
    notes = {"sectionheader": [{"start": 0, "end": 5, "attributes": ["1"]}]}
    found = adapt_s2orc({"corpusid": "1", "content": {"text": "Wings", "annotations": notes}})
    assert [section["heading"] for section in found["sections"]] == ["Wings"]

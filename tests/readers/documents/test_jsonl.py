from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.reading import read, refusal, same_folder, written

from tagwright.readers.documents.jsonl import read_jsonl, write_jsonl
from tagwright.text.words import clean
from tagwright.types import Document, Section


def test_json_lines_in_the_own_shape_give_every_part_of_a_document(tmp_path: Path) -> None:
    record = {
        "id": 7,
        "title": "Bees",
        "abstract": "They fly.",
        "sections": [{"heading": "Wings", "level": 2, "paragraphs": ["Four.", "Thin."]}, {"heading": "Legs"}],
        "metadata": {"author": ["Ann", "Bob"], "venue": "Nature", "year": 2020},
        "labels": ["D1", 2, "D1"],
    }
    assert read(written(tmp_path, json.dumps(record))) == [
        Document(
            "7",
            "Bees",
            "They fly.",
            (Section("Wings", 2, ("Four.", "Thin.")), Section("Legs", 1, ())),
            {"author": ("Ann", "Bob"), "venue": ("Nature",), "year": ("2020",)},
            ("D1", "2"),
        )
    ]


def test_text_is_the_abstract_or_else_a_section(tmp_path: Path) -> None:
    lines = '{"id": "a", "text": "Body."}\n{"id": "b", "abstract": "Short.", "text": "Body."}\n'
    first, second = read(written(tmp_path, lines))
    assert (first.abstract, first.sections) == ("Body.", ())
    assert (second.abstract, second.sections) == ("Short.", (Section("", 1, ("Body.",)),))


def test_annif_json_lines_have_subjects_and_titles_in_the_metadata(tmp_path: Path) -> None:
    subjects = [{"uri": "http://x/1", "label": "bees"}, {"label": "wasps"}]
    record = {"text": "They fly.", "metadata": {"title": "Bees", "author": "Ann"}, "subjects": subjects}
    assert read(written(tmp_path, json.dumps(record))) == [
        Document("1", "Bees", "They fly.", (), {"author": ("Ann",)}, ("http://x/1", "wasps"))
    ]


def test_fields_that_cannot_be_metadata_are_counted_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records: list[dict[str, Any]] = [
        {"id": "1", "title": "Bees", "author": ["Ann"], "links": [{"to": "2"}], "size": {"pages": 3}, "none": []},
        {"id": "2", "title": "Wasps", "links": [["3"]], "year": 2019},
    ]
    path = written(tmp_path, "".join(json.dumps(each) + "\n" for each in records))
    assert [each.metadata for each in read(path)] == [{"author": ("Ann",)}, {"year": ("2019",)}]
    assert caplog.messages == [f"{path}: not read: links (2), size (1)"]


def test_extreme_classification_labels_are_positions(tmp_path: Path) -> None:
    record = {"uid": "B0001", "title": "A toy", "content": "For cats.", "target_ind": [3, 0], "target_rel": [1.0, 1.0]}
    path = written(tmp_path, gzip.compress(json.dumps(record).encode()), "trn.json.gz")
    assert read(path) == [Document("B0001", "A toy", "For cats.", labels=("#3", "#0"))]


def test_micol_phrases_are_taken_apart_and_its_metadata_kept(tmp_path: Path) -> None:
    metadata = {"venue": "the_journal", "author": ["a1", "a2"], "reference": ["r1"], "citation": []}
    record = {"paper": "2010", "text": "neural_network for bees", "label": ["12", "13"], **metadata}
    kept = {"venue": ("the_journal",), "author": ("a1", "a2"), "reference": ("r1",)}
    assert read(written(tmp_path, json.dumps(record), "MAG_train.json")) == [
        Document("2010", abstract="neural network for bees", metadata=kept, labels=("12", "13"))
    ]


def test_futex_paragraphs_of_one_section_in_a_row_are_one_section(tmp_path: Path) -> None:
    paragraphs = [
        {"section": "Introduction", "text": "One."},
        {"section": "Introduction", "text": "Two."},
        {"section": "Results", "text": "Three."},
    ]
    record = {"paper": "1", "title": "Bees", "abstract": "They fly.", "paragraphs": paragraphs, "label": ["a"]}
    sections = (Section("Introduction", 1, ("One.", "Two.")), Section("Results", 1, ("Three.",)))
    assert read(written(tmp_path, json.dumps(record))) == [Document("1", "Bees", "They fly.", sections, {}, ("a",))]


def test_a_named_flavour_goes_before_the_guess(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "a", "paper": "b", "text": "x_y"}')
    assert (read(path)[0].id, read(path)[0].abstract) == ("a", "x_y")
    assert (read(path, format="micol")[0].id, read(path, format="micol")[0].abstract) == ("b", "x y")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '{"id": "a", "labels": "D009369, D001943"}',
            'labels is "D009369, D001943", expected a list of label ids; write ["D009369", "D001943"]',
        ),
        ('{"id": "a", "title": ["Bees"]}', 'title is ["Bees"], expected a text'),
        ('{"id": "a", "sections": "Wings"}', 'sections is "Wings", expected a list of sections'),
        ('{"id": "a", "sections": ["W"]}', 'sections[0] is "W", expected an object with heading, level, paragraphs'),
        (
            '{"id": "a", "sections": [{"level": "top"}]}',
            'sections[0].level is "top", expected 1 for a top section, 2 for one inside it',
        ),
        ('{"id": "a", "metadata": ["Ann"]}', 'metadata is ["Ann"], expected an object like {"author": ["..."]}'),
        ('{"id": "a", "metadata": {"author": {}}}', "metadata.author is {}, expected a list of texts"),
        ('{"title": "Bees"}', "id is missing"),
        ('{"id": "", "title": "Bees"}', 'id is ""'),
        ('["a"]', 'holds ["a"], expected a JSON object'),
        ("{", "is not JSON"),
        ("[" * 100_000, "is JSON that cannot be used (nested too deep)"),
        ('{"id": ' + "1" * 5000 + "}", "is JSON that cannot be used"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: str, problem: str) -> None:
    message = refusal(written(tmp_path, '{"id": "0", "title": "x"}\n\n' + line))
    assert message.startswith("x.jsonl:3: " + problem)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(lambda text: clean(text).strip())
filled = texts.filter(bool)
tuples = st.lists(filled, max_size=3, unique=True).map(tuple)
sections_ = st.builds(Section, texts, st.integers(1, 9), tuples)
documents_ = st.builds(
    Document, filled, texts, texts, st.lists(sections_, max_size=3).map(tuple), st.dictionaries(filled, tuples), tuples
)


@settings(same_folder, max_examples=20)
@given(st.lists(documents_, max_size=5), st.sampled_from(["x.jsonl", "x.jsonl.gz"]))
def test_json_lines_read_what_they_wrote(tmp_path: Path, documents: list[Document], name: str) -> None:
    write_jsonl(documents, tmp_path / name)
    assert [document for _, document in read_jsonl(tmp_path / name)] == documents

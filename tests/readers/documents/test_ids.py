"""Every document has its own id, in every format and over all files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.readers.reading import read, written
from tests.readers.samples import SAMPLES, Sample

from tagwright.data.corpus import Corpus
from tagwright.errors import InputError
from tagwright.readers.documents.files import UniqueIds
from tagwright.types import Document


def twice(id_: str, title: str) -> bytes:
    return utf8(marc_record([("001", id_), ("245", ("00", f"a{title}"))]))


@pytest.mark.parametrize("sample", [each for each in SAMPLES if each.ids == "catalogue"], ids=str)
def test_repeated_ids_are_told_apart_and_reported(
    tmp_path: Path, sample: Sample, caplog: pytest.LogCaptureFixture
) -> None:
    """The line is where the record begins, as `THIRD` has it for some."""
    path = written(tmp_path, sample.file("a", "b", "a"), sample.name)
    *first, last = (each.id for each in read(path, format=sample.format))
    assert first == ["a", "b"]
    assert last in (THIRD.get(sample.format, last), THIRD.get(sample.name, last))
    [said] = caplog.messages
    assert said == (f'{path}:{last[2:]}: the id "a" is also that of an earlier document; here it is "{last}"')


THIRD = {"marc": "a#3", "pica": "a#9", "dublin_core": "a#7", "jats": "a#7", "a.ris": "a#11", "csl": "a#3"}
"The id of the third document: the number of the record, or of its line where lines are counted."


@pytest.mark.parametrize("sample", [each for each in SAMPLES if each.ids == "user"], ids=str)
def test_a_repeated_id_that_the_user_has_given_is_an_error(tmp_path: Path, sample: Sample) -> None:
    path = written(tmp_path, sample.file("a", "b", "a"), sample.name)
    with pytest.raises(InputError, match='the id "a" is also that of'):
        Corpus.read(path)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('{"text": "Bees"}', [""]),
        ('{"subjects": [], "text": "B"}\n', [""]),
        ('[{"text": "B"}, {"text": "C"}]', ["#1", "#2"]),
    ],
)
def test_documents_of_a_folder_of_json_files_are_called_by_their_files(
    tmp_path: Path, content: str, names: list[str]
) -> None:
    for file in ("one.json", "in/two.json"):
        written(tmp_path, content, file)
    assert [each.id for each in read(tmp_path)] == [
        f"{file}{name}" for file in ("in/two.json", "one.json") for name in names
    ]
    if len(names) == 1:
        path = tmp_path / "one.json"
        assert [each.id for each in read(path)] == [path.as_posix()]


def test_lines_without_ids_of_two_files_are_called_by_file_and_line(tmp_path: Path) -> None:
    paths = [written(tmp_path, '{"text": "Bees"}\n{"text": "Wasps"}\n', name) for name in ("a.jsonl", "b.jsonl")]
    assert [each.id for each in read(*paths)] == [f"{path.as_posix()}#{line}" for path in paths for line in (1, 2)]
    assert [each.id for each in read(paths[0])] == ["1", "2"]


def test_harvests_overlap(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = written(tmp_path, twice("1", "Bees") + twice("2", "Wasps"), "a.mrc")
    second = written(tmp_path, twice("2", "Wasps") + twice("3", "Ants") + twice("1", "Bees"), "b.mrc")
    corpus = Corpus.read(first, second)
    assert corpus.ids == ["1", "2", "2#1", "3", "1#3"]
    said = f'{second}:1: the id "2" is also that of an earlier document; here it is "2#1"'
    assert caplog.messages == [f"{said} (and so for 1 other document)"]


def test_a_name_that_is_taken_already_is_not_given_again() -> None:
    unique = UniqueIds()
    first = [(1, Document("a")), (2, Document("a#3")), (3, Document("a")), (0, Document("a")), (0, Document("f"))]
    assert [each.id for _, each in unique.told_apart(iter(first), "f")] == ["a", "a#3", "a#2", "a#4", "f"]

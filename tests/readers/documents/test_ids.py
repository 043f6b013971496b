"""Every document has its own id, in every format and over all files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import in_xml, marc_record, utf8
from tests.readers.reading import read, written

from tagwright.data.corpus import Corpus
from tagwright.errors import InputError
from tagwright.readers.documents.files import READERS, UniqueIds
from tagwright.types import Document


def twice(id_: str, title: str) -> bytes:
    return utf8(marc_record([("001", id_), ("245", ("00", f"a{title}"))]))


def jsonl(key: str, text: str = "title") -> str:
    return "".join(json.dumps({key: id_, text: id_}) + "\n" for id_ in ("a", "b", "a"))


XML = '<?xml version="1.0"?>\n'
DC = '<dc xmlns="http://purl.org/dc/elements/1.1/">\n<identifier>{0}</identifier><title>{0}</title></dc>\n'
ARTICLE = (
    '<article><front><article-meta><article-id pub-id-type="doi">{0}</article-id>\n<title-group><article-title>{0}'
    "</article-title></title-group></article-meta></front></article>\n"
)
CITATION = (
    "<PubmedArticle><MedlineCitation><PMID>{0}</PMID>\n<Article><ArticleTitle>{0}</ArticleTitle></Article>"
    "</MedlineCitation></PubmedArticle>\n"
)
THRICE: dict[str, tuple[str, str | bytes, str]] = {
    "marc": ("x.mrc", b"".join(map(twice, "aba", "aba")), "a#3"),
    "marcxml": ("x.xml", in_xml(*(marc_record([("001", i), ("245", ("00", f"a{i}"))]) for i in "aba")), "a#3"),
    "pica": ("x.pica", "".join(f"003@ $0{i}\n021A $a{i}\n\n" for i in "aba"), "a#7"),
    "dublin_core": ("x.xml", f"{XML}<all>\n{''.join(map(DC.format, 'aba'))}</all>", "a#7"),
    "jats": ("x.xml", f"{XML}<all>\n{''.join(map(ARTICLE.format, 'aba'))}</all>", "a#7"),
    "pubmed": ("x.xml", f"{XML}<PubmedArticleSet>\n{''.join(map(CITATION.format, 'aba'))}</PubmedArticleSet>", "a#7"),
    "ris": ("x.ris", "".join(f"TY  - JOUR\nID  - {i}\nTI  - {i}\nER  -\n" for i in "aba"), "a#9"),
    "bibtex": ("x.bib", "".join(f"@article{{{i},\ntitle={{{i}}}}}\n" for i in "aba"), "a#5"),
    "csl": ("x.json", json.dumps([{"id": i, "type": "book", "title": i} for i in "aba"]), "a#3"),
    "json": ("x.json", json.dumps([{"id": i, "title": i} for i in "aba"]), "a#3"),
    "s2orc": ("x.json", json.dumps([{"paper_id": i, "title": i} for i in "aba"]), "a#3"),
}
"Formats whose ids are those of a catalogue or publisher: name, three documents, and the id of the last one."

OWN = {
    "jsonl": jsonl("id"), "annif": jsonl("document_id", "text"), "xc": jsonl("uid"), "micol": jsonl("paper", "text"),
    "futex": jsonl("paper"), "tsv": "id\ttitle\na\ta\nb\tb\na\ta\n", "csv": "id,title\na,a\nb,b\na,a\n",
}  # fmt: skip
"Formats whose ids the user has given."

WITHOUT = {"text", "latex", "tei", "html", "docx", "pdf"}
"Formats whose documents are called by their files."


def test_no_format_is_forgotten() -> None:
    assert {*THRICE, *OWN, *WITHOUT, "parquet", "arrow", "xlsx"} == {*READERS}


@pytest.mark.parametrize("name", THRICE)
def test_repeated_ids_are_told_apart_and_reported(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    file, content, last = THRICE[name]
    path = written(tmp_path, content, file)
    assert [each.id for each in read(path, format=name)] == ["a", "b", last]
    [said] = caplog.messages
    assert said == (f'{path}:{last[2:]}: the id "a" is also that of an earlier document; here it is "{last}"')


@pytest.mark.parametrize("name", OWN)
def test_a_repeated_id_that_the_user_has_given_is_an_error(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, OWN[name], f"x.{name if name in ('tsv', 'csv') else 'jsonl'}")
    with pytest.raises(InputError, match='the id "a" is also that of'):
        Corpus.read(path, format=name)


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


def test_hashes_are_kept_in_order_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UniqueIds, "new", 10)
    seen = UniqueIds()
    assert all(seen._is_new(str(number)) for number in range(1000))
    assert not any(seen._is_new(str(number)) for number in range(1000))
    assert list(seen._sorted) == sorted(seen._sorted)
    assert len(seen._sorted) > 900

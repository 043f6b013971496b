"""An encoding that is named is obeyed by every format of text, and refused by those that say their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.readers.reading import read, written

from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.files import READERS
from tagwright.types import Document

WORD = "Пчёлы"
"Bees, which in cp1251 are no UTF-8."

TEXTS = {
    "jsonl": f'{{"id": "1", "title": "{WORD}"}}', "annif": f'{{"document_id": "1", "title": "{WORD}"}}',
    "xc": f'{{"uid": "1", "title": "{WORD}"}}', "micol": f'{{"paper": "1", "title": "{WORD}"}}',
    "futex": f'{{"paper": "1", "title": "{WORD}"}}', "s2orc": f'{{"corpusid": 1, "title": "{WORD}"}}',
    "json": f'[{{"id": "1",\n"title": "{WORD}"}}]', "csl": f'[{{"id": "1", "type": "book", "title": "{WORD}"}}]',
    "tsv": f"id\ttitle\n1\t{WORD}", "csv": f"id,title\n1,{WORD}", "text": WORD,
    "latex": rf"\title{{{WORD}}}\begin{{document}}\maketitle\end{{document}}",
    "html": f"<meta charset=koi8-r><title>{WORD}</title><p>{WORD}",
    "pica": f"003@ $01\n021A $a{WORD}\n",
    "ris": f"TY  - BOOK\nTI  - {WORD}\nER  - ", "bibtex": f"@misc{{a, title={{{WORD}}}}}",
}  # fmt: skip
MARC = utf8(marc_record([("001", "1"), ("245", ("10", "aBees."))])).replace(b"Bees.", WORD.encode("cp1251"))
SAYING = frozenset(READERS) - TEXTS.keys() - {"marc"}
"XML, archives and binary formats."


@pytest.mark.parametrize("format_", [*TEXTS, "marc"])
def test_an_encoding_is_obeyed(tmp_path: Path, format_: str) -> None:
    content = MARC if format_ == "marc" else TEXTS[format_].encode("cp1251")
    [document] = Corpus.read(written(tmp_path, content, "x.dat"), format=format_, encoding="cp1251")
    assert document.title == WORD


@pytest.mark.parametrize("format_", sorted(SAYING))
def test_an_encoding_is_refused_by_files_that_say_theirs(tmp_path: Path, format_: str) -> None:
    path = written(tmp_path, "x", "x.dat")
    with pytest.raises(ConfigError) as caught:
        Corpus.read(path, format=format_, encoding="cp1251")
    assert str(caught.value) == f"an encoding is given, but {path} is read without one; leave out encoding=..."


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("format_", TEXTS)
def test_a_byte_order_mark_counts_more_than_what_is_given(tmp_path: Path, format_: str, encoding: str) -> None:
    path = written(tmp_path, TEXTS[format_].encode(encoding), "x.dat")
    assert [each.title for each in read(path, format=format_)] == [WORD]
    assert [each.title for each in Corpus.read(path, format=format_, encoding="cp1252")] == [WORD]


def test_in_a_folder_it_applies_to_those_that_do_not_say_theirs(tmp_path: Path) -> None:
    written(tmp_path, WORD.encode("cp1251"), "x.txt")
    written(tmp_path, f"<article><front/><body><p>{WORD}</p></body></article>", "y.xml")
    text, article = Corpus.read(tmp_path, encoding="cp1251")
    assert text == Document("x.txt", WORD)
    assert WORD in article.text


def test_what_is_wrong_in_another_encoding_is_said_of_the_file_that_was_given(tmp_path: Path) -> None:
    for content, problem in ((b'id,title\n1,"B\xe4ume\n', "is not CSV"), (b"id,title\n1,B\x81ume\n", "byte 0x81")):
        (path := tmp_path / "e.csv").write_bytes(content)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}:2: {problem}"):
            list(Corpus.read(path, encoding="cp1252"))

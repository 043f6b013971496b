"""An encoding that is named is obeyed by every format of text, and refused by those that say their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.readers.reading import read, written
from tests.readers.samples import SAMPLES, Sample

from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.formats import FORMATS

WORD = "Пчёлы"
"Bees, which in cp1251 are no UTF-8."
OLD = "cp1251"

TEXTS = [each for each in SAMPLES if FORMATS[each.format].text or each.format == "html"]
"Of formats that do not say their encoding, or that may say a wrong one."

BINARY = [each for each in SAMPLES if each not in TEXTS and each.format != "marc"]
"Of formats that say it: XML, archives and binary formats. MARC may say a wrong one, but is no text."


@pytest.mark.parametrize("sample", [*TEXTS, "marc"], ids=str)
def test_an_encoding_is_obeyed(tmp_path: Path, sample: Sample | str) -> None:
    if isinstance(sample, str):
        format_, content = sample, utf8(marc_record([("245", ("10", "aBees."))])).replace(b"Bees.", WORD.encode(OLD))
    else:
        format_, content = sample.format, sample.file(WORD).decode().encode(OLD)
    [document] = Corpus.read(written(tmp_path, content, "x.dat"), input_format=format_, encoding=OLD)
    assert document.title == WORD


@pytest.mark.parametrize("sample", BINARY, ids=str)
def test_an_encoding_is_refused_by_files_that_say_theirs(tmp_path: Path, sample: Sample) -> None:
    path = written(tmp_path, sample.file("Bees"), "x.dat")
    with pytest.raises(ConfigError) as caught:
        Corpus.read(path, input_format=sample.format, encoding=OLD)
    assert str(caught.value) == f"an encoding is given, but {path} is read without one; leave out encoding=..."


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("sample", TEXTS, ids=str)
def test_a_byte_order_mark_counts_more_than_what_is_given(tmp_path: Path, sample: Sample, encoding: str) -> None:
    path = written(tmp_path, sample.file(WORD).decode().encode(encoding), "x.dat")
    assert [each.title for each in read(path, format=sample.format)] == [WORD]
    assert [each.title for each in Corpus.read(path, input_format=sample.format, encoding="cp1252")] == [WORD]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("e.csv", b'id,title\n1,"B\xe4ume\n', "2: is not CSV"),
        ("e.csv", b"id,title\n1,B\x81ume\n", "2: byte 0x81"),
        ("x.txt", b"Bees\n\nfly \x81", "3: byte 0x81 is not cp1252"),
    ],
)
def test_what_is_wrong_in_another_encoding_is_named_with_its_line(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    path = written(tmp_path, content, name)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}:{problem}"):
        Corpus.read(path, encoding="cp1252")
    for encoding in ("cp1253x", "hex"):
        with pytest.raises(ConfigError, match="unknown encoding"):
            Corpus.read(path, encoding=encoding)

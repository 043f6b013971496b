"""A file of documents gives back what was written, to several threads and after a fork."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagwright.data.document_file import DocumentFile, write
from tagwright.types import Document, Section

TEXT = st.text(st.characters(), max_size=8)
"Half surrogate pairs included."

ODD = '\ud83d\ude00\u2028\x85\r\n\x00"},\\\U0001f600'
"What JSON and lines could change."

TEXTS = st.lists(TEXT, max_size=3).map(tuple)
DOCUMENTS = st.builds(
    Document,
    TEXT,
    TEXT,
    TEXT,
    st.lists(st.builds(Section, TEXT, st.integers(-5, 2000), TEXTS), max_size=3).map(tuple),
    st.dictionaries(TEXT, TEXTS, max_size=3),
    TEXTS,
)


def stored(folder: Path, *documents: Document, chunk: int = 1 << 20) -> DocumentFile:
    write(documents, folder / "documents.jsonl")
    return DocumentFile(folder / "documents.jsonl", chunk=chunk)


@settings(deadline=None, max_examples=40)
@given(st.lists(DOCUMENTS, max_size=5), st.integers(1, 300))
@example([Document(ODD, ODD, ODD, (Section(ODD, 1, (ODD, "")), Section()), {ODD: (ODD,), "": ()}, (ODD,))] * 2, 9)
def test_documents_come_out_as_they_went_in(documents: list[Document], chunk: int) -> None:
    with TemporaryDirectory() as folder:
        file = stored(Path(folder), *documents, chunk=chunk)
        found = list(file.documents(0, len(file)))
        assert found == documents
        assert [list(each.metadata) for each in found] == [list(each.metadata) for each in documents]
        assert list(file.ids()) == [each.id for each in documents]
        for start in range(len(documents) + 1):
            for end in range(start, len(documents) + 1):
                assert list(file.documents(start, end)) == documents[start:end]
        for position, document in enumerate(documents):
            assert file.id(position) == document.id
        file.close()


def test_a_copy_is_the_same_file_and_has_the_same_digest(tmp_path: Path) -> None:
    file = stored(tmp_path, Document("1", "Bees"), Document("2"), chunk=10)
    file.copy(tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_bytes() == (tmp_path / "documents.jsonl").read_bytes()
    assert DocumentFile(tmp_path / "copy.jsonl").digest() == file.digest()


def test_several_threads_read_at_once(tmp_path: Path) -> None:
    documents = [Document(str(i), f"Bees {i}" * (i % 7)) for i in range(500)]
    file = stored(tmp_path, *documents, chunk=100)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: list(file.documents(0, 500)), range(8)))
    assert found == [documents] * 8


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_reads_the_file_of_its_parent(tmp_path: Path) -> None:
    documents = [Document("1", "Bees"), Document("2", "Wasps")]
    file = stored(tmp_path, *documents)
    (tmp_path / "documents.jsonl").unlink()
    child = os.fork()
    if not child:
        os._exit(0 if list(file.documents(0, 2)) == documents else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert list(file.documents(0, 2)) == documents

"""Whatever a library raises in a reader is one line with the file and its record or page, and costs only that."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from tests.readers.printed import page, pdf
from tests.readers.reading import labels_refusal, read, refusal, written
from tests.readers.samples import SAMPLES

from tagwright.errors import TagwrightError

ERRORS = pytest.mark.parametrize(
    "error", [RuntimeError("no\nway"), KeyError("Font"), MemoryError()], ids=lambda error: type(error).__name__
)
SAMPLE = {each.name.partition(".")[2]: each.file("Bees") for each in SAMPLES if each.name.startswith("a.")}
LIBRARIES = {
    "pdf": "pypdfium2.PdfDocument",
    "bib": "bibtexparser.entrypoint.parse_string",
    "xlsx": "openpyxl.load_workbook",
    "parquet": "pyarrow.parquet.ParquetFile",
    "arrow": "pyarrow.ipc.open_file",
    "nt": "rdflib.Graph.parse",
}
"Suffix of a file -> what a library does for all of it."


@ERRORS
@pytest.mark.parametrize("suffix", LIBRARIES)
def test_a_file_on_which_a_library_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(LIBRARIES[suffix], fails)
    path = written(tmp_path, SAMPLE.get(suffix, b"<a:a> <a:b> <a:c> ."), f"x.{suffix}")
    assert (labels_refusal if suffix == "nt" else refusal)(path).startswith(f"x.{suffix}: ")


@ERRORS
def test_a_page_on_which_a_library_fails_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    convert = pypdfium2.PdfDocument.get_page

    def fails_first(document: Any, number: int) -> Any:
        if number == 0:
            raise error
        return convert(document, number)

    monkeypatch.setattr(pypdfium2.PdfDocument, "get_page", fails_first)
    path = written(tmp_path, pdf([page("Bees"), page("Ants")]), "x.pdf")
    assert [document.title for document in read(path)] == ["Ants"]
    [message] = caplog.messages
    assert message.startswith(f"{path}: page 1 cannot be read")
    assert "\n" not in message


def test_a_page_of_the_web_is_read_without_the_library_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trafilatura.extract", lambda: None)
    assert read(written(tmp_path, "<p>Bees.</p>", "x.html"))[0].abstract == "Bees."


def test_what_libraries_log_and_warn_of_is_not_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    convert = pypdfium2.PdfDocument

    def noisy(content: bytes) -> Any:
        logging.getLogger("pypdfium2.inner").warning("odd")
        warnings.warn("odd", stacklevel=1)
        return convert(content)

    monkeypatch.setattr(pypdfium2, "PdfDocument", noisy)
    assert len(read(written(tmp_path, SAMPLE["pdf"], "x.pdf"))) == 1
    assert (caplog.messages, capsys.readouterr()) == ([], ("", ""))


@pytest.mark.parametrize(
    ("name", "library", "what", "extra"),
    [
        ("x.pdf", "pypdfium2", "PDF", "pdf"),
        ("x.xlsx", "openpyxl", "Excel workbooks", "xlsx"),
        ("x.ttl", "rdflib", "SKOS", "skos"),
        ("x.parquet", "pyarrow", "Parquet", "parquet"),
        ("x.arrow", "pyarrow", "Arrow", "parquet"),
    ],
)
def test_without_an_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str, what: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    path = written(tmp_path, "never parsed", name)
    said = labels_refusal(path, TagwrightError) if name == "x.ttl" else refusal(path)
    rest = f'needs {library}, which is not installed; pip install "tagwright[{extra}]"'
    assert said == f"{name}: reading {what} {rest}"

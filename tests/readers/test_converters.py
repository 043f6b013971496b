"""Whatever a library raises in a reader is one line with the file and its record or page, and costs only that."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.readers.printed import page, pdf
from tests.readers.reading import labels_refusal, read, refusal, written
from tests.readers.samples import SAMPLES

from tagwright.errors import InputError, TagwrightError

ERRORS = (RuntimeError("no\nway"), IndexError(), RecursionError("too deep"), MemoryError(), KeyError("/Font"))


SAMPLE = {each.name.partition(".")[2]: each.file("Bees") for each in SAMPLES if each.name.startswith("a.")}

WHOLE = {
    "pdf": ("pypdfium2.PdfDocument", SAMPLE["pdf"]),
    "bib": ("bibtexparser.entrypoint.parse_string", SAMPLE["bib"]),
    "xlsx": ("openpyxl.load_workbook", SAMPLE["xlsx"]),
    "parquet": ("pyarrow.parquet.ParquetFile", SAMPLE["parquet"]),
    "arrow": ("pyarrow.ipc.open_file", SAMPLE["arrow"]),
}
"Suffix of a file -> what a library does for all of it, and a file."


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("suffix", WHOLE)
def test_a_file_on_which_a_library_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: Exception
) -> None:
    name, content = WHOLE[suffix]
    path = written(tmp_path, content, f"x.{suffix}")
    assert len(read(path)) == 1
    monkeypatch.setattr(name, raising(error))
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["pdf"])
def test_of_several_papers_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, suffix: str
) -> None:
    name, content = WHOLE[suffix]
    written(tmp_path, content, f"x.{suffix}")
    written(tmp_path, "Wasps", "y.txt")
    monkeypatch.setattr(name, raising(IndexError("list index out of range")))
    assert [document.id for document in read(tmp_path)] == ["y.txt"]
    assert caplog.messages[0].startswith(f"{tmp_path}/x.{suffix}:")


RECORDS = {
    "pdf": ("pypdfium2.PdfDocument.get_page", pdf([page("Bees"), page("Ants")])),
    "marc": ("tagwright.readers.documents.marc._decode", utf8(*(
        marc_record([("001", name), ("245", ("10", f"a{name}"))]) for name in ("Bees", "Ants")
    ))),
}  # fmt: skip
"Suffix of a file -> what is done for each of two records or pages, and a file."


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("suffix", RECORDS)
def test_a_record_or_page_on_which_a_library_fails_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, suffix: str, error: Exception
) -> None:
    name, content = RECORDS[suffix]
    path = written(tmp_path, content, f"x.{suffix}")
    module, _, attribute = name.rpartition(".")
    works = pytest.importorskip(module) if module.startswith("tagwright") else None
    target: Any = works or resolved(module)
    convert, calls = getattr(target, attribute), []

    def fails_first(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise error
        return convert(*arguments, **options)

    monkeypatch.setattr(target, attribute, fails_first)
    [document] = read(path)
    assert "Ants" in document.title
    assert [message.startswith(f"{path}:") for message in caplog.messages] == [True]
    assert "\n" not in caplog.text.rstrip("\n")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_page_of_the_web_is_read_without_the_library_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("trafilatura.extract", raising(error))
    assert read(written(tmp_path, "<p>Bees.</p>", "x.html"))[0].abstract == "Bees."


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_thesaurus_on_which_a_library_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("rdflib.Graph.parse", raising(error))
    assert labels_refusal(written(tmp_path, "<a:a> <a:b> <a:c> .", "zoo.nt")).startswith("zoo.nt:")


def test_what_libraries_log_and_warn_of_is_not_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for suffix, library in (("pdf", "pypdfium2"), ("bib", "bibtexparser")):
        name, content = WHOLE[suffix]
        module, _, attribute = name.rpartition(".")
        convert = getattr(resolved(module), attribute)

        def noisy(*arguments: Any, convert: Any = convert, library: str = library, **options: Any) -> Any:
            import warnings

            logging.getLogger(f"{library}.inner").warning("odd")
            warnings.warn("odd", stacklevel=1)
            return convert(*arguments, **options)

        monkeypatch.setattr(name, noisy)
        assert len(read(written(tmp_path, content, f"x.{suffix}"))) == 1
    assert (caplog.messages, capsys.readouterr()) == ([], ("", ""))


def raising(error: Exception) -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


def resolved(name: str) -> Any:
    """A module or a class in it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


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

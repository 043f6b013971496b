"""For the tests of the readers: write a file, read it, or get the message of its refusal."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError, TagwrightError
from tagwright.readers.documents.files import open_sources
from tagwright.types import Document

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def written(folder: Path, content: str | bytes, name: str = "x.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(*sources: Path | str, format: str | None = None, **options: Any) -> list[Document]:  # noqa: A002
    opened = open_sources(*sources, input_format=format, **options)
    return [document for _, located in opened for _, document in located]


def refusal(*sources: Path | str, format: str | None = None) -> str:  # noqa: A002
    with pytest.raises(InputError) as caught:
        read(*sources, format=format)
    assert "\n" not in str(caught.value)
    where, colon, problem = str(caught.value).partition(": ")
    return f"{where.rpartition('/')[2]}{colon}{problem}"


def give_on_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def strict_open_xml(content: bytes) -> bytes:
    """An Office file as one saves it as Strict Open XML: the same elements in namespaces of their own."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for part in old.namelist():
            kinds = rb"(officeDocument|wordprocessingml|spreadsheetml|drawingml)"
            usual = rb"http://schemas\.openxmlformats\.org/" + kinds + b"/2006/"
            new.writestr(part, re.sub(usual, rb"http://purl.oclc.org/ooxml/\1/", old.read(part)))
    return stream.getvalue()


def labels_refusal(path: Path, error: type[TagwrightError] = InputError, language: str | None = None) -> str:
    """The message of a vocabulary's refusal to be read."""
    with pytest.raises(error) as caught:
        Vocabulary.read(path, language=language)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path.parent}/")


def outcome(path: Path, format: str | None = None) -> list[Document] | str:  # noqa: A002
    """The documents, or the message of the one error that is allowed."""
    try:
        return read(path, format=format)
    except InputError as error:
        return str(error)

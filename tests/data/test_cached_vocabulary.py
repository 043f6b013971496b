"""A thesaurus is parsed once; what is kept is never wrong and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.labels import files, skos
from tagwright.types import Label

BIRDS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/1> a skos:Concept ; skos:prefLabel "Birds"@en, "V\u00f6gel"@de ; skos:definition "They\\nfly."@en .
<http://x/2> a skos:Concept ; skos:prefLabel "Owls"@en ; skos:altLabel "Strigiformes"@en ; skos:broader <http://x/1> .
"""
LABELS = [
    Label("http://x/1", ("Birds",), "They\nfly.", languages=(("en", "Birds"), ("de", "Vögel")),
          descriptions=(("en", "They\nfly."),)),
    Label("http://x/2", ("Owls", "Strigiformes"), "", ("http://x/1",), (("en", "Owls"), ("en", "Strigiformes"))),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    names = list[str]()
    parse = skos.read_labels

    def noted(path: Path, *options: object) -> tuple[list[Label], str]:
        names.append(Path(path).name)
        return parse(path, *options)  # type: ignore[arg-type]

    monkeypatch.setattr(skos, "read_labels", noted)
    return names


def written(folder: Path, name: str, content: str = BIRDS) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_the_same_content_is_parsed_once_whatever_its_name(tmp_path: Path, parsed: list[str]) -> None:
    assert list(Vocabulary.read(written(tmp_path, "a.ttl"))) == LABELS
    assert list(Vocabulary.read(tmp_path / "a.ttl")) == LABELS
    assert list(Vocabulary.read(written(tmp_path, "b.ttl"))) == LABELS
    assert parsed == ["a.ttl"]


def test_another_content_language_format_or_version_is_parsed_anew(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "a.ttl")
    assert Vocabulary.read(path)[0].name == "Birds"
    assert Vocabulary.read(path, language="de")[0].name == "V\u00f6gel"
    written(tmp_path, "a.ttl", BIRDS.replace('"Birds"', '"Aves"'))
    assert Vocabulary.read(path)[0].name == "Aves"
    monkeypatch.setattr(files, "PARSER", -1)
    Vocabulary.read(path)
    assert len(parsed) == 4

"""Names without a language, such as scientific ones, are searched for in texts of every language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tagwright
from tagwright.data.vocabulary import Vocabulary

TEXTS = {
    "ttl": """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/1> a skos:Concept ; skos:prefLabel "Dandelions"@en, "Löwenzahn"@de ;
    skos:altLabel "Taraxacum officinale"@{tag} .
<http://example.org/2> a skos:Concept ; skos:prefLabel "Meadows"@en, "Wiesen"@de .""",
    "csv": "id,label_en,label_de,label_{tag}\n1,Dandelions,Löwenzahn,Taraxacum officinale\n2,Meadows,Wiesen,\n",
    "jsonl": "\n".join(
        [
            '{"id": "1", "names": {"en": ["Dandelions"], "de": ["Löwenzahn"], "{tag}": ["Taraxacum officinale"]}}',
            '{"id": "2", "names": {"en": ["Meadows"], "de": ["Wiesen"]}}',
        ]
    ),
}


@pytest.mark.parametrize(("ending", "tag"), [("jsonl", "und-latn"), ("csv", "zxx"), ("csv", "la"), ("ttl", "zxx")])
@pytest.mark.parametrize("language", [None, "en+{tag}"])
def test_a_name_without_a_language_is_searched_in_every_language(
    ending: str, tag: str, language: str | None, tmp_path: Path
) -> None:
    file = tmp_path / f"plants.{ending}"
    file.write_text(TEXTS[ending].replace("{tag}", tag), encoding="utf-8")
    asked = language and language.replace("{tag}", tag)
    dandelions = Vocabulary.read(file, language=asked)[0]
    assert "Taraxacum officinale" in dandelions.names
    assert dandelions.name != "Taraxacum officinale"
    tagger = tagwright.zero_shot(file, stages=["exact_match"], language=asked or "auto")
    for text in ("The seeds of Taraxacum officinale fly.", "Die Samen von Taraxacum officinale fliegen weit."):
        assert [each.id for each in tagger.suggest(text)] == [dandelions.id]


@pytest.mark.parametrize("tag", ["zxx", "mul", "und", "mis", "la", "und-latn", "zxx-x-taxon"])
def test_a_vocabulary_of_names_without_a_language_keeps_them(tag: str, tmp_path: Path) -> None:
    rows = [{"id": str(i), "names": {tag: [name]}} for i, name in enumerate(("Bellis perennis", "Apis mellifera"))]
    file = tmp_path / "taxa.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [label.names for label in Vocabulary.read(file)] == [("Bellis perennis",), ("Apis mellifera",)]
    assert [each.id for each in tagwright.zero_shot(file, stages=["exact_match"]).suggest("on Apis mellifera")] == ["1"]

"""Names in all languages, read once, give what reading in one language gives."""

import json
from pathlib import Path

import pytest

from tagwright.data.text_languages import with_names_in
from tagwright.data.vocabulary import Vocabulary

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://z/1> a skos:Concept ; skos:prefLabel "Birds"@en, "Fåglar"@sv, "Linnut"@fi ;
  skos:altLabel "Aves"@en, "Fjäderfä"@sv ;
  skos:definition "They fly."@en, "De flyger."@sv .
<http://z/2> a skos:Concept ; skos:prefLabel "Eggs"@en-gb, "Ägg"@sv ; skos:broader <http://z/1> .
<http://z/3> a skos:Concept ; skos:prefLabel "Orm"@sv ; skos:altLabel "Serpentes" ; skos:definition "Lång." .
"""
LINES = [
    {"id": "1", "names": {"en": ["Birds", "Aves"], "sv": ["Fåglar"]}, "description": "They fly."},
    {"id": "2", "names": {"sv": ["Orm"]}, "description": "Lång."},
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "language"),
    [("zoo.ttl", "en"), ("zoo.ttl", "sv"), ("zoo.ttl", "fi"), ("zoo.jsonl", "en"), ("zoo.jsonl", "sv")],
)
def test_a_choice_of_languages_is_the_same_whether_made_before_or_after_reading(
    tmp_path: Path, name: str, language: str
) -> None:
    path = tmp_path / name
    lines = "".join(f"{json.dumps(line)}\n" for line in LINES)
    path.write_text(TURTLE if name == "zoo.ttl" else lines, encoding="utf-8")
    chosen = Vocabulary.read(path, language=language)
    made = [with_names_in(label, [language]) for label in Vocabulary.read(path, language="all")]
    assert [(one.names, one.description) for one in made] == [(one.names, one.description) for one in chosen]

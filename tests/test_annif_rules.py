"""`--only` and `--without` beside the rules of Annif's vocabularies: where both mean the same, and where not.

What Annif suggests was recorded from its version 1.4.3: a TF-IDF project for each rule, `vocab=zoo(RULE)`.
"""

from __future__ import annotations

import pytest

import tagwright as tw

ZOO = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://e/> .
e:zoo a skos:ConceptScheme .
e:farm a skos:ConceptScheme .
e:1 a skos:Concept, e:Topic ; skos:prefLabel "Animals"@en ; skos:inScheme e:zoo .
e:2 a skos:Concept, e:Kind ; skos:prefLabel "Birds"@en ; skos:inScheme e:zoo .
e:3 a skos:Concept, e:Kind ; skos:prefLabel "Eggs"@en ; skos:inScheme e:farm .
e:4 a skos:Concept ; skos:prefLabel "Milk"@en ; skos:topConceptOf e:farm .
e:5 a skos:Concept ; skos:prefLabel "Owls"@en ; skos:inScheme e:zoo , e:farm .
e:night a skos:Collection ; skos:member e:5, e:dark .
e:dark a skos:Collection ; skos:member e:1 .
"""
TEXT = "Animals, birds, eggs, milk and owls"

SAME: list[tuple[str, str, list[str], list[str]]] = [
    ("exclude=http://e/3", "1245", [], ["http://e/3"]),
    ("exclude=*,include=http://e/1|http://e/5", "15", ["http://e/1", "http://e/5"], []),
    ("exclude_type=http://e/Kind", "145", [], ["type:http://e/Kind"]),
    ("exclude=*,include_type=http://e/Kind|http://e/Topic", "123", ["type:http://e/Kind", "type:http://e/Topic"], []),
    ("exclude_scheme=http://e/zoo", "34", [], ["scheme:http://e/zoo"]),
    ("exclude=*,include_scheme=http://e/zoo", "125", ["scheme:http://e/zoo"], []),
    ("exclude_collection=http://e/dark", "2345", [], ["collection:http://e/dark"]),
    ("exclude=*,include_collection=http://e/dark", "1", ["collection:http://e/dark"], []),
    (
        "exclude=*,include_scheme=http://e/zoo,exclude_type=http://e/Kind", "15",
        ["scheme:http://e/zoo"], ["type:http://e/Kind"],
    ),
]  # fmt: skip
"Rules of Annif, the labels that it suggests under them, and the conditions with the same labels."

DIFFERENT: list[tuple[str, str, list[str], str]] = [
    ("exclude=*,include_type=http://e/Topic,include_scheme=http://e/farm", "135", ["type:http://e/Topic"], "1"),
    ("exclude=*,include_scheme=http://e/farm", "35", ["scheme:http://e/farm"], "345"),
    ("exclude=*,include_collection=http://e/night", "5", ["collection:http://e/night"], "15"),
]
"""Rules, their labels in Annif, the conditions that come nearest, and theirs. Several kinds: Annif takes what fulfils
any, we what fulfils all. topConceptOf, and collections within collections: only we count them."""


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> tw.Tagger:
    path = tmp_path_factory.mktemp("zoo") / "zoo.ttl"
    path.write_text(ZOO)
    return tw.zero_shot(path, stages=["exact_match"], language="en")


def suggested(tagger: tw.Tagger, only: list[str], without: list[str]) -> list[str]:
    return sorted(each.id for each in tagger.suggest(TEXT, only=only, without=without))


@pytest.mark.parametrize(("rule", "theirs", "only", "without"), SAME)
def test_annif_and_we_suggest_the_same_labels(
    tagger: tw.Tagger, rule: str, theirs: str, only: list[str], without: list[str]
) -> None:
    assert suggested(tagger, only, without) == [f"http://e/{each}" for each in theirs]


@pytest.mark.parametrize(("rule", "theirs", "only", "ours"), DIFFERENT)
def test_where_annif_and_we_differ(tagger: tw.Tagger, rule: str, theirs: str, only: list[str], ours: str) -> None:
    assert suggested(tagger, only, []) == [f"http://e/{each}" for each in ours]
    assert ours != theirs

"""`--only` and `--without` beside the rules of Annif's vocabularies: where both mean the same, and where not."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tagwright as tw

PYTHON = os.environ.get("ANNIF_PYTHON") or (sys.executable if importlib.util.find_spec("annif") else "")
"A Python that has Annif 1.4, which other versions of libraries need than we do."

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

SAME: list[tuple[str, list[str], list[str]]] = [
    ("exclude=http://e/3", [], ["http://e/3"]),
    ("exclude=http://e/3|http://e/5", [], ["http://e/3", "http://e/5"]),
    ("exclude=*,include=http://e/1|http://e/5", ["http://e/1", "http://e/5"], []),
    ("exclude_type=http://e/Kind", [], ["type:http://e/Kind"]),
    ("exclude=*,include_type=http://e/Kind|http://e/Topic", ["type:http://e/Kind", "type:http://e/Topic"], []),
    ("exclude_scheme=http://e/zoo", [], ["scheme:http://e/zoo"]),
    ("exclude=*,include_scheme=http://e/zoo", ["scheme:http://e/zoo"], []),
    ("exclude_collection=http://e/dark", [], ["collection:http://e/dark"]),
    ("exclude=*,include_collection=http://e/dark", ["collection:http://e/dark"], []),
    (
        "exclude=*,include_scheme=http://e/zoo,exclude_type=http://e/Kind",
        ["scheme:http://e/zoo"], ["type:http://e/Kind"],
    ),
]  # fmt: skip
"Rules of Annif, and the conditions with the same labels."

DIFFERENT: list[tuple[str, str, list[str], str]] = [
    ("exclude=*,include_type=http://e/Topic,include_scheme=http://e/farm", "135", ["type:http://e/Topic"], "1"),
    ("exclude=*,include_scheme=http://e/farm", "35", ["scheme:http://e/farm"], "345"),
    ("exclude=*,include_collection=http://e/night", "5", ["collection:http://e/night"], "15"),
]
"""Rules, their labels in Annif, the conditions that come nearest, and theirs. Several kinds: Annif takes what fulfils
any, we what fulfils all. topConceptOf, and collections within collections: only we count them."""


@pytest.fixture(scope="module")
def annif(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Rule -> the labels that Annif suggests under it."""
    if not PYTHON:
        pytest.skip("needs Annif: ANNIF_PYTHON=the python of an environment that has it")
    folder = tmp_path_factory.mktemp("annif")
    (folder / "zoo.ttl").write_text(ZOO)
    names = ("Animals", "Birds", "Eggs", "Milk", "Owls")
    documents = [(name, f"http://e/{number}") for number, name in enumerate(names, 1)]
    rules = [rule for rule, _, _ in SAME] + [rule for rule, _, _, _ in DIFFERENT]
    given = {"folder": str(folder), "vocabulary": str(folder / "zoo.ttl"), "text": TEXT, "documents": documents,
             "rules": rules}  # fmt: skip
    script = Path(__file__).with_name("annif_rules.py")
    done = subprocess.run([PYTHON, script], input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(rules, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> tw.Tagger:
    path = tmp_path_factory.mktemp("zoo") / "zoo.ttl"
    path.write_text(ZOO)
    return tw.zero_shot(path, stages=["exact_match"], language="en")


def suggested(tagger: tw.Tagger, only: list[str], without: list[str]) -> list[str]:
    return sorted(each.id for each in tagger.suggest(TEXT, only=only, without=without))


@pytest.mark.parametrize(("rule", "only", "without"), SAME)
def test_annif_and_we_suggest_the_same_labels(
    annif: dict[str, list[str]], tagger: tw.Tagger, rule: str, only: list[str], without: list[str]
) -> None:
    assert annif[rule] == suggested(tagger, only, without)


@pytest.mark.parametrize(("rule", "theirs", "only", "ours"), DIFFERENT)
def test_where_annif_and_we_differ(
    annif: dict[str, list[str]], tagger: tw.Tagger, rule: str, theirs: str, only: list[str], ours: str
) -> None:
    assert annif[rule] == [f"http://e/{each}" for each in theirs]
    assert suggested(tagger, only, []) == [f"http://e/{each}" for each in ours]

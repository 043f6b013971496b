"""Narrow or broad labels, and how many of a branch: worked out by hand on a small hierarchy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.cut import cut_ranking
from tagwright.types import Document, Label, Run

ABOVE = {"animals": "", "birds": "animals", "owls": "birds", "fish": "animals", "tools": "", "nets": "tools fish"}
ZOO = Vocabulary(Label(each, (each,), broader=tuple(above.split())) for each, above in ABOVE.items())
"Nets are tools, and a matter of fish."


def made(ranking: str, **rules: Any) -> str:
    """What is suggested of a ranking; confidences are 0.9, 0.8, ..."""
    places = [ZOO.index[each] for each in ranking.split()]
    scores = np.arange(len(places), 0, -1.0)
    run = Run.of(np.array([0, len(places)]), np.array(places), scores, 0.9 - 0.1 * np.arange(len(places)))
    found = cut_ranking(ZOO, run, SuggestOptions(**rules))
    return " ".join(ZOO.ids[place] for place in found.labels.tolist())


@pytest.mark.parametrize(
    ("ranking", "rules", "expected"),
    [
        ("animals owls birds tools", {"k": 3}, "animals owls birds"),
        ("animals owls birds tools", {"k": 3, "hierarchy": "narrowest"}, "owls tools"),
        ("animals owls birds tools fish", {"k": 3, "hierarchy": "narrowest"}, "owls tools fish"),
        ("animals owls", {"k": 1, "hierarchy": "narrowest"}, "animals"),
        ("birds owls fish", {"k": 2, "hierarchy": "narrowest", "min_confidence": 0.85}, "birds"),
        ("owls tools", {"k": 10, "hierarchy": "all"}, "animals birds owls tools"),
        ("owls tools", {"k": 3, "hierarchy": "all"}, "animals birds owls"),
        ("tools owls birds", {"k": 2, "hierarchy": "all"}, "tools animals"),
        ("nets", {"k": 10, "hierarchy": "all"}, "animals fish tools nets"),
        ("owls", {"hierarchy": "all", "without": ["animals"]}, "birds owls"),
        ("owls birds fish tools", {"k": 2, "per_branch": 1}, "owls tools"),
        ("owls birds fish tools", {"k": 3, "per_branch": 2}, "owls birds tools"),
        ("owls nets tools", {"per_branch": 1}, "owls tools"),
        ("birds owls fish", {"hierarchy": "narrowest", "per_branch": 1}, "owls"),
        ("nets owls", {"hierarchy": "all", "per_branch": 2, "k": 10}, "animals fish tools"),
    ],
    ids=str,
)
def test_labels_stand_together_as_asked_and_the_cut_is_filled(
    ranking: str, rules: dict[str, Any], expected: str
) -> None:
    assert sorted(made(ranking, **rules).split()) == sorted(expected.split())


MANY = 9_999
"As many steps for each of as many labels would take minutes."


@pytest.mark.parametrize("shape", ["chain", "cycle"])
def test_a_hierarchy_as_deep_as_the_vocabulary_is_walked_once(shape: str) -> None:
    """Each label is below the one before it; of a cycle, the first below the last. The last third is ranked first."""
    broader = [(str((each - 1) % MANY),) if each or shape == "cycle" else () for each in range(MANY)]
    deep = Vocabulary(Label(str(each), (f"n{each}",), broader=above) for each, above in enumerate(broader))
    run = Run.from_rows([{each: 1.0 + each for each in range(0, MANY, 3)}])

    def left(**rules: Any) -> list[int]:
        found: list[int] = cut_ranking(deep, run, SuggestOptions(k=MANY, **rules)).labels.tolist()
        return found

    last = MANY - 3  # the best
    assert sorted(left(hierarchy="all")) == list(range(last + 1 if shape == "chain" else MANY))
    assert left(hierarchy="narrowest") == [last]
    assert left(per_branch=2) == [last, last - 3]
    assert sorted(left(hierarchy="all", per_branch=3)) == ([0, 1, 2] if shape == "chain" else [0, last + 1, last + 2])
    assert deep.hierarchy.tops(last) == (0,)
    assert int(deep.branch([last]).sum()) == (3 if shape == "chain" else MANY)
    assert len(deep.path(last)) == (last + 1 if shape == "chain" else MANY)


def test_a_broader_label_is_as_sure_as_the_surest_below_it_and_stands_before_it() -> None:
    run = Run.of(np.array([0, 2]), np.array([2, 0]), np.array([2.0, 1.0]), np.array([0.5, 0.7]))
    found = cut_ranking(ZOO, run, SuggestOptions(hierarchy="all"))
    assert found.confidences is not None
    assert found.labels.tolist() == [0, 1, 2]
    assert found.confidences.tolist() == pytest.approx([0.7, 0.5, 0.5])
    assert found.scores.tolist() == pytest.approx([2, 2, 2])


def test_the_document_itself_is_no_broader_label_either() -> None:
    run = Run.from_rows([{ZOO.index["owls"]: 1.0}])
    found = cut_ranking(ZOO, run, SuggestOptions(hierarchy="all"), ZOO.own([Document("birds")]))
    assert [ZOO.ids[each] for each in found.labels] == ["animals", "owls"]


def test_in_any_hierarchy_the_narrowest_hold_no_broader_one_and_all_hold_every_broader_one() -> None:
    """Cycles among them; of twelve candidates five labels."""
    rng = random.Random(0)
    for _ in range(200):
        links = {str(each): rng.sample(range(12), rng.choice((0, 1, 1, 2))) for each in range(12)}
        odd = Vocabulary(Label(each, (each,), broader=tuple(map(str, above))) for each, above in links.items())
        run = Run.from_rows([{each: rng.random() for each in range(12)}])
        for hierarchy in ("narrowest", "all"):
            found = set(cut_ranking(odd, run, SuggestOptions(k=5, hierarchy=hierarchy)).labels.tolist())
            above = {each: set(odd.hierarchy.above(each)) for each in found}
            assert 1 <= len(found) <= 5
            if hierarchy == "narrowest":
                assert not any(found & others for others in above.values())
            elif not odd.cycle():
                assert all(others <= found for others in above.values())

"""Narrow or broad labels, and how many of a branch: worked out by hand on a small hierarchy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tagwright.combining.confidence import Platt
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.cut import cut
from tagwright.tagger.parents import fit_parents, parent_confidences
from tagwright.types import Document, Label, Run

ABOVE = {"animals": "", "birds": "animals", "owls": "birds", "fish": "animals", "tools": "", "nets": "tools fish"}
ZOO = Vocabulary(Label(each, (each,), broader=tuple(above.split())) for each, above in ABOVE.items())
"Nets are tools, and a matter of fish."


def made(ranking: str, **rules: Any) -> str:
    """What is suggested of a ranking; confidences are 0.9, 0.8, ..."""
    places = [ZOO.index[each] for each in ranking.split()]
    scores = np.arange(len(places), 0, -1.0)
    run = Run.of(np.array([0, len(places)]), np.array(places), scores, 0.9 - 0.1 * np.arange(len(places)))
    found = cut(ZOO, run, SuggestOptions(**rules))
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


def test_a_broader_label_is_as_sure_as_the_surest_below_it_and_stands_before_it() -> None:
    run = Run.of(np.array([0, 2]), np.array([2, 0]), np.array([2.0, 1.0]), np.array([0.5, 0.7]))
    found = cut(ZOO, run, SuggestOptions(hierarchy="all"))
    assert found.confidences is not None
    assert found.labels.tolist() == [0, 1, 2]
    assert found.confidences.tolist() == pytest.approx([0.7, 0.5, 0.5])
    assert found.scores.tolist() == pytest.approx([2, 2, 2])


def test_the_document_itself_is_no_broader_label_either() -> None:
    run = Run.from_rows([{ZOO.index["owls"]: 1.0}])
    found = cut(ZOO, run, SuggestOptions(hierarchy="all"), ZOO.own([Document("birds")]))
    assert [ZOO.ids[each] for each in found.labels] == ["animals", "owls"]


AS_IT_IS = Platt(1.0, 0.0)
"Parents are as sure as if the labels below them were right independently of each other."


@pytest.mark.parametrize(
    ("candidates", "rules", "expected"),
    [
        ({"owls": 0.4, "fish": 0.3}, {}, {"animals": 0.58}),
        ({"owls": 0.4, "fish": 0.3}, {"min_confidence": 0.6}, {}),
        ({"birds": 0.4, "owls": 0.3}, {}, {"birds": 0.58}),
        ({"tools": 0.9, "owls": 0.4, "fish": 0.3}, {}, {"tools": 0.9, "animals": 0.58}),
        ({"birds": 0.9, "fish": 0.3}, {}, {"birds": 0.9}),
        ({"owls": 0.4, "fish": 0.3, "birds": 0.3}, {"min_confidence": 0.55}, {"birds": 0.58}),
        ({"owls": 0.4, "fish": 0.3}, {"without": ["animals"]}, {}),
        ({"owls": 0.4, "fish": 0.3}, {"without": ["fish"]}, {}),
        ({"nets": 0.4, "tools": 0.3, "owls": 0.45, "birds": 0.2}, {"k": 1}, {"tools": 0.58}),
        ({"nets": 0.4, "tools": 0.3, "owls": 0.45, "birds": 0.2}, {}, {"tools": 0.58, "birds": 0.56}),
    ],
    ids=str,
)
def test_a_sure_parent_takes_the_place_of_unsure_labels(
    candidates: dict[str, float], rules: dict[str, Any], expected: dict[str, float]
) -> None:
    """Owls or fish are right with 1 - 0.6 * 0.7 = 0.58, owls or birds with 1 - 0.55 * 0.8 = 0.56."""
    places = np.array([ZOO.index[each] for each in candidates])
    run = Run.of(np.array([0, len(places)]), places, np.arange(len(places), 0, -1.0), np.array([*candidates.values()]))
    found = cut(ZOO, run, SuggestOptions(hierarchy="parents", **rules), parents=AS_IT_IS)
    assert found.confidences is not None
    suggested = dict(zip((ZOO.ids[each] for each in found.labels), found.confidences.tolist(), strict=True))
    assert suggested == pytest.approx(expected)


def test_parents_need_somebody_who_has_learned_how_sure_they_are() -> None:
    with pytest.raises(ConfigError, match="hierarchy parents needs a tagger of `tagwright train auto` with labelled"):
        made("owls fish", hierarchy="parents")


def test_how_sure_parents_are_is_learned_from_labelled_documents() -> None:
    """Of one right and one wrong parent the targets are 2/3 and 1/3, which a curve through two points meets.

    The third document is no example: its label is likely alone.
    """
    run = Run.of(np.arange(4), np.array([2, 2, 2]), np.ones(3), np.array([0.4, 0.1, 0.9]))
    fitted = fit_parents(run, Run.from_rows([[2], [4], [4]]), ZOO.hierarchy)
    assert fitted is not None
    confidences = parent_confidences(run, fitted, ZOO.hierarchy)
    assert [each[1] for each in confidences[:2]] == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert fit_parents(Run.of(np.array([0, 1]), np.array([4]), np.ones(1), np.ones(1)), run, ZOO.hierarchy) is None


def test_in_any_hierarchy_the_narrowest_hold_no_broader_one_and_all_hold_every_broader_one() -> None:
    """Cycles among them; of twelve candidates five labels."""
    rng = random.Random(0)
    for _ in range(200):
        links = {str(each): rng.sample(range(12), rng.choice((0, 1, 1, 2))) for each in range(12)}
        odd = Vocabulary(Label(each, (each,), broader=tuple(map(str, above))) for each, above in links.items())
        run = Run.from_rows([{each: rng.random() for each in range(12)}])
        for hierarchy in ("narrowest", "all"):
            found = set(cut(odd, run, SuggestOptions(k=5, hierarchy=hierarchy)).labels.tolist())
            above = {each: set(odd.hierarchy.above(each)) for each in found}
            assert 1 <= len(found) <= 5
            if hierarchy == "narrowest":
                assert not any(found & others for others in above.values())
            elif not odd.cycle():
                assert all(others <= found for others in above.values())
